use super::{Capability, PersonaKind};

/// The child's system prompt, for this run alone.
///
/// Asked for with [`Request::persona`](crate::Request::persona), once.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Persona;

impl Capability for Persona {
    const NAME: &'static str = "persona";
    const BUILT_IN: bool = true;
    type Value = String;
    type Kind = PersonaKind;

    fn narrow(_earlier: String, later: String) -> String {
        later
    }
}
