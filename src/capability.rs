//! Start-time capabilities: what a caller may ask of a child before it exists.

mod declare;
mod depth_limit;
mod kind;
mod limits;
mod macros;
mod model_choice;
mod output_check;
mod output_schema;
mod persona;
mod set;
mod tool_filter;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use declare::{Capabilities, CapabilityEntry, Declares};
pub(crate) use declare::{assert_namespaced, check_value};
pub use depth_limit::DepthLimit;
pub(crate) use kind::decode;
pub use kind::{
    AnyOutput, CapabilityKind, NoOutput, NoOutputYet, NoPersona, NoPersonaYet, OutputKind, OutputType,
    PersonaKind, Plain, SomePersona, StructuredOutput, Typed,
};
pub use limits::{OutputTokenLimit, StepLimit};
pub use model_choice::ModelChoice;
pub use output_check::OutputCheck;
pub use output_schema::{NotASchema, OutputSchema, Schema};
pub use persona::Persona;
pub use set::{CapabilityNames, CapabilitySet, SatisfiedBy, Unchecked};
pub use tool_filter::{ToolFilter, UnusableFilter};

/// A start-time capability: a marker type for something that a caller may ask of a child before it exists.
///
/// The set is open: any crate can add one. A request that asks for it starts only on providers that declare it
/// with [`supports!`](crate::supports).
///
/// ```
/// use subagent::{Capability, Plain, Request};
///
/// /// How many GPU seconds a child may use.
/// #[derive(Debug, Clone, Copy)]
/// pub struct GpuQuota;
///
/// impl Capability for GpuQuota {
///     const NAME: &'static str = "acme/gpu-quota";
///     type Value = u32;
///     type Kind = Plain;
///
///     fn narrow(earlier: u32, later: u32) -> u32 {
///         earlier.min(later)
///     }
/// }
///
/// let request = Request::new("Render the scene").with::<GpuQuota>(30);
/// ```
pub trait Capability: Send + Sync + 'static {
    /// The capability's name in a request's JSON form and in errors. Namespace your own, as in `"acme/gpu-quota"`: a
    /// name without a namespace is kept for the built-in ones, and does not build where it is declared or asked for.
    const NAME: &'static str;

    /// Whether it is one of this crate's own, whose names have no namespace.
    #[doc(hidden)]
    const BUILT_IN: bool = false;

    /// What the caller asks for.
    type Value: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// [`Plain`], unless the capability decides the request's output type or persona, as built-in ones do.
    type Kind: CapabilityKind;

    /// The value that stands when the capability is asked for twice: for a limit, the stricter of the two.
    fn narrow(earlier: Self::Value, later: Self::Value) -> Self::Value;
}

/// A provider supports the start-time capability `C`.
///
/// Written by [`supports!`](crate::supports), together with its run-time twin [`Declares`].
///
/// A function that is generic over the provider asks for what it needs. Structured output is bound without its type:
///
/// ```
/// use subagent::{DepthLimit, OutputSchema, Provider, ProviderHandle, Request, Supports};
///
/// # #[cfg(feature = "typed-output")]
/// async fn count<P>(provider: &ProviderHandle<P>) -> Option<u32>
/// where
///     P: Provider + Supports<OutputSchema> + Supports<DepthLimit>,
/// {
///     let request = Request::new("How many files are there?").max_depth(2).output::<u32>();
///     let settled = provider.start(request).await.ok()?.settle().await;
///     settled.structured().ok()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "provider `{Self}` does not support the start-time capability `{C}`",
    label = "`{Self}` does not support `{C}`",
    note = "start this request on a provider that supports `{C}`, or leave it out of the request",
    note = "a wrapper that forwards supports what the provider inside it does",
    note = "a provider of your own says what it supports with `subagent::supports!`",
    note = "a bound on structured output names no type: `Supports<OutputSchema>` stands for every one"
)]
pub trait Supports<C> {}
