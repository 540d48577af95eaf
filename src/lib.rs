//! The seam through which one agent hands work to another, with capability misuse a compile error.
//!
//! ```
//! use subagent::testing::ScriptedProvider;
//! use subagent::{Request, Subagents};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let subagents = Subagents::new();
//! let scripted = subagents.register("scripted", ScriptedProvider::replying("42 files"))?;
//!
//! let run = scripted.start(Request::new("Count the files").max_depth(2)).await?;
//! let result = run.collect().await.into_result()?;
//! println!("{}: {}", result.stop_reason(), result.text());
//! # Ok(())
//! # }
//! ```
//!
//! # What does not compile
//!
//! A [`Request`] carries the [start-time capabilities](Capability) that it asks for in its type. It does not start
//! on a provider that lacks one:
//!
//! ```compile_fail,E0277
//! # use subagent::testing::ScriptedProvider;
//! # use subagent::{Request, Subagents};
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! # let subagents = Subagents::new();
//! let plain = ScriptedProvider::replying("42 files").without_capabilities();
//! let scripted = subagents.register("scripted", plain)?;
//! let run = scripted.start(Request::new("Count the files").max_depth(2)).await?; // error[E0277]
//! # Ok(())
//! # }
//! ```
//!
//! A run whose type is not [`Steerable`] has no [`send_message`](Live::send_message) to call, one that is not
//! [`Resumable`] no [`resume`](Settled::resume); a [`Settled`] run cannot be steered, a [`Live`] one cannot be
//! resumed, and a disposed one is gone.
//!
//! Where a provider is only known by name, [`Subagents::start`] makes the same checks before a child exists, and
//! refuses with a [`StartError`] that names the capability. Nothing is accepted and then ignored: a provider that
//! does not take a requested value fails the start.
//!
//! # The parts
//!
//! - [`Subagents`] is the registry: providers by name, live runs, listeners, shutdown.
//! - A [`Provider`] is one transport for running a child: [`Spawn`] and [`Fork`] run the built-in [`agent`] in this
//!   program, [`provider_fn`] and [`steerable_provider_fn`] your own one behind an async closure, `acp::Acp` another
//!   program that speaks the Agent Client Protocol, [`testing::ScriptedProvider`] plays a script. Implement the trait
//!   for anything else.
//! - A [`Live`] handle owns a run; it becomes a [`Settled`] one, which has the [`SubagentResult`]. The child never
//!   outlives its handle.
//! - An [`Event`] pair tells listeners of each run; [`Updates`] stream what its child does.
//! - [`agent`] has a built-in agent: session, model, tools and the loop over them.
//! - [`delegation`] has the tools with which a model delegates, in the foreground and in the background.
//! - [`tree`] shows the runs while they go on.
//!
//! The [`guide`] has a chapter for each thing that you may want to do.
//!
//! The rest is in the modules: [`capability`] what a request may ask for, [`run`] the futures and streams of a run,
//! [`error`] all errors and how to print them, [`wrap`] wrappers that retry, fall back and validate, [`testing`]
//! stand-ins and conformance suites. Whatever is in [`capability`], [`content`], [`error`], [`event`], [`id`],
//! [`provider`], [`registry`], [`request`], [`result`] and [`run`] can also be imported from the root.
//!
//! # Which provider supports what
//!
#![doc = include_str!("capability/table.md")]
//!
//! A wrapper that forwards, and `Arc<P>`, support what the provider inside does.
//!
//! # Results, errors and faults
//!
//! A child's own failure is a result: a [`StopReason`] other than [`Completed`](StopReason::Completed), with a
//! diagnostic that is safe to show and the text so far. A [`StartError`] means that no child came to be. A
//! [`RunFault`] means that a provider broke its promise. Every error has a stable `code()`.
//!
//! # Cancellation and drop
//!
//! A run is cancelled by its handle, by the request's or the parent's token, by its time limit, by being dropped, or
//! by [`Subagents::shutdown`]. The provider is told first and may settle with what it has; after a grace the seam
//! settles in its place, so that nobody waits for a wedged child. A dropped handle has its child disposed of in the
//! background; every type that does something when it is dropped says so.
//!
//! # Features
//!
//! | feature | what it adds | default |
//! |---|---|---|
//! | `typed-output` | `Request::output::<T>()`, with the schema of `T` by schemars and mismatches that name the path | yes |
//! | `acp` | `acp::Acp`: children that are other programs, driven over the Agent Client Protocol | no |
//! | `acp-mcp` | `AcpBuilder::structured` and `AcpBuilder::tools`: those children deliver typed values, and call tools of this program; brings an HTTP server on loopback, and `acp` | no |
//! | `jsonschema` | structured output checked against the whole JSON Schema, where an in-process provider is asked to | no |
//! | `genai` | `agent::GenaiModel`: every model that the `genai` crate speaks to; brings an HTTP and a TLS stack | no |
//! | `rmcp` | `delegation::McpServer`: any MCP client can delegate | no |
//! | `rig` | `delegation::RigTools`: an agent of rig can delegate | no |
//!
//! # Rust version
//!
//! Rust 1.95. A raise of it is a minor release.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "acp")]
pub mod acp;
pub mod agent;
pub mod capability;
mod capture;
pub mod content;
pub mod delegation;
mod erased;
pub mod error;
pub mod event;
mod fork;
pub mod guide;
pub mod id;
mod in_process;
#[cfg(any(feature = "rmcp", feature = "acp-mcp"))]
mod mcp;
mod parent;
pub mod provider;
mod provider_fn;
pub mod registry;
pub mod request;
pub mod result;
pub mod run;
mod spawn;
mod stop_reason;
mod sync;
pub mod testing;
mod trace;
pub mod tree;
mod update;
mod usage;
pub mod wrap;

