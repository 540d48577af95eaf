use std::num::NonZeroU32;
use std::time::Duration;

/// What bounds an agent's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most steps (model calls) of one turn; 100 by default. The last of them is for handing over: the model is
    /// told so and can call no tool. A turn that needed it ends with `TurnLimit`.
    pub steps: Option<NonZeroU32>,
    /// The most tokens of one model response; the model's own limit by default. A response that reaches it ends the
    /// turn with `MaxTokens`.
    pub output_tokens: Option<NonZeroU32>,
    /// How long nothing may happen: no token, no tool call or result, of the agent and of the in-process children that
    /// its tools wait for. Off by default. Ends the turn with `TimeLimit`.
    pub idle: Option<Duration>,
    /// How long one tool call may take; 30 minutes by default. The model is told, and the turn goes on.
    pub tool_deadline: Option<Duration>,
    /// The most bytes that one tool result adds to the log, give or take its marks; 128 KiB by default. What is over is
    /// cut, with a mark that the model sees.
    pub tool_result_bytes: usize,
    /// The most bytes of text and thoughts in one response, whatever the model counts as tokens; 1 MiB by default.
    /// A response that reaches it ends the turn with `MaxTokens`.
    pub response_bytes: usize,
    /// How often a structured result that does not fit goes back to the model; 2 by default. After that the turn ends
    /// with `Error`.
    pub output_retries: u32,
    /// How long tool calls that are running when the turn is cancelled have to end by themselves; 500 ms by default.
    pub cancel_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: NonZeroU32::new(100),
            output_tokens: None,
            idle: None,
            tool_deadline: Some(Duration::from_mins(30)),
            tool_result_bytes: 128 * 1024,
            response_bytes: 1024 * 1024,
            output_retries: 2,
            cancel_grace: Duration::from_millis(500),
        }
    }
}
