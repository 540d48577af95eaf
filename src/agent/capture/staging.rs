use serde_json::Value;

use super::CaptureTool;
use crate::agent::session::ToolCall;
use crate::agent::tool::ToolOutput;
use crate::capture::{DELIVERED, Delivery, Offer, OutputContract};

impl Delivery {
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
            let arguments = match malformed {
                Some(malformed) => Err(malformed.clone()),
                None => Ok(call.arguments.clone()),
            };
            *output = Some(match self.offer(arguments, contract, retries) {
                Offer::Fits(value) => {
                    staged.value = Some(value);
                    ToolOutput::text(DELIVERED)
                }
                Offer::Mismatch { told, failed } => {
                    staged.failed = failed;
                    ToolOutput::error(told)
                }
            });
            if staged.failed.is_some() {
                break;
            }
        }
        staged
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
