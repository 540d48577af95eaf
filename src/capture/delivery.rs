use serde_json::Value;

use super::OutputContract;

/// How far one turn is with the value that it has to deliver.
#[derive(Default)]
pub(crate) struct Delivery {
    /// The value that counts if the turn completes.
    value: Option<Value>,
    /// How many values did not fit.
    mismatches: u32,
    last_mismatch: Option<String>,
    reminded: bool,
    /// The next response is to be the value.
    pub(crate) asked: bool,
}

/// What follows from what the model said.
pub(crate) enum Verdict {
    /// The value is there.
    Delivered,
    /// The model is told this and goes on.
    GoOn(String),
    /// The turn failed, for this reason.
    Failed(String),
}

impl Delivery {
    /// The value of a turn that came to its end.
    pub(crate) fn take(&mut self) -> Option<Value> {
        self.value.take()
    }

    /// Whether the value is there.
    #[cfg(feature = "acp-mcp")]
    pub(crate) fn is_delivered(&self) -> bool {
        self.value.is_some()
    }

    /// New work came in: the value is asked for again when that is done.
    pub(crate) fn steered(&mut self) {
        self.asked = false;
        self.reminded = false;
    }

    /// The model finished in prose, without having been asked for the value in its response.
    pub(crate) fn after_prose(&mut self, capture: Option<&str>) -> Verdict {
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
                Verdict::GoOn(format!("Your result is not delivered yet. Call `{capture}` with it now."))
            }
        }
    }

    /// The model answered with what has to be the value.
    pub(crate) fn after_response(&mut self, text: &str, contract: &OutputContract, retries: u32) -> Verdict {
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

    /// Looks at one call of the capture tool; its arguments may not even be an object.
    pub(crate) fn offer(
        &mut self,
        arguments: Result<Value, String>,
        contract: &OutputContract,
        retries: u32,
    ) -> Offer {
        let accepted = arguments
            .map_err(|malformed| format!("the arguments are not a JSON object: {malformed}"))
            .and_then(|arguments| contract.accept(arguments));
        match accepted {
            Ok(value) => Offer::Fits(value),
            Err(mismatch) => {
                let told =
                    format!("The result does not fit: {mismatch}. Call the tool again with one that does.");
                Offer::Mismatch { told, failed: self.mismatched(mismatch, retries) }
            }
        }
    }

    /// The turn reached the point where a staged value counts.
    pub(crate) fn commit(&mut self, value: Value) {
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

/// What a call of the capture tool came to.
pub(crate) enum Offer {
    /// The value fits; it counts once it is committed.
    Fits(Value),
    Mismatch {
        /// For the model.
        told: String,
        /// Why the turn fails, if that was one mismatch too many.
        failed: Option<String>,
    },
}