#[doc(inline)]
pub use content::ContentBlock;
#[doc(inline)]
pub use event::{Event, Update};
pub use parent::Parent;
#[doc(inline)]
pub use provider::{Fork, Provider, Spawn, provider_fn, steerable_provider_fn};
#[doc(inline)]
pub use registry::{ProviderHandle, Registration, Subagents};
#[doc(inline)]
pub use request::{Request, StartRequest};
#[doc(inline)]
pub use result::{Outcome, StopReason, SubagentResult};
#[doc(inline)]
pub use run::{FollowUp, Live, Resumable, Run, Settled, Settlement, Steerable};

// The documentation shows these in their modules, so that this page shows what most programs need; a program may
// import them from here all the same.
#[doc(hidden)]
pub use capability::{
    AnyOutput, Capabilities, Capability, CapabilityEntry, CapabilityKind, CapabilityNames, CapabilitySet,
    Declares, DepthLimit, ModelChoice, NoOutput, NoOutputYet, NoPersona, NoPersonaYet, NotASchema,
    OutputCheck, OutputKind, OutputSchema, OutputTokenLimit, OutputType, Persona, PersonaKind, Plain,
    SatisfiedBy, Schema, SomePersona, StepLimit, StructuredOutput, Supports, ToolFilter, Typed, Unchecked,
    UnusableFilter,
};
#[doc(hidden)]
pub use content::{
    AudioContent, ContentKind, ContentKinds, EmbeddedResource, ImageContent, Output, ProviderBlock,
    ProviderContent, ResourceContents, ResourceLink, SnapshotError, TextContent,
};
#[doc(hidden)]
pub use error::{
    BoxError, DisposeError, NoProvider, Refused, RegisterError, ResumeError, RunFault, StartError,
    SteerError, StructuredError,
};
#[doc(hidden)]
pub use event::{RunEnded, RunInfo, RunStarted};
#[doc(hidden)]
pub use id::{AgentId, InvalidRunId, RunId, SessionId};
#[doc(hidden)]
pub use provider::{AgentRun, ChildContext, ChildSetupError, FnRun, ForkBuilder, ProviderFn, SpawnBuilder};
#[doc(hidden)]
pub use registry::{AnyProviderHandle, RunControl, RunState, SubagentsBuilder, Subscription};
#[doc(hidden)]
pub use request::{MismatchedCapabilities, ParentLog, Prompt};
#[doc(hidden)]
pub use result::{ModelUsage, Usage};
#[doc(hidden)]
pub use run::{
    Absent, AnyRun, CancelCause, Cancellation, Collected, Dispose, Inbox, InboxSender, Intercepted,
    IsPresent, KeepsResumable, KeepsSteerable, Missed, Presence, Present, Progress, Resume, ResumedWhileLive,
    Start, Steer, SteeredOnceSettled, Updates,
};

/// Compiles what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
