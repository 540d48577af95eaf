use std::sync::{Arc, Weak};
use std::task::Poll;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{Background, SubagentTool, start_failed};
use crate::agent::ToolOutput;
use crate::content::ContentBlock;
use crate::delegation::child::Child;
use crate::delegation::context::CallContext;
use crate::delegation::keeper::{Begin, Keeper, NotBegun};
use crate::delegation::report::Whom;
use crate::delegation::shared::{Refused, Shared, mailbox};
use crate::delegation::source::Task;
use crate::error::{StartError, chain};
use crate::id::RunId;

impl SubagentTool {
    /// Starts a child that its parent owns, and returns at once.
    pub(super) async fn start_in_background(
        &self,
        background: &Background,
        description: &str,
        prompt: Vec<ContentBlock>,
        context: &CallContext,
    ) -> Result<ToolOutput, String> {
        let delegations = context.owned()?;
        let (parent, ledger) = context.parent_of_one()?;
        let (id, start) = (RunId::new(), CancellationToken::new());
        let starting = self.source.start(Task { prompt, parent, id, cancellation: start.clone() })?;
        let whom = Whom { id, provider: self.source.provider().to_owned(), agent_type: starting.agent_type };
        let (messages, mailbox) = mailbox();
        let child = Child::new(whom, description.into(), self.source.hub(), ledger, delegations, messages);
        delegations.add(&child, background.most).map_err(|refused| refused.say(background.most))?;
        let begin = starting.start.map(|started| started.map_err(|error| not_started(&error))).boxed();
        let keeper = Keeper::new(&child, mailbox, start, background.keeps, None);
        match begin_now(&child, keeper, begin).await {
            Ok(()) => Ok(ToolOutput::text(format!(
                "Started in the background as agent {id}. You are told when it has ended; `wait_agent` waits for it."
            ))),
            Err(not_begun) => {
                delegations.remove(id);
                Err(start_failed(&not_begun.why))
            }
        }
    }
}

/// Begins a run. What fails at once is an error of the call, and leaves no child; the rest is its keeper's.
pub(in crate::delegation) async fn begin_now(
    child: &Arc<Child>,
    keeper: Keeper,
    mut begin: Begin,
) -> Result<(), NotBegun> {
    let begin = match futures::poll!(&mut begin) {
        Poll::Ready(Err(not_begun)) => {
            // The call tells it, and nobody else.
            child.set_owner(Weak::new());
            return Err(not_begun);
        }
        Poll::Ready(Ok(live)) => futures::future::ready(Ok(live)).boxed(),
        Poll::Pending => begin,
    };
    Shared::begin(child, keeper, begin).map_err(|why| NotBegun { why, cancelled: false, settled: None })
}

impl Refused {
    /// What the model can do about it.
    pub(in crate::delegation) fn say(&self, most: usize) -> String {
        match self {
            Self::Closed => "Your agents are being closed; no new one can be started.".to_owned(),
            Self::Full(running) => format!(
                "{running} of your agents are at work, and the most is {most}. Wait for one with `wait_agent`, stop one \
                 with `interrupt_agent`, or do the task without a background agent."
            ),
        }
    }
}

fn not_started(error: &StartError) -> NotBegun {
    NotBegun { why: chain(error), cancelled: matches!(error, StartError::Cancelled { .. }), settled: None }
}
