//! Spans, by the conventions of OpenTelemetry for generative AI.

use tracing::Span;
use tracing::field::{Empty, display};

use crate::agent::Agent;
use crate::event::RunInfo;
use crate::run::Verdict;
use crate::stop_reason::StopReason;
use crate::usage::{ModelUsage, Tokens};

/// The span of a run: of what its provider does to start it, and of all that its child does.
pub(crate) fn run(run: &RunInfo) -> Span {
    let name = run.agent_type.as_deref();
    tracing::info_span!(
        target: "subagent",
        "invoke_agent",
        otel.name = %NamedSpan("invoke_agent", name),
        otel.kind = "internal",
        otel.status_code = Empty,
        otel.status_description = Empty,
        "error.type" = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = "subagent",
        gen_ai.agent.name = name,
        gen_ai.agent.id = Empty,
        gen_ai.conversation.id = Empty,
        gen_ai.request.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        subagent.run_id = %run.run_id,
        subagent.provider = &*run.provider,
        subagent.depth = run.depth,
        subagent.parent_agent_id = run.parent_agent_id.as_ref().map(display),
        subagent.resumed_from = run.resumed_from.map(display),
        subagent.stop_reason = Empty,
    )
}

/// The span of a turn of an agent that is no run.
pub(crate) fn turn(agent: &Agent) -> Span {
    let header = agent.session().header();
    tracing::info_span!(
        target: "subagent",
        "invoke_agent",
        otel.name = "invoke_agent",
        otel.kind = "internal",
        otel.status_code = Empty,
        otel.status_description = Empty,
        "error.type" = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = "subagent",
        gen_ai.agent.id = %agent.id(),
        gen_ai.conversation.id = %header.id,
        gen_ai.request.model = agent.model().name(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        subagent.depth = header.depth,
        subagent.stop_reason = Empty,
    )
}

/// The span of a tool call.
pub(crate) fn tool(name: &str, call_id: &str) -> Span {
    tracing::info_span!(
        target: "subagent",
        "execute_tool",
        otel.name = %NamedSpan("execute_tool", Some(name)),
        otel.kind = "internal",
        otel.status_code = Empty,
        "error.type" = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        gen_ai.tool.call.id = call_id,
        "gen_ai.tool.type" = "function",
    )
}

/// Says in a run's span who works there.
pub(crate) fn child(span: &Span, agent: &Agent) {
    if !span.is_disabled() {
        span.record("gen_ai.agent.id", display(agent.id()));
        span.record("gen_ai.request.model", agent.model().name());
        conversation(span, agent.session().header().id.as_str());
    }
}

/// Says in a run's span which session it is.
pub(crate) fn conversation(span: &Span, session: &str) {
    span.record("gen_ai.conversation.id", session);
}

/// Says in a run's span that no child came to be.
pub(crate) fn not_started(span: &Span, code: &str, error: &dyn std::fmt::Display) {
    span.record("error.type", code);
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", display(error));
}

/// Says in a run's span how it ended.
pub(crate) fn run_ended(span: &Span, verdict: &Verdict) {
    match verdict {
        Ok(outcome) => {
            ended(span, &outcome.stop_reason, outcome.diagnostic.as_deref(), &outcome.usage.own);
        }
        Err(fault) => {
            span.record("subagent.stop_reason", StopReason::Error.as_str());
            not_started(span, fault.code(), fault);
        }
    }
}

/// Says in a span how its agent ended, and what it used itself: those below it have spans of their own.
pub(crate) fn ended(span: &Span, reason: &StopReason, diagnostic: Option<&str>, own: &[ModelUsage]) {
    span.record("subagent.stop_reason", reason.as_str());
    if !matches!(reason, StopReason::Completed | StopReason::Aborted) {
        span.record("error.type", reason.as_str());
        span.record("otel.status_code", "ERROR");
        if let Some(diagnostic) = diagnostic {
            span.record("otel.status_description", diagnostic);
        }
    }
    let Tokens { input, output } = Tokens::of(own);
    if let Some(input) = input {
        span.record("gen_ai.usage.input_tokens", input);
    }
    if let Some(output) = output {
        span.record("gen_ai.usage.output_tokens", output);
    }
}

/// Says in a tool call's span that it failed.
pub(crate) fn tool_failed(span: &Span) {
    span.record("error.type", "tool_error");
    span.record("otel.status_code", "ERROR");
}

/// What is done, and who does it where that is known.
struct NamedSpan<'a>(&'a str, Option<&'a str>);

impl std::fmt::Display for NamedSpan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.1 {
            Some(name) => write!(f, "{} {name}", self.0),
            None => f.write_str(self.0),
        }
    }
}
