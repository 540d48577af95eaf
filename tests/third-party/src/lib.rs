//! A crate of somebody else's, written against the public API of `subagent` alone: a capability of its own, providers
//! that support it, and wrappers around any provider.
//!
//! The UI tests use it as their users would.

mod chat;
mod gpu_quota;
mod metered;
mod on_gpu;
mod one_shot;
mod renderer;
mod thinker;

pub use chat::{Chat, ChatRun};
pub use gpu_quota::GpuQuota;
pub use metered::{Metered, MeteredRun};
pub use on_gpu::OnGpu;
pub use one_shot::{OneShot, OneShotRun};
pub use renderer::Renderer;
pub use thinker::{Brain, Reader, Thinker, Worker};
