use std::any::TypeId;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::decode;
use crate::error::contain;

/// Whether a structured value fits the type that a request asks for.
///
/// The seam checks the value of every completed run with it. A provider that can still ask its child for another
/// value takes it from [`StartRequest::output_check`](crate::StartRequest::output_check).
#[derive(Clone, Copy)]
pub struct OutputCheck {
    check: fn(&Value) -> Result<(), String>,
    is_value: fn() -> bool,
}

impl OutputCheck {
    pub(crate) const fn of<T: DeserializeOwned + 'static>() -> Self {
        Self {
            check: |value| decode::<T>(value).map(drop),
            is_value: || TypeId::of::<T>() == TypeId::of::<Value>(),
        }
    }

    /// Checks one value.
    ///
    /// # Errors
    ///
    /// Where it does not fit, and how.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        // A `Deserialize` impl is foreign code.
        contain(|| (self.check)(value)).unwrap_or_else(Err)
    }

    /// Whether every JSON value fits, because the request has a schema and no type.
    #[must_use]
    pub fn accepts_any(&self) -> bool {
        (self.is_value)()
    }
}

impl fmt::Debug for OutputCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputCheck").field("accepts_any", &self.accepts_any()).finish_non_exhaustive()
    }
}
