//! Random histories: whatever happened, a log reads back as it was, a broken one is refused with place and reason, and
//! what goes on from it is balanced.

use std::error::Error as _;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use subagent::agent::{
    Agent, AssistantMessage, FinishReason, Limits, LoadSessionError, Message, MessageOrigin, ModelError,
    ModelEvent, ModelRequest, Session, SessionEventKind, SessionHeader, SessionWriter, ToolCall, ToolResult,
    ToolSet, TurnOptions, UserMessage, tool_fn,
};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, ModelUsage, SessionId, StopReason, ToolFilter, Update};
use tokio_util::sync::CancellationToken;

/// One step: what the model says and calls, which of the calls are answered, and what it used.
#[derive(Debug, Clone)]
struct Step {
    says: Option<String>,
    thinks: Option<String>,
    calls: Vec<Call>,
    used: Option<(u64, u64)>,
}

#[derive(Debug, Clone)]
struct Call {
    arguments: Value,
    /// `None` where the step was interrupted before there was a result.
    result: Option<(String, bool)>,
}

#[derive(Debug, Clone)]
struct Turn {
    prompt: String,
    steps: Vec<Step>,
    steered: Option<String>,
    reason: StopReason,
    note: Option<Value>,
}

/// How far the last turn came: the crash comes after so many of its events.
#[derive(Debug, Clone)]
struct History {
    turns: Vec<Turn>,
    crash: Option<Index>,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn call() -> impl Strategy<Value = Call> {
    (value(), prop::option::weighted(0.8, (".{0,12}", any::<bool>())))
        .prop_map(|(arguments, result)| Call { arguments, result })
}

fn step() -> impl Strategy<Value = Step> {
    (
        prop::option::of(".{0,20}"),
        prop::option::weighted(0.2, ".{1,8}"),
        prop::collection::vec(call(), 0..4),
        prop::option::of((any::<u64>(), any::<u64>())),
    )
        .prop_map(|(says, thinks, calls, used)| Step { says, thinks, calls, used })
}

fn turn() -> impl Strategy<Value = Turn> {
    let reason = prop_oneof![
        Just(StopReason::Completed),
        Just(StopReason::Aborted),
        Just(StopReason::TurnLimit),
        "[a-z]{1,8}".prop_map(|word| StopReason::from(word.as_str())),
    ];
    (
        ".{0,20}",
        prop::collection::vec(step(), 0..4),
        prop::option::of(".{0,8}"),
        reason,
        prop::option::weighted(0.3, value()),
    )
        .prop_map(|(prompt, steps, steered, reason, note)| Turn { prompt, steps, steered, reason, note })
}

fn history() -> impl Strategy<Value = History> {
    (prop::collection::vec(turn(), 0..5), prop::option::of(any::<Index>()))
        .prop_map(|(turns, crash)| History { turns, crash })
}

/// The events of a turn. An interrupted call ends the turn, as it does in an agent.
fn events(turn: &Turn, ids: &mut u32) -> Vec<SessionEventKind> {
    let user =
        |origin, text: &str| SessionEventKind::User(UserMessage::new(origin, vec![ContentBlock::text(text)]));
    let mut events = vec![SessionEventKind::TurnStart, user(MessageOrigin::Prompt, &turn.prompt)];
    for (number, step) in turn.steps.iter().enumerate() {
        events.push(SessionEventKind::StepStart);
        if step.says.is_some() || step.thinks.is_some() {
            let mut message = AssistantMessage::new(step.says.as_deref().unwrap_or_default());
            message.thought.clone_from(&step.thinks);
            events.push(SessionEventKind::Assistant(message));
        }
        let mut results = Vec::new();
        for call in &step.calls {
            *ids += 1;
            let id = format!("call-{ids}");
            events.push(SessionEventKind::ToolCall(ToolCall::new(&id, "tool", call.arguments.clone())));
            if let Some((text, is_error)) = &call.result {
                results.push(ToolResult::new(id, vec![ContentBlock::text(text)], *is_error));
            }
        }
        let interrupted = results.len() < step.calls.len();
        events.extend(results.into_iter().map(SessionEventKind::ToolResult));
        let usage = step.used.map(|(input, output)| ModelUsage::new("model", input, output));
        events.push(SessionEventKind::StepEnd { usage: usage.into_iter().collect() });
        if interrupted {
            break;
        }
        if let Some(message) = turn.steered.as_ref().filter(|_| number == 0) {
            events.push(user(MessageOrigin::Steering, message));
        }
    }
    events.push(SessionEventKind::TurnEnd { reason: turn.reason.clone() });
    if let Some(value) = &turn.note {
        events.push(SessionEventKind::Metadata { key: "note".into(), value: value.clone() });
    }
    events
}

fn header() -> SessionHeader {
    let mut header = SessionHeader::new(SessionId::new());
    header.depth = 2;
    header.max_depth = Some(4);
    header.tool_filter = Some(ToolFilter::deny(["write"]));
    header
}

/// Goes on with a session as the history says, and closes what each turn left open, as an agent does.
fn play(writer: &mut SessionWriter, history: &History) {
    let mut ids = u32::try_from(writer.session().len()).unwrap() * 1000;
    for (number, turn) in history.turns.iter().enumerate() {
        writer.close_interrupted();
        let mut events = events(turn, &mut ids);
        if let Some(crash) = history.crash.as_ref().filter(|_| number + 1 == history.turns.len()) {
            events.truncate(crash.index(events.len() + 1));
        }
        for event in events {
            writer.append(event).unwrap();
        }
    }
}

fn played(history: &History) -> SessionWriter {
    let mut writer = SessionWriter::new(header());
    play(&mut writer, history);
    writer
}

fn json_lines(session: &Session) -> String {
    let mut bytes = Vec::new();
    session.write_json_lines(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn load(text: &str) -> Result<Session, LoadSessionError> {
    Session::read_json_lines(text.as_bytes())
}

/// Each call has its one result in the message that follows the call's, and no result is without a call.
fn balanced(session: &Session) -> Result<(), TestCaseError> {
    let request = ModelRequest::new(session.snapshot());
    let messages = request.messages();
    for (at, message) in messages.iter().enumerate() {
        let calls = match message {
            Message::Assistant { tool_calls, .. } => tool_calls.iter().map(|call| &call.id).collect(),
            _ => Vec::new(),
        };
        let results = match messages.get(at + 1) {
            Some(Message::ToolResults { results, .. }) => results.iter().map(|result| &result.id).collect(),
            _ => Vec::new(),
        };
        let (mut asked, mut answered) = (calls.clone(), results.clone());
        asked.sort();
        answered.sort();
        prop_assert_eq!(asked, answered, "after message {}", at);
    }
    let answered_first = matches!(messages.first(), Some(Message::ToolResults { .. }));
    prop_assert!(!answered_first);
    Ok(())
}

/// What a scripted model does in one call.
#[derive(Debug, Clone)]
struct Response {
    text: String,
    calls: Vec<Called>,
    used: (u64, u64),
    end: Ending,
}

/// A tool that is called, and under which id.
#[derive(Debug, Clone)]
struct Called {
    id: &'static str,
    tool: &'static str,
    malformed: bool,
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Finish,
    MaxTokens,
    Fail,
    Cut,
    Panic,
    Hang,
}

fn response() -> impl Strategy<Value = Response> {
    let id = prop::sample::select(vec!["", "1", "2"]);
    let tool = prop::sample::select(vec!["works", "fails", "panics", "hangs", "is_unknown"]);
    let call = (id, tool, prop::bool::weighted(0.1)).prop_map(|(id, tool, malformed)| Called {
        id,
        tool,
        malformed,
    });
    let end = prop_oneof![
        8 => Just(Ending::Finish),
        1 => Just(Ending::MaxTokens),
        1 => Just(Ending::Fail),
        1 => Just(Ending::Cut),
        1 => Just(Ending::Panic),
        1 => Just(Ending::Hang),
    ];
    ("[a-z]{0,4}", prop::collection::vec(call, 0..4), (0..1000_u64, 0..1000_u64), end)
        .prop_map(|(text, calls, used, end)| Response { text, calls, used, end })
}

fn reply(response: &Response) -> ScriptedReply {
    let reply = ScriptedReply::new().text(&*response.text).usage(response.used.0, response.used.1);
    let reply = response.calls.iter().fold(reply, |reply, call| {
        reply.event(ModelEvent::ToolCall {
            id: call.id.into(),
            name: call.tool.into(),
            arguments: if call.malformed { "{".into() } else { "{}".into() },
        })
    });
    match response.end {
        Ending::Finish => reply,
        Ending::MaxTokens => reply.finish(FinishReason::MaxTokens),
        Ending::Fail => reply.error(ModelError::other("broken")),
        Ending::Cut => reply.cut(),
        Ending::Panic => reply.panic(),
        Ending::Hang => reply.hang(),
    }
}

fn tools() -> ToolSet {
    let tool = |name, answer: fn() -> BoxFuture<'static, Result<&'static str, &'static str>>| {
        tool_fn(name, "Does as its name says.", json!({}), move |_, _| answer())
    };
    ToolSet::new()
        .with(tool("works", || Box::pin(async { Ok("done") })))
        .and_then(|tools| tools.with(tool("fails", || Box::pin(async { Err("failed") }))))
        .and_then(|tools| {
            tools.with(tool("panics", || {
                Box::pin(async { std::panic::resume_unwind(Box::new("a tool panics")) })
            }))
        })
        .and_then(|tools| tools.with(tool("hangs", || Box::pin(std::future::pending()))))
        .unwrap()
}

/// Runs turns on the responses, each cancelled at its n-th update, and checks the log and the usage after each.
async fn check_turns(responses: Vec<Response>, cancels: Vec<Option<usize>>) -> Result<(), TestCaseError> {
    let model = responses.iter().fold(ScriptedModel::new(), |model, response| model.reply(reply(response)));
    let mut limits = Limits::default();
    limits.idle = Some(Duration::from_mins(1));
    limits.tool_deadline = Some(Duration::from_secs(30));
    limits.steps = NonZeroU32::new(5);
    let mut agent = Agent::builder(Arc::new(model.clone())).tools(tools()).limits(limits).build();
    let (mut reported, mut counted) = (0, 0);
    for cancel in cancels {
        let (token, updates) = (CancellationToken::new(), AtomicUsize::new(0));
        let (fire, used) = (token.clone(), Arc::new(AtomicU64::new(0)));
        let seen = Arc::clone(&used);
        let options = TurnOptions::new().cancellation(token).on_update(move |update| {
            if let Update::Usage(usage) = update {
                seen.fetch_add(usage.output_tokens.unwrap(), Ordering::Relaxed);
            }
            if Some(updates.fetch_add(1, Ordering::Relaxed)) == cancel {
                fire.cancel();
            }
        });
        let outcome = agent.run_turn(vec!["go".into()], options).await;
        let own: u64 = outcome.usage.own.iter().filter_map(|usage| usage.output_tokens).sum();
        reported += used.load(Ordering::Relaxed);
        counted += own;
        let session = agent.session();
        let last = session.snapshot().events().last().map(|event| event.kind.clone());
        prop_assert_eq!(last, Some(SessionEventKind::TurnEnd { reason: outcome.stop_reason }));
        prop_assert!(load(&json_lines(session)).is_ok());
        balanced(session)?;
    }
    // The log has it too, step by step.
    let log = agent.session().snapshot();
    let logged: u64 = log
        .events()
        .filter_map(|event| match &event.kind {
            SessionEventKind::StepEnd { usage } => usage[..].first()?.output_tokens,
            _ => None,
        })
        .sum();
    let calls = model.requests().len().min(responses.len());
    let played: u64 = responses[..calls].iter().map(|response| response.used.1).sum();
    prop_assert_eq!((counted, logged), (reported, reported));
    // A call that was cancelled before it reported is not counted.
    prop_assert!(counted <= played);
    Ok(())
}

/// The error with its cause.
fn said(error: &LoadSessionError) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// Ways to break a log. Each is told by a line of its own.
#[derive(Debug, Clone, Copy)]
enum Damage {
    LineLost,
    LineTwice,
    LinesSwapped,
    LineCut,
    NumberChanged,
    UnknownType,
    AnswerToNobody,
    BytesLost,
}

const DAMAGES: [Damage; 8] = [
    Damage::LineLost,
    Damage::LineTwice,
    Damage::LinesSwapped,
    Damage::LineCut,
    Damage::NumberChanged,
    Damage::UnknownType,
    Damage::AnswerToNobody,
    Damage::BytesLost,
];

/// The broken log and the number of the line at which that shows; `None` where this log cannot be broken in that way.
fn damaged(log: &str, damage: Damage, at: Index) -> Option<(Vec<u8>, usize)> {
    let mut lines: Vec<String> = log.lines().map(Into::into).collect();
    // The header is line 1; the events are from line 2 on.
    let events = lines.len() - 1;
    let change = |line: &str, change: &dyn Fn(&mut Value)| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        change(&mut event);
        event.to_string()
    };
    let shows = match damage {
        // A log that ends early is a log that ended early.
        Damage::LineLost => {
            let lost = 1 + at.index(events.checked_sub(1).filter(|left| *left > 0)?);
            lines.remove(lost);
            lost + 1
        }
        Damage::LineTwice => {
            let twice = 1 + at.index(Some(events).filter(|events| *events > 0)?);
            lines.insert(twice, lines[twice].clone());
            twice + 2
        }
        Damage::LinesSwapped => {
            let first = 1 + at.index(events.checked_sub(1).filter(|left| *left > 0)?);
            lines.swap(first, first + 1);
            first + 1
        }
        Damage::LineCut => {
            let cut = 1 + at.index(Some(events).filter(|events| *events > 0)?);
            lines[cut].pop();
            cut + 1
        }
        Damage::NumberChanged => {
            let changed = 1 + at.index(Some(events).filter(|events| *events > 0)?);
            lines[changed] = change(&lines[changed], &|event| event["seq"] = json!(1_000_000));
            changed + 1
        }
        Damage::UnknownType => {
            let changed = 1 + at.index(Some(events).filter(|events| *events > 0)?);
            lines[changed] = change(&lines[changed], &|event| event["type"] = json!("party"));
            changed + 1
        }
        Damage::AnswerToNobody => {
            let answers: Vec<usize> =
                (1..lines.len()).filter(|at| lines[*at].contains(r#""type":"tool_result""#)).collect();
            let changed = *answers.get(at.index(Some(answers.len()).filter(|count| *count > 0)?))?;
            lines[changed] = change(&lines[changed], &|event| event["id"] = json!("nobody"));
            changed + 1
        }
        Damage::BytesLost => {
            let broken = 1 + at.index(Some(events).filter(|events| *events > 0)?);
            let before: usize = lines[..broken].iter().map(|line| line.len() + 1).sum();
            let mut bytes = log.as_bytes().to_vec();
            bytes[before + 1] = 0xff;
            return Some((bytes, broken + 1));
        }
    };
    Some((lines.join("\n").into_bytes(), shows))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_reads_back_as_it_was(history in history()) {
        let writer = played(&history);
        let text = json_lines(writer.session());
        let loaded = load(&text).unwrap();
        prop_assert_eq!(loaded.header(), writer.session().header());
        prop_assert!(loaded.snapshot().events().eq(writer.session().snapshot().events()));
        let (one, other) = (loaded.completed_prefix(), writer.session().completed_prefix());
        prop_assert_eq!((one.len(), one.turns()), (other.len(), other.turns()));
        prop_assert_eq!(json_lines(&loaded), text);
    }

    #[test]
    fn every_history_is_balanced_when_it_is_resumed(history in history(), more in history()) {
        let text = json_lines(played(&history).session());
        let mut resumed = SessionWriter::read_json_lines(text.as_bytes()).unwrap();
        balanced(resumed.session())?;
        prop_assert!(resumed.append(SessionEventKind::TurnStart).is_ok(), "a turn can begin");
        resumed.append(SessionEventKind::TurnEnd { reason: StopReason::Completed }).unwrap();
        play(&mut resumed, &more);
        resumed.close_interrupted();
        balanced(resumed.session())?;
        prop_assert!(load(&json_lines(resumed.session())).is_ok());
    }

    #[test]
    fn a_fork_of_a_fork_of_every_history_is_valid_and_shares_it(
        history in history(), of_child in history(), of_grandchild in history()
    ) {
        let parent = played(&history);
        let before = json_lines(parent.session());
        let prefix = parent.session().completed_prefix();
        let mut child = SessionWriter::fork(&prefix, header());
        play(&mut child, &of_child);
        let of_child = child.session().completed_prefix();
        // What the seed left open is closed from the beginning.
        balanced(SessionWriter::fork(&prefix, header()).session())?;
        balanced(SessionWriter::fork(&of_child, header()).session())?;
        let mut grandchild = SessionWriter::fork(&of_child, header());
        // Two forks of one session do not see each other.
        let mut sibling = SessionWriter::fork(&of_child, header());
        play(&mut grandchild, &of_grandchild);
        sibling.append(SessionEventKind::Metadata { key: "sibling".into(), value: json!(1) }).unwrap();
        for (fork, seed) in [(&mut child, &prefix), (&mut grandchild, &of_child), (&mut sibling, &of_child)] {
            prop_assert_eq!(fork.session().header().seed_length, seed.len());
            let log = fork.session().snapshot();
            prop_assert!(log.events().zip(seed.events()).all(|(one, other)| std::ptr::eq(one, other)));
            prop_assert_eq!(log.own_events().count() as u64, log.len() - seed.len());
            let loaded = load(&json_lines(fork.session())).unwrap();
            prop_assert!(loaded.snapshot().own_events().eq(log.own_events()));
            fork.close_interrupted();
            balanced(fork.session())?;
        }
        prop_assert_eq!(json_lines(parent.session()), before, "the parent's log is as it was");
    }

    #[test]
    fn every_damage_is_refused_with_its_line_and_the_reason(history in history(), at in any::<Index>()) {
        let log = json_lines(played(&history).session());
        for damage in DAMAGES {
            let Some((broken, line)) = damaged(&log, damage, at) else { continue };
            let Err(error) = Session::read_json_lines(broken.as_slice()) else {
                return Err(TestCaseError::fail(format!("{damage:?} at line {line} was not seen")));
            };
            let said = said(&error);
            prop_assert!(said.contains(&format!("line {line} of")), "{:?} at line {}: {}", damage, line, said);
            let reason = match damage {
                Damage::LineLost | Damage::LineTwice | Damage::LinesSwapped | Damage::NumberChanged => "must be",
                Damage::LineCut => "is not an event: ",
                Damage::UnknownType => "unknown variant `party`",
                Damage::AnswerToNobody => "no tool call \"nobody\" waits for a result",
                Damage::BytesLost => "cannot be read: ",
            };
            prop_assert!(said.contains(reason), "{:?}: {}", damage, said);
        }
    }

    #[test]
    fn every_turn_of_every_script_leaves_a_balanced_log_and_an_exact_usage(
        responses in prop::collection::vec(response(), 1..8),
        cancels in prop::collection::vec(prop::option::weighted(0.3, 0..8_usize), 1..4),
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(check_turns(responses, cancels))?;
    }
}
