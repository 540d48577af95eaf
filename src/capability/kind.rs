use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Capability, CapabilitySet, OutputCheck, OutputSchema};

/// What a capability does to the type of the request that asks for it. Sealed: yours is [`Plain`].
pub trait CapabilityKind: sealed::Sealed {
    /// The request's output type, given that of the capabilities before.
    type Output<Rest: CapabilitySet>: OutputType;
    /// What tells a second output type from a first, given the capabilities before.
    type AskedOutput<Rest: CapabilitySet>;
    /// The request's persona slot, given that of the capabilities before.
    type Persona<Rest: CapabilitySet>;
    /// The marker that a provider names to support `C`.
    type Declared<C: Capability>;
}

/// A capability that changes neither the output type nor the persona.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Plain;

/// The kind of [`OutputSchema<T>`].
pub struct OutputKind<T>(PhantomData<fn() -> T>);

/// The kind of [`Persona`](super::Persona).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PersonaKind;

impl<T> fmt::Debug for OutputKind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutputKind")
    }
}

impl CapabilityKind for Plain {
    type Output<Rest: CapabilitySet> = Rest::Output;
    type AskedOutput<Rest: CapabilitySet> = Rest::AskedOutput;
    type Persona<Rest: CapabilitySet> = Rest::Persona;
    type Declared<C: Capability> = C;
}

impl<T: DeserializeOwned + 'static> CapabilityKind for OutputKind<T> {
    type Output<Rest: CapabilitySet> = Typed<T>;
    type AskedOutput<Rest: CapabilitySet> = Typed<T>;
    type Persona<Rest: CapabilitySet> = Rest::Persona;
    type Declared<C: Capability> = OutputSchema;
}

impl CapabilityKind for PersonaKind {
    type Output<Rest: CapabilitySet> = Rest::Output;
    type AskedOutput<Rest: CapabilitySet> = Rest::AskedOutput;
    type Persona<Rest: CapabilitySet> = SomePersona;
    type Declared<C: Capability> = C;
}

/// The output of a run that was not asked for structured output: content blocks alone.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NoOutput;

/// The output of a run that was asked for a structured value of type `T`.
pub struct Typed<T>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Typed")
    }
}

/// Stands for every output type where a provider declares [`OutputSchema`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[non_exhaustive]
pub struct AnyOutput;

/// A request without a persona.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NoPersona;

/// A request with a persona.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SomePersona;

/// What a run's result holds beside content: [`NoOutput`] or [`Typed`].
pub trait OutputType: sealed::Sealed + 'static {
    /// Checks a structured value when the provider settles.
    #[doc(hidden)]
    const CHECK: Option<OutputCheck>;
}

impl OutputType for NoOutput {
    const CHECK: Option<OutputCheck> = None;
}

impl<T: DeserializeOwned + 'static> OutputType for Typed<T> {
    const CHECK: Option<OutputCheck> = Some(OutputCheck::of::<T>());
}

/// The value as a `T`, or the failing path and the reason.
pub(crate) fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    #[cfg(feature = "typed-output")]
    let decoded = serde_path_to_error::deserialize(value).map_err(|error| error.to_string());
    #[cfg(not(feature = "typed-output"))]
    let decoded = T::deserialize(value).map_err(|error| error.to_string());
    decoded
}

/// The request does not ask for structured output yet.
#[diagnostic::on_unimplemented(
    message = "this request already asks for structured output",
    label = "a second output type",
    note = "a run has one output: keep one of the two `output` calls, or ask for a struct that holds both"
)]
pub trait NoOutputYet: sealed::Sealed {}

#[diagnostic::do_not_recommend]
impl NoOutputYet for NoOutput {}

/// The request has no persona yet.
#[diagnostic::on_unimplemented(
    message = "this request already has a persona",
    label = "a second persona",
    note = "a child has one persona: keep one of the two `persona` calls, or join their texts"
)]
pub trait NoPersonaYet: sealed::Sealed {}

#[diagnostic::do_not_recommend]
impl NoPersonaYet for NoPersona {}

/// The run was asked for structured output. `R` is the type that is asked for it, for the compiler's words only.
#[diagnostic::on_unimplemented(
    message = "this `{R}` was not asked for structured output",
    label = "no output type was requested",
    note = "ask for one before the start: `Request::new(..).output::<YourType>()`"
)]
pub trait StructuredOutput<R>: sealed::Sealed {
    /// The type that was asked for.
    type Value: DeserializeOwned;
}

#[diagnostic::do_not_recommend]
impl<R, T: DeserializeOwned> StructuredOutput<R> for Typed<T> {
    type Value = T;
}

mod sealed {
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl<T> Sealed for super::OutputKind<T> {}
    impl Sealed for super::PersonaKind {}
    impl Sealed for super::NoOutput {}
    impl<T> Sealed for super::Typed<T> {}
    impl Sealed for super::NoPersona {}
}
