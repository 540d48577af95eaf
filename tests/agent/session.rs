//! The session log: shared completed turns, validation, JSON Lines.

use std::error::Error as _;

use serde_json::json;
use subagent::agent::{
    AppendError, AssistantMessage, LoadSessionError, MessageOrigin, Session, SessionEventKind, SessionHeader,
    SessionWriter, ToolCall, ToolResult, UserMessage,
};
use subagent::{ContentBlock, SessionId, StopReason};

use super::support::words;

fn user(text: &str) -> SessionEventKind {
    SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, vec![ContentBlock::text(text)]))
}

fn assistant(text: &str) -> SessionEventKind {
    SessionEventKind::Assistant(AssistantMessage::new(text))
}

fn call(id: &str) -> SessionEventKind {
    SessionEventKind::ToolCall(ToolCall::new(id, "read", json!({"path": "a"})))
}

fn result(id: &str) -> SessionEventKind {
    SessionEventKind::ToolResult(ToolResult::new(id, vec![ContentBlock::text("content")], false))
}

fn step_end() -> SessionEventKind {
    SessionEventKind::StepEnd { usage: Vec::new() }
}

fn turn_end() -> SessionEventKind {
    SessionEventKind::TurnEnd { reason: StopReason::Completed }
}

fn new_writer() -> SessionWriter {
    SessionWriter::new(SessionHeader::new(SessionId::new()))
}

fn append(writer: &mut SessionWriter, events: impl IntoIterator<Item = SessionEventKind>) {
    for event in events {
        writer.append(event).unwrap();
    }
}

fn turn(writer: &mut SessionWriter, question: &str, answer: &str) {
    append(
        writer,
        [
            SessionEventKind::TurnStart,
            user(question),
            SessionEventKind::StepStart,
            assistant(answer),
            step_end(),
            turn_end(),
        ],
    );
}

