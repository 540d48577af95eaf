use std::collections::BTreeSet;
use std::error::Error;

use super::*;

const CAUSE: &str = "disk 7 is on fire";

fn cause() -> io::Error {
    io::Error::other(CAUSE)
}

fn answer() -> AcpAgentError {
    AcpAgentError { code: -32603, message: "internal error".into() }
}

/// What it wrote, in all places.
fn wrote() -> AcpDiagnostics {
    AcpDiagnostics {
        ended: Some("it exited with status 1".into()),
        stderr: vec!["no key".into(), "bye".into()],
        noise: vec!["hello".into()],
        noise_lines: 3,
    }
}

fn start_errors() -> Vec<AcpStartError> {
    let command = || "agent".to_owned();
    let (stage, diagnostics) = (AcpStage::Initialize, Box::new(wrote()));
    vec![
        AcpStartError::NoWorkingDirectory { command: command() },
        AcpStartError::WorkingDirectory {
            directory: "/nowhere".into(),
            reason: "it has to be a directory",
            source: Some(cause()),
        },
        AcpStartError::PassedVariableNotSet { name: "KEY".into() },
        AcpStartError::Spawn { command: command(), source: cause() },
        AcpStartError::Gone { command: command(), stage, diagnostics: diagnostics.clone() },
        AcpStartError::Deadline {
            command: command(),
            stage,
            limit: Duration::from_mins(1),
            diagnostics: diagnostics.clone(),
        },
        AcpStartError::ProtocolVersion { command: command(), version: "2".into() },
        AcpStartError::LoginRequired { command: command(), methods: vec![], withheld: vec!["KEY".into()] },
        AcpStartError::Refused { command: command(), stage, answer: answer(), diagnostics },
        AcpStartError::Malformed { command: command(), stage, problem: "it has no session id".into() },
        AcpStartError::NotOffered { command: command(), ability: "to be steered" },
        AcpStartError::NoMcpTransport { command: command() },
        AcpStartError::McpEndpoint { source: cause() },
        AcpStartError::UnknownChoice {
            command: command(),
            category: "model".into(),
            value: "lrage".into(),
            known: vec!["large".into()],
        },
    ]
}

/// Every error, with its code.
fn all() -> Vec<(Box<dyn Error>, &'static str)> {
    let command = || "agent".to_owned();
    let mut all: Vec<(Box<dyn Error>, _)> = Vec::new();
    for error in start_errors() {
        let code = error.code();
        all.push((Box::new(error), code));
    }
    for error in [
        AcpBuildError::NoCommand,
        AcpBuildError::RelativeDirectory { directory: "work".into() },
        AcpBuildError::InvalidVariable { name: "A=B".into() },
        AcpBuildError::TimeOutOfRange {
            what: "the start limit",
            given: Duration::from_secs(100_000),
            longest: Duration::from_hours(24),
        },
    ] {
        let code = error.code();
        all.push((Box::new(error), code));
    }
    for error in [
        AcpSteerError::Refused { command: command(), answer: answer() },
        AcpSteerError::NotInjected { command: command(), outcome: "queued".into() },
        AcpSteerError::Unanswered { command: command() },
    ] {
        let code = error.code();
        all.push((Box::new(error), code));
    }
    let error = AcpDisposeError::Survivors { command: command(), processes: vec![7] };
    let code = error.code();
    all.push((Box::new(error), code));
    all
}

#[test]
fn each_text_is_a_plain_sentence_and_leaves_its_cause_to_the_source() {
    for (error, code) in all() {
        let text = error.to_string();
        assert!(text.starts_with(char::is_lowercase) && text == text.trim(), "{code}: {text:?}");
        assert!(!text.contains(['\n', '\r', '{']) && !text.ends_with('.'), "{code}: {text:?}");
        assert!(!text.contains("Some(") && !text.contains(CAUSE), "{code}: {text:?}");
        let cause = error.source().map(ToString::to_string);
        assert!(cause.is_none_or(|cause| cause == CAUSE), "{code}");
    }
}

#[test]
fn what_is_known_of_an_agent_stands_apart_from_what_went_wrong() {
    let refused = |diagnostics| {
        let (command, stage) = ("agent".to_owned(), AcpStage::NewSession);
        AcpStartError::Refused { command, stage, answer: answer(), diagnostics }.to_string()
    };
    let plain = "the ACP agent `agent` refused the opening of a session: internal error (-32603)";
    assert_eq!(refused(Box::default()), plain);
    let known = "it exited with status 1; its last lines on stderr: no key | bye; \
                 3 of its lines on stdout are not JSON-RPC: hello";
    assert_eq!(refused(Box::new(wrote())), format!("{plain}; {known}"));
    let mut quiet = wrote();
    quiet.ended = None;
    assert!(refused(Box::new(quiet)).starts_with(&format!("{plain}; its last lines on stderr: no key")));
}

#[test]
fn a_failed_handshake_says_what_to_look_at_first() {
    let hint = "does this command speak ACP, or does it need an argument for that?";
    let told: Vec<_> = start_errors()
        .iter()
        .filter(|error| error.to_string().ends_with(hint))
        .map(AcpStartError::code)
        .collect();
    assert_eq!(told, ["GONE", "DEADLINE", "REFUSED"]);
}

#[test]
fn each_code_is_a_word_for_machines_and_none_is_untested() {
    let tested: BTreeSet<_> = all().into_iter().map(|(_, code)| code).collect();
    for code in &tested {
        assert!(code.chars().all(|char| char.is_ascii_uppercase() || char == '_'), "{code}");
    }
    let written: BTreeSet<_> = include_str!("../error.rs")
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","))
        .filter(|code| code.starts_with(char::is_uppercase))
        .collect();
    assert!(written.len() > 15, "{written:?}");
    assert_eq!(written, tested);
}
