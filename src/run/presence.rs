/// Whether something is there, as a type: [`Present`] or [`Absent`].
///
/// It answers for a run's runtime capabilities, for conditional entries of [`supports!`](crate::supports), and for
/// erased runs.
pub trait Presence: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Whether it is there.
    const PRESENT: bool;

    /// Present where both are.
    type And<Other: Presence>: Presence;

    /// A value where it is there: what an optional method asks for.
    fn proof() -> Option<Self>;
}

/// It is there.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a proof is a plain value")]
pub struct Present;

/// It is not there. No value of this type exists, so what asks for one cannot be called.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "matching on it proves that a call is impossible")]
pub enum Absent {}

impl Presence for Present {
    const PRESENT: bool = true;
    type And<Other: Presence> = Other;

    fn proof() -> Option<Self> {
        Some(Self)
    }
}

impl Presence for Absent {
    const PRESENT: bool = false;
    type And<Other: Presence> = Self;

    fn proof() -> Option<Self> {
        None
    }
}

/// Holds for [`Present`] alone.
#[diagnostic::on_unimplemented(
    message = "a capability that depends on a condition is not there",
    label = "the condition `{Self}` does not hold"
)]
pub trait IsPresent: Presence {}

impl IsPresent for Present {}

mod sealed {
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Sealed {}
    impl Sealed for super::Present {}
    impl Sealed for super::Absent {}
}
