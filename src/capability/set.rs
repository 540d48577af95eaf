use super::{Capability, CapabilityKind, NoOutput, NoPersona, OutputType, Supports, Typed};
use crate::request::{MismatchedCapabilities, Values};

/// A type-level list of start-time capabilities: `()`, or `(C, Rest)`, or [`Unchecked`].
///
/// [`Request`](crate::Request) builds it call by call. You write one out only where a request that was read gets its
/// types back, with [`try_into_typed`](crate::Request::try_into_typed).
pub trait CapabilitySet: sealed::Sealed + Send + Sync + 'static {
    /// The names in the list, the last one asked for first.
    const NAMES: Option<&'static CapabilityNames>;
    /// What the run's result holds beside content: [`NoOutput`] or [`Typed`].
    type Output: OutputType;
    /// [`NoOutput`] while an output type can still be asked for.
    type AskedOutput;
    /// [`NoPersona`] while a persona can still be asked for.
    type Persona;
    /// This list and `C`.
    type With<C: Capability>: CapabilitySet;

    /// Whether `values`, read from JSON perhaps, hold exactly this list.
    #[doc(hidden)]
    fn check(values: &Values) -> Result<(), MismatchedCapabilities>;
}

/// A list of capability names that is known at compile time.
#[derive(Debug)]
#[non_exhaustive]
pub struct CapabilityNames {
    /// One name.
    pub name: &'static str,
    /// The others.
    pub rest: Option<&'static Self>,
}

/// Marks a request whose capabilities are known at run time only: read from JSON, or erased on purpose.
///
/// Such a request starts by name. [`Request::try_into_typed`](crate::Request::try_into_typed) gives it its types back.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchecked;

impl CapabilitySet for () {
    const NAMES: Option<&'static CapabilityNames> = None;
    type Output = NoOutput;
    type AskedOutput = NoOutput;
    type Persona = NoPersona;
    type With<C: Capability> = (C, ());

    fn check(_values: &Values) -> Result<(), MismatchedCapabilities> {
        Ok(())
    }
}

impl<C: Capability, Rest: CapabilitySet> CapabilitySet for (C, Rest) {
    const NAMES: Option<&'static CapabilityNames> =
        Some(const { &CapabilityNames { name: C::NAME, rest: Rest::NAMES } });
    type Output = <C::Kind as CapabilityKind>::Output<Rest>;
    type AskedOutput = <C::Kind as CapabilityKind>::AskedOutput<Rest>;
    type Persona = <C::Kind as CapabilityKind>::Persona<Rest>;
    type With<D: Capability> = (D, Self);

    fn check(values: &Values) -> Result<(), MismatchedCapabilities> {
        Rest::check(values)?;
        values.check::<C>()
    }
}

impl CapabilitySet for Unchecked {
    const NAMES: Option<&'static CapabilityNames> = None;
    type Output = Typed<serde_json::Value>;
    type AskedOutput = NoOutput;
    type Persona = NoPersona;
    type With<C: Capability> = Self;

    fn check(_values: &Values) -> Result<(), MismatchedCapabilities> {
        Ok(())
    }
}

/// The provider `P` supports every capability in this list.
#[diagnostic::on_unimplemented(
    message = "a `Request<{Self}>` cannot start on the typed handle of `{P}`",
    label = "`{P}` is not known to support what it asks for",
    note = "a request that is checked at run time, `Request<Unchecked>`, starts by name, with `Subagents::start`, or gets its types back with `try_into_typed`",
    note = "a function that is generic over the request bounds its capabilities with `SatisfiedBy<{P}>`"
)]
pub trait SatisfiedBy<P: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<P: ?Sized> SatisfiedBy<P> for () {}

impl<P: ?Sized + Supports<Declared<C>>, C: Capability, Rest: SatisfiedBy<P>> SatisfiedBy<P> for (C, Rest) {}

/// What a provider names to support `C`.
type Declared<C> = <<C as Capability>::Kind as CapabilityKind>::Declared<C>;

mod sealed {
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Sealed {}
    impl Sealed for () {}
    impl<C, Rest> Sealed for (C, Rest) {}
    impl Sealed for super::Unchecked {}
}
