//! Seeing: the live and the finished runs as a tree, and a view of it that is drawn while work goes on.
//!
//! ```
//! use subagent::testing::ScriptedProvider;
//! use subagent::tree::TreeView;
//! use subagent::{Request, Subagents};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let subagents = Subagents::new();
//! let scripted = subagents.register("scripted", ScriptedProvider::replying("42 files"))?;
//!
//! // In a terminal one block that is drawn again and again, else a line for each change.
//! let mut view = TreeView::stderr(&subagents);
//! let result = view
//!     .during(async {
//!         let run = scripted.start(Request::new("Count the files").agent_type("counter")).await?;
//!         run.collect().await.into_result().map_err(Box::<dyn std::error::Error>::from)
//!     })
//!     .await?;
//! assert_eq!(result.text(), "42 files");
//! // For example "1 run in 0.0s: 1 completed".
//! eprintln!("{}", view.watch().summary());
//! # Ok(())
//! # }
//! ```
//!
//! [`Subagents::tree`](crate::Subagents::tree) is a snapshot of the live runs alone. It costs runs nothing: what it
//! shows, they know anyway. [`Subagents::watch_tree`](crate::Subagents::watch_tree) keeps the finished ones too, as
//! long as somebody holds the watch.
//!
//! # Who is whose child
//!
//! A run stands below the run whose agent delegated it. It is found by [`RunInfo::parent_run`](crate::RunInfo::parent_run):
//! in-process children and those of `acp::Acp` that call tools of this program have it by themselves, a provider of your
//! own with [`StartRequest::as_parent`](crate::StartRequest::as_parent). Other runs stand below the id of the agent that
//! delegated them.

mod build;
mod node;
mod summary;
mod text;
mod view;
mod watch;

pub use node::{RunNode, RunTree};
pub use summary::TreeSummary;
pub(crate) use text::shown_line;
pub use view::TreeView;
pub use watch::TreeWatch;
