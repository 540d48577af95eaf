//! The checks that tell an author whether a [`Model`](crate::agent::Model) keeps its contract.
//!
//! Write a [`ModelFixture`]: how the model is made so that it shows a [`ModelCase`], usually by a vendor played on
//! loopback. [`check`] runs every case and reports; what a fixture cannot show is skipped, and the report says so.
//!
//! ```
//! use subagent::agent::ModelError;
//! use subagent::testing::model_conformance::{ModelCase, ModelFixture, StagedModel, check};
//! use subagent::testing::{ScriptedModel, ScriptedReply};
//!
//! struct Scripted;
//!
//! impl ModelFixture for Scripted {
//!     fn stage(&self, case: ModelCase) -> Option<StagedModel> {
//!         let reply = match case {
//!             ModelCase::Answers => ScriptedReply::new().text("Good ").text("morning.").usage(9, 4),
//!             ModelCase::BadRequest => ScriptedReply::new().error(ModelError::bad_request("too long")),
//!             _ => return None,
//!         };
//!         Some(StagedModel::new(ScriptedModel::new().reply(reply)))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let report = check(&Scripted).await;
//! assert!(report.is_conformant(), "{report}");
//! # }
//! ```

mod case;
mod checks;
mod fixture;
mod report;

pub use case::ModelCase;
pub use checks::check;
pub use fixture::{ModelFixture, StagedModel};
pub use report::{ModelReport, ModelVerdict};
