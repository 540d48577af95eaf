//! The suite that tells an author whether a provider keeps what the seam promises to callers.
//!
//! Write a [`Fixture`]: how the provider is made so that its children show a [`Behaviour`], and a probe for each
//! capability that it declares. Then one macro call makes a test of every [`Promise`], named after it:
//!
//! ```
//! use std::sync::Arc;
//! use subagent::testing::conformance::{Behaviour, Fixture, Staged};
//! use subagent::testing::{Script, ScriptedProvider};
//!
//! struct Plain;
//!
//! impl Fixture for Plain {
//!     type Provider = subagent::testing::ScriptedProvider<subagent::Absent, subagent::Absent, subagent::Absent>;
//!
//!     fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
//!         let script = match behaviour {
//!             Behaviour::Completes => Script::new().complete(behaviour.text()),
//!             Behaviour::Waits => Script::new(),
//!             _ => return None,
//!         };
//!         let provider = ScriptedProvider::new(script).without_capabilities().without_steering().without_resuming();
//!         let log = provider.log();
//!         Some(Staged::new(provider, move || log.live_children()))
//!     }
//!
//!     fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
//!         [Behaviour::Streams, Behaviour::Fails, Behaviour::Panics, Behaviour::IgnoresCancel]
//!             .into_iter()
//!             .chain([Behaviour::FailsToStart, Behaviour::PanicsInStart, Behaviour::HangsInStart])
//!             .chain([Behaviour::SettlesInStart, Behaviour::FailsToDispose])
//!             .map(|behaviour| (behaviour, "an example is short"))
//!             .collect()
//!     }
//! }
//!
//! subagent::conformance!(plain, Plain);
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use subagent::testing::conformance::{Promise, hold};
//! # hold(Promise::ACompletedChildGivesWhatItSaid, &Plain).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A provider whose children live on Tokio's clock alone runs much faster on a paused one; real processes must not:
//! `subagent::conformance!(#[tokio::test(start_paused = true)] plain, Plain);`
//!
//! What a provider cannot be made to show is declared in [`Fixture::cannot_show`], with the reason; the tests that
//! need it then say `skipped`. A declaration that the fixture itself contradicts fails, and so does a capability
//! that is declared without a probe.
//!
//! Some promises are kept by the seam, whatever a provider does ([`Promise::held_by_the_seam`]). They are checked
//! all the same: a provider can see in them what its callers may rely on.

mod behaviour;
mod bench;
mod checks;
mod fixture;
mod macros;
mod probe;
mod promise;
mod recorder;
mod violation;

pub use behaviour::Behaviour;
pub use fixture::{Fixture, Probed, Staged};
pub use probe::{Resuming, StartProbe, Steering};
pub use promise::{Promise, hold, test};
pub use violation::{Held, Violation};
