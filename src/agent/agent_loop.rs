//! The loop of one turn: model call, tool calls, next model call, until the model is done or something ends it.

mod calls;
mod children;
mod cut;
mod reply;

#[cfg(feature = "acp-mcp")]
pub(super) use self::calls::contained;
#[cfg(feature = "acp-mcp")]
pub(super) use self::cut::cut;

use std::collections::HashSet;
use std::sync::Arc;

use tracing::{Instrument, Span};

use self::children::Children;
use self::reply::{Reply, ReplyEnd};
use super::activity::Activity;
use super::builder::Agent;
use super::limits::Limits;
use super::model::{FinishReason, ModelError, ModelRequest, ResponseFormat, ToolChoice};
use super::outcome::TurnOutcome;
use super::output_rule::output_of;
use super::session::{
    AppendError, AssistantMessage, MessageOrigin, SessionEventKind, ToolCall, ToolResult, UserMessage,
};
use super::tool::ToolOutput;
use super::turn_options::TurnOptions;
use crate::capture::{Delivery, Verdict};
use crate::content::{ContentBlock, Output};
use crate::stop_reason::StopReason;
use crate::trace;
use crate::update::Update;

const LAST_STEP: &str = "This is the last step: the step limit is reached and no more tools can be called. \
                         Hand over now: say what you have found or done, and what is still open.";

/// The response format's name, for vendors that want one.
const RESPONSE_FORMAT: &str = "result";

pub(super) async fn run(agent: &mut Agent, prompt: Vec<ContentBlock>, options: TurnOptions) -> TurnOutcome {
    if options.cancellation.is_cancelled() {
        return TurnOutcome {
            stop_reason: StopReason::Aborted,
            output: Output::none(),
            diagnostic: None,
            usage: options.usage.usage(),
            structured: None,
            undelivered: options.inbox.close(),
            outstanding: agent.delegations.shared().end_turn(),
            steps: 0,
        };
    }
    agent.session.close_interrupted();
    agent.delegations.shared().begin_turn();
    let start = agent.session().len();
    let mut turn = Turn {
        agent,
        options: &options,
        activity: Activity::new(options.activity_above.clone()),
        start,
        steps: 0,
        call_ids: HashSet::new(),
        delivery: Delivery::default(),
        notice: None,
    };
    let span = if options.in_run { Span::none() } else { trace::turn(turn.agent) };
    let end = turn.run(prompt).instrument(span.clone()).await;
    let outcome = turn.finish(end);
    trace::ended(&span, &outcome.stop_reason, outcome.diagnostic.as_deref(), &outcome.usage.own);
    outcome
}

/// One turn in flight.
struct Turn<'a> {
    agent: &'a mut Agent,
    options: &'a TurnOptions,
    activity: Activity,
    /// The sequence number of the turn's first event.
    start: u64,
    /// How many model calls were begun.
    steps: u32,
    /// The ids of all tool calls so far.
    call_ids: HashSet<String>,
    /// How far the turn is with its structured value.
    delivery: Delivery,
    /// What the model is told before the next step.
    notice: Option<String>,
}

/// Why a turn ends.
struct End {
    reason: StopReason,
    diagnostic: Option<String>,
}

/// What follows a step.
enum Next {
    /// The model waits for what the step brought.
    Step,
    /// The model is done, unless a message is waiting for it, or a child works.
    Done,
    /// The model waits for its children, and then has to go on.
    Children,
    /// The turn ends.
    End(End),
}

