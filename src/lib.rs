//! The seam through which one agent hands work to another.

#[cfg(feature = "acp")]
pub mod acp;
pub mod agent;
mod capability;
mod content;
mod erased;
mod error;
mod event;
mod id;
mod parent;
mod provider;
mod registry;
mod request;
mod result;
mod run;
mod stop_reason;
mod sync;
pub mod testing;
mod update;
mod usage;

pub use capability::{
    AnyOutput, Capabilities, Capability, CapabilityEntry, CapabilityKind, CapabilityNames, CapabilitySet,
    Declares, DepthLimit, ModelChoice, NoOutput, NoOutputYet, NoPersona, NoPersonaYet, NotASchema,
    OutputKind, OutputSchema, OutputTokenLimit, OutputType, Persona, PersonaKind, Plain, SatisfiedBy, Schema,
    SomePersona, StepLimit, StructuredOutput, Supports, ToolFilter, Typed, Unchecked, UnusableFilter,
};
pub use content::{
    AudioContent, ContentBlock, ContentKind, ContentKinds, EmbeddedResource, ImageContent, Output,
    ProviderBlock, ProviderContent, ResourceContents, ResourceLink, SnapshotError, TextContent,
};
pub use erased::AnyRun;
pub use error::{
    BoxError, DisposeError, NoProvider, RegisterError, ResumeError, RunFault, StartError, SteerError,
    StructuredError,
};
pub use event::{Event, RunEnded, RunInfo, RunStarted};
pub use id::{AgentId, InvalidRunId, RunId, SessionId};
pub use parent::Parent;
pub use provider::Provider;
pub use registry::{
    AnyProviderHandle, ProviderHandle, Registration, RunControl, RunState, Subagents, SubagentsBuilder,
    Subscription,
};
pub use request::{MismatchedCapabilities, Prompt, Request, StartRequest};
pub use result::{Outcome, SubagentResult};
pub use run::{
    Absent, CancelCause, Cancellation, Collected, Dispose, FollowUp, Intercepted, IsPresent, Live, Missed,
    Presence, Present, Progress, Resumable, Resume, Run, Settled, Settlement, Start, Steer, Steerable,
    Updates,
};
pub use stop_reason::StopReason;
pub use update::Update;
pub use usage::{ModelUsage, Usage};
