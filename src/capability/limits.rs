use std::num::NonZeroU32;

use super::{Capability, Plain};

/// How many tokens the child's model may write in one answer; reaching it ends the run with
/// [`StopReason::MaxTokens`](crate::StopReason::MaxTokens).
///
/// Asked for with [`Request::max_output_tokens`](crate::Request::max_output_tokens).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OutputTokenLimit;

impl Capability for OutputTokenLimit {
    const NAME: &'static str = "output-token-limit";
    const BUILT_IN: bool = true;
    type Value = NonZeroU32;
    type Kind = Plain;

    fn narrow(earlier: NonZeroU32, later: NonZeroU32) -> NonZeroU32 {
        earlier.min(later)
    }
}

/// How many steps (model calls) a turn of the child may take; reaching it ends the run with
/// [`StopReason::TurnLimit`](crate::StopReason::TurnLimit).
///
/// Asked for with [`Request::max_steps`](crate::Request::max_steps).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StepLimit;

impl Capability for StepLimit {
    const NAME: &'static str = "step-limit";
    const BUILT_IN: bool = true;
    type Value = NonZeroU32;
    type Kind = Plain;

    fn narrow(earlier: NonZeroU32, later: NonZeroU32) -> NonZeroU32 {
        earlier.min(later)
    }
}