impl Turn<'_> {
    async fn run(&mut self, prompt: Vec<ContentBlock>) -> End {
        let end = match self.begin(prompt) {
            Ok(()) => self.steps().await,
            Err(error) => Err(error),
        };
        end.unwrap_or_else(|error| End::failed(format!("the session log took no more events: {error}")))
    }

    fn begin(&mut self, prompt: Vec<ContentBlock>) -> Result<(), AppendError> {
        self.append(SessionEventKind::TurnStart)?;
        if let Some(notice) = &self.options.notice {
            self.tell(MessageOrigin::Notice, vec![ContentBlock::text(&**notice)])?;
        }
        if prompt.is_empty() { Ok(()) } else { self.tell(MessageOrigin::Prompt, prompt) }
    }

    async fn steps(&mut self) -> Result<End, AppendError> {
        loop {
            if self.is_cancelled() {
                return Ok(End::new(StopReason::Aborted));
            }
            if self.steps_left() == Some(0) {
                return Ok(self.step_limit());
            }
            if let Some(notice) = self.notice.take() {
                self.tell(MessageOrigin::Notice, vec![notice.into()])?;
            }
            while let Some(message) = self.options.inbox.take() {
                self.delivery.steered();
                self.tell(MessageOrigin::Steering, message)?;
            }
            for notice in self.agent.delegations.shared().at_step_boundary() {
                self.delivery.steered();
                self.tell(MessageOrigin::Subagent, notice)?;
            }
            match self.step().await? {
                Next::Step => {}
                Next::End(end) => return Ok(end),
                next => match self.children().await {
                    Children::Settled if matches!(next, Next::Children) => {
                        self.notice = Some("None of your agents works any more.".to_owned());
                    }
                    Children::Settled if self.options.inbox.close_if_empty() => {
                        return Ok(End::new(StopReason::Completed));
                    }
                    Children::ToTell | Children::Settled => {}
                    Children::Silent => return Ok(self.idle_limit()),
                },
            }
        }
    }

    async fn step(&mut self) -> Result<Next, AppendError> {
        let last = self.steps_left() == Some(1);
        let hand_over = last && self.steps > 0;
        if hand_over {
            let told = match &self.agent.capture {
                None => LAST_STEP.to_owned(),
                Some(capture) => {
                    format!("{LAST_STEP} Then call `{}` with the result that you have.", capture.name)
                }
            };
            self.tell(MessageOrigin::Notice, vec![told.into()])?;
        }
        let by_format = self.agent.output.is_some() && self.agent.capture.is_none();
        self.delivery.asked |= by_format && (last || self.agent.tools.is_empty());
        self.append(SessionEventKind::StepStart)?;
        self.steps += 1;
        let mut reply = self.ask(last).await;
        let usage = std::mem::take(&mut reply.usage);
        let next = self.take_up(reply, last, hand_over).await?;
        self.append(SessionEventKind::StepEnd { usage })?;
        Ok(next)
    }

    async fn ask(&self, last: bool) -> Reply {
        let mut request = ModelRequest::new(self.agent.session().snapshot());
        request.system_prompt.clone_from(&self.agent.system_prompt);
        let (tools, mut choice) = match &self.agent.capture {
            Some(capture) => (&capture.with_tools, ToolChoice::Auto),
            None if last => (&self.agent.tools, ToolChoice::None),
            None => (&self.agent.tools, ToolChoice::Auto),
        };
        if let Some(contract) = self.agent.output.as_ref().filter(|_| self.delivery.asked) {
            choice = ToolChoice::None;
            request.response_format =
                Some(ResponseFormat::new(RESPONSE_FORMAT, Arc::clone(contract.shown())));
        }
        request.tools = tools.clone();
        request.tool_choice = choice;
        request.max_output_tokens = self.limits().output_tokens;
        request.cancellation = self.options.cancellation.child_token();
        reply::receive(self.agent.model.as_ref(), request, self.limits(), &self.activity, self.options).await
    }

    /// Logs what the model said, runs the calls that it asks for, and says what follows.
    async fn take_up(&mut self, reply: Reply, last: bool, hand_over: bool) -> Result<Next, AppendError> {
        let Reply { content, thought, calls, end, .. } = reply;
        let said: String = content.iter().filter_map(ContentBlock::as_text).collect();
        if !content.is_empty() || !thought.is_empty() {
            if !content.is_empty() {
                self.update(Update::MessageEnd);
            }
            let thought = Some(thought).filter(|thought| !thought.is_empty());
            self.append(SessionEventKind::Assistant(AssistantMessage { content: content.into(), thought }))?;
        }
        let calls = self.log_calls(calls)?;
        if self.is_cancelled() {
            self.log_unrun(&calls, "the agent was cancelled")?;
            return Ok(Next::End(End::new(StopReason::Aborted)));
        }
        let (end, why) = match end {
            ReplyEnd::Finished(FinishReason::Stop | FinishReason::ToolCalls) if calls.is_empty() => {
                return Ok(self.finished(&said, last, hand_over));
            }
            ReplyEnd::Finished(FinishReason::Stop | FinishReason::ToolCalls)
                if last && self.agent.capture.is_none() =>
            {
                (self.step_limit(), "the step limit is reached")
            }
            ReplyEnd::Finished(FinishReason::Stop | FinishReason::ToolCalls) => {
                return self.run_calls(calls, last, hand_over).await;
            }
            end => self.end_of(end),
        };
        self.log_unrun(&calls, why)?;
        Ok(Next::End(end))
    }

    /// What follows when the model has finished and calls no tool.
    fn finished(&mut self, said: &str, last: bool, hand_over: bool) -> Next {
        let done = if hand_over { Next::End(self.step_limit()) } else { Next::Done };
        let Some(contract) = &self.agent.output else { return done };
        let verdict = if self.delivery.asked {
            self.delivery.after_response(said, contract, self.agent.limits.output_retries)
        } else if self.options.inbox.has_messages() && !last {
            // What is waiting comes first; the value is asked for after it.
            return Next::Step;
        } else if !self.agent.delegations.is_settled() && !last {
            return Next::Children;
        } else {
            self.delivery.after_prose(self.agent.capture.as_ref().map(|capture| capture.name.as_str()))
        };
        match verdict {
            Verdict::Delivered => done,
            Verdict::GoOn(_) if last => Next::End(self.step_limit()),
            Verdict::GoOn(notice) => {
                self.notice = Some(notice);
                Next::Step
            }
            Verdict::Failed(why) => Next::End(End::failed(why)),
        }
    }

    /// The end of a turn whose last response did not end as it should, and why its calls are not run.
    fn end_of(&self, end: ReplyEnd) -> (End, &'static str) {
        match end {
            ReplyEnd::Cancelled => (End::new(StopReason::Aborted), "the agent was cancelled"),
            ReplyEnd::Idle => (self.idle_limit(), "the response did not come to its end"),
            ReplyEnd::TooLong | ReplyEnd::Finished(FinishReason::MaxTokens) => {
                let diagnostic = "the model's response reached its limit of output tokens";
                (
                    End::with(StopReason::MaxTokens, diagnostic),
                    "the response was cut by its limit of output tokens",
                )
            }
            ReplyEnd::Finished(FinishReason::Refusal) => {
                (End::with(StopReason::Refusal, "the model declined"), "the response ended in a refusal")
            }
            ReplyEnd::Finished(reason) => {
                let diagnostic =
                    format!("the model ended its response for a reason that is not known: {reason:?}");
                (End::failed(diagnostic), "the response ended for a reason that is not known")
            }
            ReplyEnd::Failed(error @ ModelError::Refused { .. }) => {
                (End::with(StopReason::Refusal, error.to_string()), "the response ended in a refusal")
            }
            ReplyEnd::Failed(error) => (End::failed(error.to_string()), "the model call failed"),
            ReplyEnd::Panicked => (End::failed("the model panicked"), "the model call failed"),
        }
    }

    /// Makes the calls' ids unique within the turn, and logs them.
    fn log_calls(
        &mut self,
        calls: Vec<reply::RawCall>,
    ) -> Result<Vec<(ToolCall, Option<String>)>, AppendError> {
        calls
            .into_iter()
            .map(|raw| {
                let (mut call, malformed) = raw.parse();
                if call.id.is_empty() || !self.call_ids.insert(call.id.clone()) {
                    call.id = format!("call-{}", crate::id::uuid());
                    self.call_ids.insert(call.id.clone());
                }
                self.append(SessionEventKind::ToolCall(call.clone()))?;
                self.update(Update::tool_call(&call.id, &call.name, call.arguments.clone()));
                Ok((call, malformed))
            })
            .collect()
    }

    fn log_unrun(&mut self, calls: &[(ToolCall, Option<String>)], why: &str) -> Result<(), AppendError> {
        for (call, _) in calls {
            let output = ToolOutput::error(format!("The tool was not called: {why}."));
            self.report(&call.id, &output);
            self.append(SessionEventKind::ToolResult(ToolResult::new(&call.id, output.content, true)))?;
        }
        Ok(())
    }

    fn finish(mut self, mut end: End) -> TurnOutcome {
        // From here on nothing waits: what a cancellation did not reach by now is published.
        if self.is_cancelled() {
            end.reason = StopReason::Aborted;
        }
        let undelivered = self.options.inbox.close();
        let turn_end = SessionEventKind::TurnEnd { reason: end.reason.clone() };
        if self.agent.session.append(turn_end).is_err() {
            self.agent.session.close_interrupted();
        }
        let ended_in_order = matches!(end.reason, StopReason::Completed | StopReason::TurnLimit);
        TurnOutcome {
            structured: self.delivery.take().filter(|_| ended_in_order),
            stop_reason: end.reason,
            output: output_of(self.agent.session().snapshot().events_from(self.start)),
            diagnostic: end.diagnostic,
            usage: self.options.usage.usage(),
            undelivered,
            outstanding: self.agent.delegations.shared().end_turn(),
            steps: self.steps,
        }
    }

    fn tell(&mut self, origin: MessageOrigin, content: Vec<ContentBlock>) -> Result<(), AppendError> {
        self.append(SessionEventKind::User(UserMessage { origin, content }))
    }

    fn append(&mut self, kind: SessionEventKind) -> Result<(), AppendError> {
        self.agent.session.append(kind).map(|_| ())
    }

    fn update(&self, update: Update) {
        (self.options.updates)(update);
    }

    fn report(&self, id: &str, output: &ToolOutput) {
        self.update(Update::tool_result(id, output.content.clone(), output.is_error));
    }

    fn is_cancelled(&self) -> bool {
        self.options.cancellation.is_cancelled()
    }

    fn limits(&self) -> &Limits {
        &self.agent.limits
    }

    fn steps_left(&self) -> Option<u32> {
        self.limits().steps.map(|steps| steps.get().saturating_sub(self.steps))
    }

    fn step_limit(&self) -> End {
        End::with(StopReason::TurnLimit, format!("the turn reached its limit of {} steps", self.steps))
    }

    fn idle_limit(&self) -> End {
        let seconds = self.limits().idle.unwrap_or_default().as_secs_f64();
        End::with(StopReason::TimeLimit, format!("nothing happened for {seconds} s, the idle limit"))
    }
}

impl End {
    fn new(reason: StopReason) -> Self {
        Self { reason, diagnostic: None }
    }

    fn with(reason: StopReason, diagnostic: impl Into<String>) -> Self {
        Self { reason, diagnostic: Some(diagnostic.into()) }
    }

    fn failed(diagnostic: impl Into<String>) -> Self {
        Self::with(StopReason::Error, diagnostic)
    }
}
