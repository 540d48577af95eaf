//! The capability values that a provider has to take: none is accepted and then ignored.

use std::borrow::Cow;
use std::sync::Mutex;

use super::RunCell;
use crate::sync::lock;

/// Names of capabilities, each with whether its value was taken.
pub(crate) type Expected = Vec<(Cow<'static, str>, bool)>;

impl RunCell {
    /// From here on these values have to be taken.
    pub(crate) fn expect_taken(&self, untaken: Expected) {
        if !untaken.is_empty() || self.expected.get().is_some() {
            *lock(self.expected.get_or_init(Mutex::default)) = untaken;
        }
    }

    pub(crate) fn expect_one(&self, name: &'static str) {
        let mut expected = lock(self.expected.get_or_init(Mutex::default));
        expected.retain(|(earlier, _)| *earlier != name);
        expected.push((name.into(), false));
    }

    pub(crate) fn mark_taken(&self, name: &str) {
        let Some(expected) = self.expected.get() else { return };
        for (expected, taken) in lock(expected).iter_mut() {
            *taken |= *expected == name;
        }
    }

    /// The first value that the provider has not taken.
    pub(crate) fn first_ignored(&self) -> Option<String> {
        let expected = lock(self.expected.get()?);
        expected.iter().find(|(_, taken)| !taken).map(|(name, _)| name.clone().into_owned())
    }
}
