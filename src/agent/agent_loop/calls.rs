use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::Value;
use tokio::time;
use tracing::Instrument;

use super::cut::cut;
use super::{End, Next, Turn};
use crate::agent::capture::Staged;
use crate::agent::session::{AppendError, SessionEventKind, ToolCall, ToolResult};
use crate::agent::tool::{CallingAgent, ErasedTool, ToolContext, ToolOutput};
use crate::stop_reason::StopReason;
use crate::trace;

impl Turn<'_> {
    /// Runs the calls of one response at the same time and logs their results in the calls' order. A structured value
    /// among them counts when the calls before it are through.
    pub(super) async fn run_calls(
        &mut self,
        calls: Vec<(ToolCall, Option<String>)>,
        last: bool,
        hand_over: bool,
    ) -> Result<Next, AppendError> {
        let mut outputs: Vec<Option<ToolOutput>> = Vec::new();
        outputs.resize_with(calls.len(), || None);
        let staged = self.answer_captures(&calls, &mut outputs, last);
        let end = self.run_together(&calls, &mut outputs).await;
        for ((call, _), output) in calls.into_iter().zip(outputs) {
            let output = output.unwrap_or_else(|| {
                let output = ToolOutput::error(
                    "The call was stopped before it ended; whether it took effect is unknown.",
                );
                self.report(&call.id, &output);
                output
            });
            self.append(SessionEventKind::ToolResult(ToolResult::new(
                call.id,
                output.content,
                output.is_error,
            )))?;
        }
        Ok(match (end, staged) {
            (Some(end), _) => Next::End(end),
            (None, Staged { failed: Some(why), .. }) => Next::End(End::failed(why)),
            (None, Staged { value: Some(value), .. }) => {
                self.delivery.commit(value);
                if hand_over { Next::End(self.step_limit()) } else { Next::Done }
            }
            (None, _) if last => Next::End(self.step_limit()),
            (None, _) => Next::Step,
        })
    }

    /// Answers the calls that are not run: those of the capture tool, and those that nothing can come of any more.
    fn answer_captures(
        &mut self,
        calls: &[(ToolCall, Option<String>)],
        outputs: &mut [Option<ToolOutput>],
        last: bool,
    ) -> Staged {
        let (Some(contract), Some(capture)) = (&self.agent.output, &self.agent.capture) else {
            return Staged::default();
        };
        let staged = self.delivery.stage(calls, outputs, contract, capture, self.agent.limits.output_retries);
        let why = match staged.failed {
            Some(_) => Some("the turn ends"),
            None if last => Some("the step limit is reached"),
            None => None,
        };
        if let Some(why) = why {
            for output in outputs.iter_mut().filter(|output| output.is_none()) {
                *output = Some(ToolOutput::error(format!("The tool was not called: {why}.")));
            }
        }
        for ((call, _), output) in calls.iter().zip(outputs) {
            if let Some(output) = output {
                self.report(&call.id, output);
            }
        }
        staged
    }

    /// Fills in the output of every call that ends; says why the turn ends where it has to.
    async fn run_together(
        &self,
        calls: &[(ToolCall, Option<String>)],
        outputs: &mut [Option<ToolOutput>],
    ) -> Option<End> {
        let agent = self.agent.as_caller(self.options.cancellation.child_token(), self.options.usage.clone());
        let mut running: FuturesUnordered<_> = calls
            .iter()
            .enumerate()
            .filter(|(index, _)| outputs[*index].is_none())
            .map(|(index, (call, malformed))| {
                let span = trace::tool(&call.name, &call.id);
                let call = self.run_one(call, malformed.as_deref(), &agent).instrument(span.clone());
                async move {
                    let output = call.await;
                    if output.is_error {
                        trace::tool_failed(&span);
                    }
                    (index, output)
                }
            })
            .collect();
        let mut take = |(index, output): (usize, ToolOutput)| {
            let output = cut(output, self.limits().tool_result_bytes, self.agent.model.content_kinds());
            self.activity.touch();
            self.report(&calls[index].0.id, &output);
            outputs[index] = Some(output);
        };
        self.activity.touch();
        let mut idle = pin!(self.activity.idle(self.limits().idle));
        loop {
            tokio::select! {
                biased;
                () = self.options.cancellation.cancelled() => break,
                output = running.next() => match output {
                    Some(output) => take(output),
                    None => return None,
                },
                () = &mut idle => return Some(self.idle_limit()),
            }
        }
        let rest = async {
            while let Some(output) = running.next().await {
                take(output);
            }
        };
        // Those that do not end in time are dropped.
        time::timeout(self.limits().cancel_grace, rest).await.ok();
        Some(End::new(StopReason::Aborted))
    }

    async fn run_one(&self, call: &ToolCall, malformed: Option<&str>, agent: &CallingAgent) -> ToolOutput {
        let Some(tool) = self.agent.tools.tool(&call.name) else {
            let known: Vec<&str> = self.agent.tools.names().collect();
            let known = if known.is_empty() { "there are no tools".into() } else { known.join(", ") };
            return ToolOutput::error(format!(
                "There is no tool named `{}`. Known tools: {known}.",
                call.name
            ));
        };
        if let Some(malformed) = malformed {
            return ToolOutput::error(format!(
                "The arguments are not a JSON object: {malformed}. Call the tool again with well-formed arguments."
            ));
        }
        let context = ToolContext {
            cancellation: agent.cancellation.child_token(),
            call_id: call.id.as_str().into(),
            agent: agent.clone(),
            activity: self.activity.clone(),
        };
        contained(tool, &call.name, call.arguments.clone(), context, self.limits().tool_deadline).await
    }
}

/// Runs one call so that neither a panic nor an endless wait leaves it.
pub(in crate::agent) async fn contained(
    tool: &Arc<dyn ErasedTool>,
    name: &str,
    arguments: Value,
    context: ToolContext,
    deadline: Option<Duration>,
) -> ToolOutput {
    // What the call launched hears of its end, however it comes.
    let _stop = context.cancellation.clone().drop_guard();
    // The tool is called inside the future, so that a panic before its first await is caught too.
    let call = AssertUnwindSafe(async { tool.call_erased(arguments, context).await }).catch_unwind();
    let ended = match deadline {
        Some(deadline) => time::timeout(deadline, call).await,
        None => Ok(call.await),
    };
    match ended {
        Ok(Ok(output)) => output,
        Ok(Err(_)) => {
            tracing::warn!(tool = name, "the tool panicked");
            ToolOutput::error(format!("The tool `{name}` failed: it panicked."))
        }
        Err(_) => {
            let seconds = deadline.unwrap_or_default().as_secs_f64();
            ToolOutput::error(format!("The tool `{name}` was stopped: it did not end within {seconds} s."))
        }
    }
}
