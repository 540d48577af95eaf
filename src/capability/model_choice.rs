use super::{Capability, Plain};

/// Which model the child uses instead of its parent's.
///
/// Asked for with [`Request::model`](crate::Request::model). Asked for twice, the later choice stands.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ModelChoice;

impl Capability for ModelChoice {
    const NAME: &'static str = "model-choice";
    const BUILT_IN: bool = true;
    type Value = String;
    type Kind = Plain;

    fn narrow(_earlier: String, later: String) -> String {
        later
    }
}