fn json_lines(session: &Session) -> String {
    let mut bytes = Vec::new();
    session.write_json_lines(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn load(text: &str) -> Result<Session, LoadSessionError> {
    Session::read_json_lines(text.as_bytes())
}

#[test]
fn a_session_without_a_completed_turn_has_an_empty_prefix() {
    let mut writer = new_writer();
    assert!(writer.session().completed_prefix().is_empty());
    append(&mut writer, [SessionEventKind::TurnStart, user("open")]);
    assert!(writer.session().completed_prefix().is_empty());
    assert_eq!(writer.session().completed_prefix().events().count(), 0);
}

#[test]
fn the_prefix_ends_exactly_at_the_last_turn_end() {
    let mut writer = new_writer();
    turn(&mut writer, "q1", "a1");
    turn(&mut writer, "q2", "a2");
    append(&mut writer, [SessionEventKind::Metadata { key: "late".into(), value: json!(1) }]);
    append(&mut writer, [SessionEventKind::TurnStart, user("open")]);
    let prefix = writer.session().completed_prefix();
    assert_eq!((prefix.len(), prefix.turns()), (12, 2));
    let numbers: Vec<u64> = prefix.events().map(|event| event.sequence).collect();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
    let said = words(prefix.events());
    assert_eq!(said.last().unwrap(), "end:completed");
    assert_eq!(said.iter().filter(|word| word.starts_with("end:")).count(), 2);
    assert!(said.contains(&"assistant:a1".into()) && said.contains(&"assistant:a2".into()));
}

#[test]
fn a_fork_begins_with_the_prefix_and_records_its_length() {
    let mut parent = new_writer();
    turn(&mut parent, "q1", "a1");
    append(
        &mut parent,
        [SessionEventKind::TurnStart, user("open"), SessionEventKind::StepStart, call("spawn")],
    );
    let mut header = SessionHeader::new(SessionId::new());
    header.parent = Some(parent.session().header().id.clone());
    let mut child = SessionWriter::fork(&parent.session().completed_prefix(), header);
    assert_eq!(child.session().header().seed_length, 6);
    turn(&mut child, "task", "done");

    let log = child.session().snapshot();
    assert_eq!(log.len(), 12);
    assert_eq!(words(log.own_events())[1], "user:task");
    assert_eq!(words(log.events()).iter().filter(|word| word.starts_with("end:")).count(), 2);
    assert_eq!(parent.session().len(), 10, "the parent's log is untouched");
    let loaded = load(&json_lines(child.session())).unwrap();
    assert_eq!(loaded.header(), child.session().header());
    assert_eq!(words(loaded.snapshot().own_events()), words(log.own_events()));
}

#[test]
fn a_fork_shares_its_parents_events_and_copies_none() {
    let mut parent = new_writer();
    for number in 0..3 {
        turn(&mut parent, &number.to_string(), "a");
    }
    let child =
        SessionWriter::fork(&parent.session().completed_prefix(), SessionHeader::new(SessionId::new()));
    let grandchild =
        SessionWriter::fork(&child.session().completed_prefix(), SessionHeader::new(SessionId::new()));
    let of_parent = parent.session().snapshot();
    let of_grandchild = grandchild.session().snapshot();
    assert_eq!(grandchild.session().header().seed_length, 18);
    for (one, other) in of_parent.events().zip(of_grandchild.events()) {
        assert!(std::ptr::eq(one, other), "event {} is a copy", one.sequence);
    }
}

#[test]
fn a_very_long_session_is_read_and_dropped_without_deep_recursion() {
    // A thread with little stack: a drop or a walk that recurses per turn does not survive it.
    std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(|| {
            let mut writer = new_writer();
            for _ in 0..100_000 {
                append(&mut writer, [SessionEventKind::TurnStart, turn_end()]);
            }
            let prefix = writer.session().completed_prefix();
            assert_eq!(prefix.events().count(), 200_000);
            drop(writer);
            drop(prefix);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_completed_turn_with_unanswered_calls_is_closed_when_forked() {
    let mut parent = new_writer();
    append(
        &mut parent,
        [
            SessionEventKind::TurnStart,
            user("q"),
            SessionEventKind::StepStart,
            call("1"),
            call("2"),
            result("1"),
            step_end(),
            SessionEventKind::TurnEnd { reason: StopReason::Aborted },
        ],
    );
    let child =
        SessionWriter::fork(&parent.session().completed_prefix(), SessionHeader::new(SessionId::new()));
    let own = words(child.session().snapshot().own_events());
    assert_eq!(own.len(), 1);
    assert!(own[0].starts_with("error:2:"), "{own:?}");

    let grandchild =
        SessionWriter::fork(&child.session().completed_prefix(), SessionHeader::new(SessionId::new()));
    assert!(words(grandchild.session().snapshot().own_events())[0].starts_with("error:2:"));

    assert_eq!(
        parent.append(SessionEventKind::TurnStart),
        Err(AppendError::Unanswered { call: "2".into(), event: "turn_start" })
    );
    parent.close_interrupted();
    turn(&mut parent, "q2", "a2");
    load(&json_lines(parent.session())).unwrap();
}

#[test]
fn a_log_that_was_cut_off_is_closed_when_it_is_resumed() {
    let mut writer = new_writer();
    append(
        &mut writer,
        [
            SessionEventKind::TurnStart,
            user("q"),
            SessionEventKind::StepStart,
            assistant("let me see"),
            call("1"),
        ],
    );
    let text = json_lines(writer.session());
    assert_eq!(load(&text).unwrap().len(), 5, "for reading it stays as it is");
    let mut resumed = SessionWriter::read_json_lines(text.as_bytes()).unwrap();
    let said = words(resumed.session().snapshot().events());
    assert!(said[5].starts_with("error:1:"), "{said:?}");
    assert_eq!(said[6..], ["step-end", "end:aborted"]);
    turn(&mut resumed, "q2", "a2");
}

#[test]
fn the_json_form_is_stable() {
    let mut header = SessionHeader::new("child".into());
    header.parent = Some("parent".into());
    header.depth = 1;
    header.max_depth = Some(3);
    header.working_dir = Some("/work".into());
    header.model = Some("small".into());
    let mut writer = SessionWriter::new(header);
    append(
        &mut writer,
        [
            SessionEventKind::TurnStart,
            user("hi"),
            SessionEventKind::StepStart,
            assistant("yes"),
            call("1"),
            result("1"),
            SessionEventKind::StepEnd { usage: vec![subagent::ModelUsage::new("small", 3, 2)] },
            turn_end(),
            SessionEventKind::Metadata { key: "note".into(), value: json!({"a": [1]}) },
        ],
    );
    let expected = r#"{"type":"session","version":1,"id":"child","parent":"parent","depth":1,"max_depth":3,"seed_length":0,"working_dir":"/work","model":"small"}
{"seq":0,"type":"turn_start"}
{"seq":1,"type":"user","origin":"prompt","content":[{"type":"text","text":"hi"}]}
{"seq":2,"type":"step_start"}
{"seq":3,"type":"assistant","content":[{"type":"text","text":"yes"}]}
{"seq":4,"type":"tool_call","id":"1","name":"read","arguments":{"path":"a"}}
{"seq":5,"type":"tool_result","id":"1","content":[{"type":"text","text":"content"}],"is_error":false}
{"seq":6,"type":"step_end","usage":[{"model":"small","input_tokens":3,"output_tokens":2}]}
{"seq":7,"type":"turn_end","reason":"completed"}
{"seq":8,"type":"metadata","key":"note","value":{"a":[1]}}
"#;
    assert_eq!(json_lines(writer.session()), expected);
    let loaded = load(expected).unwrap();
    assert_eq!(loaded.header(), writer.session().header());
    assert!(loaded.snapshot().events().eq(writer.session().snapshot().events()));
}

#[test]
fn a_broken_log_is_refused_with_the_place_and_the_reason() {
    const HEADER: &str = r#"{"type":"session","version":1,"id":"s"}"#;
    let cases = [
        ("", "its first line must be a header"),
        ("{}", "line 1 of the session log is not a session header"),
        (r#"{"type":"session","version":2,"id":"s"}"#, "version 2"),
        (r#"{"type":"session","version":1,"id":"s","depth":-1}"#, "line 1"),
        (r#"{"type":"session","version":1,"id":"s","depth":1.5}"#, "line 1"),
        (r#"{"type":"session","version":1,"id":"s","depth":4294967296}"#, "line 1"),
        (r#"{"type":"session","version":1,"id":"s","seed_length":1}"#, "seed length is 1"),
        (&format!("{HEADER}\nnonsense"), "line 2 of the session log is not an event"),
        (&format!("{HEADER}\n{{\"seq\":0,\"type\":\"party\"}}"), "line 2 of the session log is not an event"),
        (
            &format!("{HEADER}\n{{\"seq\":1,\"type\":\"turn_start\"}}"),
            "line 2 of the session log has sequence number 1",
        ),
        (
            &format!(
                "{HEADER}\n{{\"seq\":0,\"type\":\"turn_start\"}}\n{{\"seq\":1,\"type\":\"turn_start\"}}"
            ),
            "line 3 of the session log does not fit where it stands: a turn is open",
        ),
        (
            &format!("{HEADER}\n{{\"seq\":0,\"type\":\"step_start\"}}"),
            "line 2 of the session log does not fit where it stands: no turn is open",
        ),
        (
            &format!("{HEADER}\n{{\"seq\":0,\"type\":\"tool_result\",\"id\":\"x\"}}"),
            "does not fit where it stands: no tool call \"x\" waits",
        ),
    ];
    for (text, expected) in cases {
        let error = load(text).expect_err(text);
        let mut said = error.to_string();
        if let Some(source) = error.source() {
            assert!(!said.contains(&source.to_string()), "the cause is repeated: {said}");
            said = format!("{said}: {source}");
        }
        assert!(said.contains(expected), "{text:?}: {said}");
    }
}

#[test]
fn an_event_that_does_not_fit_is_not_appended() {
    let mut writer = new_writer();
    assert_eq!(writer.append(user("q")), Err(AppendError::NoTurn { event: "user" }));
    append(&mut writer, [SessionEventKind::TurnStart, SessionEventKind::StepStart, call("1")]);
    assert_eq!(writer.append(call("1")), Err(AppendError::CallId { call: "1".into() }));
    assert_eq!(writer.append(call("")), Err(AppendError::CallId { call: String::new() }));
    assert_eq!(
        writer.append(assistant("a")),
        Err(AppendError::Unanswered { call: "1".into(), event: "assistant" })
    );
    assert_eq!(writer.append(turn_end()), Err(AppendError::StepOpen { event: "turn_end" }));
    append(&mut writer, [result("1")]);
    assert_eq!(writer.append(result("1")), Err(AppendError::UnknownCall { call: "1".into() }));
    assert_eq!(writer.session().len(), 4);
}
