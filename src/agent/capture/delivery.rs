use serde_json::Value;

use super::{CaptureTool, OutputContract};
use crate::agent::session::ToolCall;
use crate::agent::tool::ToolOutput;

/// How far one turn is with the value that it has to deliver.
#[derive(Default)]
pub(in crate::agent) struct Delivery {
    /// The value that counts if the turn completes.
    value: Option<Value>,
    /// How many values did not fit.
    mismatches: u32,
    last_mismatch: Option<String>,
    reminded: bool,
    /// The next response is to be the value.
    pub(in crate::agent) asked: bool,
}

/// What follows from what the model said.
pub(in crate::agent) enum Verdict {
    /// The value is there.
    Delivered,
    /// The model is told this and goes on.
    GoOn(String),
    /// The turn failed, for this reason.
    Failed(String),
}

impl Delivery {
    /// The value of a turn that came to its end.
    pub(in crate::agent) fn take(&mut self) -> Option<Value> {
        self.value.take()
    }

    /// New work came in: the value is asked for again when that is done.
    pub(in crate::agent) fn steered(&mut self) {
        self.asked = false;
        self.reminded = false;
    }

    /// The model finished in prose, without having been asked for the value in its response.
    pub(in crate::agent) fn after_prose(&mut self, capture: Option<&CaptureTool>) -> Verdict {
        match capture {
            None => {
                self.asked = true;
                Verdict::GoOn(
                    "Now deliver your final result: answer with JSON that matches the response format, and nothing \
                     else."
                        .to_owned(),
                )
            }
            Some(_) if self.value.is_some() => Verdict::Delivered,
            Some(_) if self.reminded => Verdict::Failed(match &self.last_mismatch {
                Some(mismatch) => {
                    format!("the model ended without a result that fits; the last one did not: {mismatch}")
                }
                None => "the model ended without delivering the result that it was asked for".to_owned(),
            }),
            Some(capture) => {
                self.reminded = true;
                Verdict::GoOn(format!(
                    "Your result is not delivered yet. Call `{}` with it now.",
                    capture.name
                ))
            }
        }
    }

    /// The model answered with what has to be the value.
    pub(in crate::agent) fn after_response(
        &mut self,
        text: &str,
        contract: &OutputContract,
        retries: u32,
    ) -> Verdict {
        let parsed = serde_json::from_str(text.trim()).map_err(|error| format!("it is not JSON: {error}"));
        match parsed.and_then(|value| contract.accept(value)) {
            Ok(value) => {
                self.value = Some(value);
                Verdict::Delivered
            }
            Err(mismatch) => {
                let told =
                    format!("Your result does not fit: {mismatch}. Answer again, with JSON that fits.");
                match self.mismatched(mismatch, retries) {
                    Some(failed) => Verdict::Failed(failed),
                    None => Verdict::GoOn(told),
                }
            }
        }
    }

    /// Looks at the calls of one response: fills in the answers that the capture tool gives, and those of calls that
    /// are not run because the result was delivered before them.
    pub(in crate::agent) fn stage(
        &mut self,
        calls: &[(ToolCall, Option<String>)],
        outputs: &mut [Option<ToolOutput>],
        contract: &OutputContract,
        capture: &CaptureTool,
        retries: u32,
    ) -> Staged {
        let mut staged = Staged::default();
        for ((call, malformed), output) in calls.iter().zip(outputs) {
            if staged.value.is_some() {
                *output =
                    Some(ToolOutput::error("The tool was not called: the result was delivered before."));
                continue;
            }
            if call.name != capture.name {
                continue;
            }
            let accepted = match malformed {
                Some(malformed) => Err(format!("the arguments are not a JSON object: {malformed}")),
                None => contract.accept(call.arguments.clone()),
            };
            *output = Some(match accepted {
                Ok(value) => {
                    staged.value = Some(value);
                    ToolOutput::text("The result is delivered.")
                }
                Err(mismatch) => {
                    let told = format!(
                        "The result does not fit: {mismatch}. Call the tool again with one that does."
                    );
                    staged.failed = self.mismatched(mismatch, retries);
                    ToolOutput::error(told)
                }
            });
            if staged.failed.is_some() {
                break;
            }
        }
        staged
    }

    /// The turn reached the point where a staged value counts.
    pub(in crate::agent) fn commit(&mut self, value: Value) {
        self.value = Some(value);
    }

    /// Counts a mismatch; says why the turn fails once there were too many.
    fn mismatched(&mut self, mismatch: String, retries: u32) -> Option<String> {
        self.mismatches += 1;
        let failed = (self.mismatches > retries).then(|| {
            format!("the result did not fit, {} times; the last one did not: {mismatch}", self.mismatches)
        });
        self.last_mismatch = Some(mismatch);
        failed
    }
}

/// What the capture calls of one response came to. Nothing counts before the response's other calls are through.
#[derive(Default)]
pub(in crate::agent) struct Staged {
    /// The value, if one fits.
    pub(in crate::agent) value: Option<Value>,
    /// Why the turn fails, if it does.
    pub(in crate::agent) failed: Option<String>,
}
