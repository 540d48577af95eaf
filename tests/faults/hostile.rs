//! JSON made to hurt: deep, large, doubled, out of range, not even text. It is refused or means what it says; nothing
//! panics and no stack overflows.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{
    Agent, LoadSessionError, Message, ModelEvent, Session, SessionWriter, ToolSet, TurnOptions, tool_fn,
};
use subagent::testing::{ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{ContentBlock, Outcome, Request, StopReason, Subagents, Unchecked};

const DEEP: usize = 200_000;

/// Text that nests as deep as it is long, closed and not closed.
fn bombs(depth: usize) -> Vec<String> {
    vec![
        "[".repeat(depth),
        format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
        r#"{"a":"#.repeat(depth),
        format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)),
    ]
}

fn request(json: &str) -> Result<Request<Unchecked>, serde_json::Error> {
    serde_json::from_str(json)
}

#[test]
fn a_request_that_nests_too_deep_is_refused_wherever_it_does() {
    for bomb in bombs(DEEP) {
        for json in [
            bomb.clone(),
            format!(r#"{{"prompt":{bomb}}}"#),
            format!(r#"{{"prompt":"x","capabilities":{{"acme/any":{bomb}}}}}"#),
            format!(r#"{{"prompt":[{{"type":"acme/card","x":{bomb}}}]}}"#),
        ] {
            assert!(request(&json).is_err(), "{}", &json[..60]);
        }
        assert!(
            serde_json::from_str::<Outcome>(&format!(r#"{{"stop_reason":"completed","structured":{bomb}}}"#))
                .is_err()
        );
    }
}

#[test]
fn what_is_given_twice_or_is_no_text_is_refused() {
    for json in [
        r#"{"prompt":"a","prompt":"b"}"#,
        r#"{"prompt":"a","capabilities":{"depth-limit":1,"depth-limit":9}}"#,
        r#"{"prompt":"a","capabilities":{},"capabilities":{"depth-limit":9}}"#,
        r#"{"prompt":"a","time_limit_ms":1,"time_limit_ms":2}"#,
    ] {
        assert!(request(json).is_err(), "{json}");
    }
    let broken = [
        &b"{\"prompt\":\"\xff\xfe\"}"[..],
        b"\xef\xbb\xbf{\"prompt\":\"a\"}",
        b"{\"prompt\":\"\\ud800\"}",
        b"\0",
        b"",
    ];
    for bytes in broken {
        assert!(serde_json::from_slice::<Request<Unchecked>>(bytes).is_err(), "{bytes:?}");
    }
}

#[tokio::test]
async fn numbers_out_of_range_are_refused_and_the_largest_in_range_do_no_harm() {
    for number in ["1e400", "-1", "18446744073709551616", "1.5", "\"1\"", "1e2"] {
        assert!(request(&format!(r#"{{"prompt":"a","time_limit_ms":{number}}}"#)).is_err(), "{number}");
    }
    let subagents = Subagents::new();
    let provider = subagents.register("scripted", ScriptedProvider::replying("done")).unwrap();
    for (json, code) in [
        (r#"{"prompt":"a","capabilities":{"depth-limit":4294967296}}"#, "INVALID_VALUE"),
        (r#"{"prompt":"a","capabilities":{"step-limit":0}}"#, "INVALID_VALUE"),
        (r#"{"prompt":"a","capabilities":{"output-token-limit":-1}}"#, "INVALID_VALUE"),
    ] {
        let error = subagents.start("scripted", request(json).unwrap()).await.map(drop).unwrap_err();
        assert_eq!(error.code(), code, "{json}");
    }
    let largest = format!(
        r#"{{"prompt":"a","time_limit_ms":{},"capabilities":{{"depth-limit":{},"step-limit":{}}}}}"#,
        u64::MAX,
        u32::MAX,
        u32::MAX
    );
    let run = subagents.start("scripted", request(&largest).unwrap()).await.unwrap();
    let result = run.settle_within(Duration::MAX).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.text(), "done");
    drop(provider);
}

#[tokio::test]
async fn a_large_prompt_arrives_whole() {
    let prompt = "ä".repeat(4 * 1024 * 1024);
    let request = request(&json!({ "prompt": prompt }).to_string()).unwrap();
    let provider = ScriptedProvider::replying("done");
    let log = provider.log();
    let subagents = Subagents::new();
    let _provider = subagents.register("scripted", provider).unwrap();
    let run = subagents.start("scripted", request).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(log.requests()[0].prompt.len(), prompt.len());
}

/// The log of one turn.
async fn log() -> Vec<u8> {
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("Ada."));
    let mut agent = Agent::builder(Arc::new(model)).build();
    agent.run_turn(vec!["Who are you?".into()], TurnOptions::new()).await;
    let mut lines = Vec::new();
    agent.session().write_json_lines(&mut lines).unwrap();
    lines
}

#[tokio::test]
async fn a_session_log_that_is_cut_or_changed_in_any_byte_is_refused_or_read_as_it_is() {
    let lines = log().await;
    assert!(Session::read_json_lines(lines.as_slice()).is_ok());
    for at in 0..lines.len() {
        for byte in [b'"', b'0', b'9', b'}', b'\n', 0xff] {
            let mut changed = lines.clone();
            changed[at] = byte;
            for bytes in [&lines[..at], changed.as_slice()] {
                let Ok(session) = Session::read_json_lines(bytes) else { continue };
                let mut again = Vec::new();
                session.write_json_lines(&mut again).unwrap();
                assert!(Session::read_json_lines(again.as_slice()).is_ok());
                // What was cut off can be gone on with.
                let writer = SessionWriter::read_json_lines(bytes).unwrap();
                assert_eq!(writer.session().completed_prefix().len(), writer.session().len());
            }
        }
    }
}

#[tokio::test]
async fn a_session_log_made_to_hurt_is_refused_with_its_line() {
    let lines = String::from_utf8(log().await).unwrap();
    let (header, rest) = lines.split_once('\n').unwrap();
    for bomb in bombs(DEEP) {
        assert!(matches!(Session::read_json_lines(bomb.as_bytes()), Err(LoadSessionError::Header { .. })));
        let log = format!("{header}\n{bomb}\n");
        assert!(matches!(
            Session::read_json_lines(log.as_bytes()),
            Err(LoadSessionError::Event { line: 2, .. })
        ));
    }
    let mut broken = header.as_bytes().to_vec();
    broken.extend(b"\n\xff\n");
    assert!(matches!(Session::read_json_lines(broken.as_slice()), Err(LoadSessionError::Io { line: 2, .. })));
    let first = rest.lines().next().unwrap();
    let doubled = format!("{header}\n{first}\n{first}\n");
    assert!(matches!(
        Session::read_json_lines(doubled.as_bytes()),
        Err(LoadSessionError::Sequence { line: 3, .. })
    ));
    let mut value: serde_json::Value = serde_json::from_str(header).unwrap();
    value["seed_length"] = json!(u64::MAX);
    let endless = format!("{value}\n{rest}");
    assert!(matches!(Session::read_json_lines(endless.as_bytes()), Err(LoadSessionError::Seed { .. })));
}

#[tokio::test]
async fn tool_arguments_made_to_hurt_are_told_to_the_model() {
    // A response has a limit of its own.
    let mut hostile = bombs(DEEP / 20);
    hostile.extend(
        ["{\"a\":1e400}", "[]", "null", "\"text\"", "{\"a\":1}}", "{\"a\":\"\\ud800\"}", "\u{0}", "{'a':1}"]
            .map(Into::into),
    );
    for arguments in hostile {
        let shown = arguments.chars().take(40).collect::<String>();
        let call = ModelEvent::ToolCall { id: "1".into(), name: "work".into(), arguments };
        let model = ScriptedModel::new()
            .reply(ScriptedReply::new().event(call))
            .reply(ScriptedReply::new().text("I see"));
        let work = tool_fn("work", "Works.", json!({}), |_, _| async { "it was called" });
        let mut agent =
            Agent::builder(Arc::new(model.clone())).tools(ToolSet::new().with(work).unwrap()).build();
        let outcome = agent.run_turn(vec!["work".into()], TurnOptions::new()).await;
        assert_eq!(outcome.stop_reason, StopReason::Completed, "{shown}");
        let requests = model.requests();
        let Some(Message::ToolResults { results, .. }) = requests[1].messages().last().cloned() else {
            panic!("{shown}: no result")
        };
        assert!(results[0].is_error, "{shown}");
        let told: String = results[0].content.iter().filter_map(ContentBlock::as_text).collect();
        assert!(told.contains("not a JSON object") && told.len() < 1_000, "{shown}: {told}");
        let mut lines = Vec::new();
        agent.session().write_json_lines(&mut lines).unwrap();
        assert!(Session::read_json_lines(lines.as_slice()).is_ok(), "{shown}: the log");
    }
}
