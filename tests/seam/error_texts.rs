use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use subagent::agent::{AppendError, LoadSessionError, ModelError, ToolSetError};
use subagent::delegation::{DetachError, MissingControl};
use subagent::{
    BoxError, CancelCause, Capabilities, ChildSetupError, ContentKind, ContentKinds, DisposeError,
    MismatchedCapabilities, NoProvider, RegisterError, ResumeError, RunFault, RunId, StartError, SteerError,
    StopReason, StructuredError, UnusableFilter,
};

use crate::support::chain;

/// What only a cause says.
const CAUSE: &str = "disk 7 is on fire";

struct Case {
    error: BoxError,
    code: &'static str,
    /// Whether there is a cause below it that says [`CAUSE`].
    has_cause: bool,
}

fn case<E: Error + Send + Sync + 'static>(error: E, code: fn(&E) -> &'static str, has_cause: bool) -> Case {
    let code = code(&error);
    Case { error: error.into(), code, has_cause }
}

fn id() -> RunId {
    RunId::from_bytes([7; 16])
}

fn json_error() -> serde_json::Error {
    serde::de::Error::custom(CAUSE)
}

fn start_errors() -> Vec<Case> {
    let provider = || "spawn".into();
    let of = |error: StartError, has_cause| case(error, StartError::code, has_cause);
    vec![
        of(
            StartError::NoProvider(NoProvider::Unknown {
                name: "spawm".into(),
                dropped: true,
                known: vec![],
            }),
            false,
        ),
        of(StartError::Unregistered { provider: provider(), run_id: None }, false),
        of(StartError::ShutDown, false),
        of(StartError::NoRuntime, false),
        of(StartError::NoTimer, false),
        of(
            StartError::UnsupportedCapability {
                provider: provider(),
                capability: "persona".into(),
                supported: Capabilities::NONE,
            },
            false,
        ),
        of(StartError::InheritedRestriction { provider: provider(), capability: "tool-filter" }, false),
        of(
            StartError::InvalidValue { capability: "depth-limit".into(), run_id: None, source: CAUSE.into() },
            true,
        ),
        of(StartError::AskedTwice { capability: "persona" }, false),
        of(StartError::EmptyPrompt, false),
        of(StartError::unsupported_content(ContentKind::Image, 0, ContentKinds::TEXT), false),
        of(StartError::DepthExceeded { depth: 2, max_depth: 1 }, false),
        of(StartError::DepthOverflow { parent_depth: u32::MAX }, false),
        of(StartError::DuplicateRun { run_id: id() }, false),
        of(StartError::Cancelled { run_id: id(), cause: CancelCause::Token }, false),
        of(StartError::failed(CAUSE), true),
        of(StartError::Panicked { provider: provider(), run_id: id(), message: "oh".into() }, false),
        of(StartError::Ignored { provider: provider(), run_id: id(), capability: "persona".into() }, false),
    ]
}

fn errors_of_runs() -> Vec<Case> {
    let (kind, index, carried) = (ContentKind::Audio, 0, ContentKinds::TEXT);
    let steer = |error: SteerError, has_cause| case(error, SteerError::code, has_cause);
    let resume = |error: ResumeError, has_cause| case(error, ResumeError::code, has_cause);
    let structured = |error: StructuredError, has_cause| case(error, StructuredError::code, has_cause);
    vec![
        steer(SteerError::Settled, false),
        steer(SteerError::EmptyMessage, false),
        steer(SteerError::UnsupportedContent { kind, index, carried }, false),
        steer(SteerError::failed(CAUSE), true),
        steer(SteerError::Panicked { message: "oh".into() }, false),
        resume(ResumeError::ShutDown, false),
        resume(ResumeError::NoRuntime, false),
        resume(ResumeError::NoTimer, false),
        resume(ResumeError::EmptyMessage, false),
        resume(ResumeError::UnsupportedContent { kind, index, carried }, false),
        resume(ResumeError::DuplicateRun { run_id: id() }, false),
        resume(
            ResumeError::Cancelled { run_id: id(), cause: CancelCause::Requested("no need".into()) },
            false,
        ),
        resume(ResumeError::failed(CAUSE), true),
        resume(ResumeError::Panicked { message: "oh".into() }, false),
        case(DisposeError::failed(CAUSE), DisposeError::code, true),
        case(DisposeError::Panicked { message: "oh".into() }, DisposeError::code, false),
        case(RunFault::SettlementLost { run_id: id() }, RunFault::code, false),
        case(RunFault::MissingValue { run_id: id() }, RunFault::code, false),
        case(RunFault::WrongValue { run_id: id(), reason: "a: no".into() }, RunFault::code, false),
        structured(StructuredError::NotRequested, false),
        structured(
            StructuredError::Incomplete { stop_reason: StopReason::Refusal, diagnostic: Some("why".into()) },
            false,
        ),
        structured(StructuredError::Mismatch { reason: "a: no".into() }, false),
        structured(StructuredError::Fault(RunFault::WrongValue { run_id: id(), reason: CAUSE.into() }), true),
    ]
}

fn errors_of_set_up() -> Vec<Case> {
    let detach = DetachError::code;
    let missing = MissingControl::code;
    let unknown = NoProvider::Unknown { name: CAUSE.into(), dropped: false, known: vec![] };
    let mismatched =
        |error: MismatchedCapabilities, has_cause| case(error, MismatchedCapabilities::code, has_cause);
    vec![
        case(RegisterError::DuplicateProvider { name: "spawn".into() }, RegisterError::code, false),
        case(RegisterError::InvalidName { name: "".into() }, RegisterError::code, false),
        case(RegisterError::ShutDown, RegisterError::code, false),
        case(DetachError::UnknownChild { id: id(), known: vec![] }, detach, false),
        case(DetachError::OwnerClosed { id: id() }, detach, false),
        case(MissingControl::NoProvider { control: "send_message", source: unknown }, missing, true),
        case(
            MissingControl::Unsupported {
                control: "send_message",
                provider: "acp".into(),
                capability: "Steerable",
            },
            missing,
            false,
        ),
        case(
            NoProvider::Unknown { name: "spwan".into(), dropped: false, known: vec![] },
            NoProvider::code,
            false,
        ),
        case(
            NoProvider::OtherType { name: "spawn".into(), wanted: "Fork", found: "Spawn" },
            NoProvider::code,
            false,
        ),
        mismatched(MismatchedCapabilities::NotAsked { capability: "persona" }, false),
        mismatched(MismatchedCapabilities::LeftOut { capability: "persona".into() }, false),
        mismatched(MismatchedCapabilities::OtherType { capability: "persona" }, false),
        mismatched(MismatchedCapabilities::Malformed { capability: "persona", source: json_error() }, true),
        case(
            UnusableFilter::UnknownTools { unknown: vec!["raed".into()], known: vec!["read".into()] },
            UnusableFilter::code,
            false,
        ),
        case(UnusableFilter::NothingAllowed { known: vec!["read".into()] }, UnusableFilter::code, false),
        case(ChildSetupError::NoModel, ChildSetupError::code, false),
        case(ChildSetupError::NoLog, ChildSetupError::code, false),
        case(ChildSetupError::UncheckedSchema, ChildSetupError::code, false),
        case(ChildSetupError::UnknownModel { name: "m".into(), known: vec![] }, ChildSetupError::code, false),
    ]
}

fn errors_of_the_agent() -> Vec<Case> {
    let append = |error: AppendError| case(error, AppendError::code, false);
    let load = |error: LoadSessionError, has_cause| case(error, LoadSessionError::code, has_cause);
    let tool = |error: ToolSetError| case(error, ToolSetError::code, false);
    let model = |error: ModelError| case(error, ModelError::code, false);
    vec![
        append(AppendError::TurnOpen),
        append(AppendError::NoTurn { event: "step_start" }),
        append(AppendError::StepOpen { event: "turn_end" }),
        append(AppendError::NoStep { event: "assistant" }),
        append(AppendError::Unanswered { call: "1".into(), event: "step_end" }),
        append(AppendError::CallId { call: "1".into() }),
        append(AppendError::UnknownCall { call: "1".into() }),
        load(LoadSessionError::Io { line: 1, source: std::io::Error::other(CAUSE) }, true),
        load(LoadSessionError::Empty, false),
        load(LoadSessionError::Header { source: json_error() }, true),
        load(LoadSessionError::Version { version: 2 }, false),
        load(LoadSessionError::Event { line: 2, source: json_error() }, true),
        load(LoadSessionError::Sequence { line: 2, expected: 1, found: 2 }, false),
        load(LoadSessionError::Order { line: 2, source: AppendError::CallId { call: CAUSE.into() } }, true),
        load(LoadSessionError::Seed { seed_length: 7 }, false),
        tool(ToolSetError::NoName),
        tool(ToolSetError::DuplicateTool { name: "read".into() }),
        tool(ToolSetError::Schema { name: "read".into() }),
        model(ModelError::rate_limited(None)),
        model(ModelError::Authentication { source: None }),
        model(ModelError::bad_request("too long")),
        model(ModelError::Server { status: Some(500), source: None }),
        model(ModelError::Network { source: None }),
        model(ModelError::CutStream { source: None }),
        model(ModelError::refused("no")),
        model(ModelError::other("no")),
    ]
}

fn all() -> Vec<Case> {
    [start_errors(), errors_of_runs(), errors_of_set_up(), errors_of_the_agent()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn each_level_of_an_error_is_printed_once_and_the_cause_is_in_source() {
    for Case { error, code, has_cause } in all() {
        let levels = chain(&*error);
        let with_cause = levels.iter().filter(|level| level.contains(CAUSE)).count();
        assert_eq!(with_cause, usize::from(has_cause), "{code}: {levels:#?}");
        assert!(!levels[0].contains(CAUSE), "{code} repeats its cause: {levels:#?}");
        assert_eq!(levels.len(), 1 + usize::from(has_cause), "{code}: {levels:#?}");
    }
}

#[test]
fn each_text_is_a_plain_sentence() {
    for Case { error, code, .. } in all() {
        let text = error.to_string();
        assert!(!text.is_empty() && text == text.trim(), "{code}: {text:?}");
        assert!(!text.contains(['\n', '\r']) && !text.ends_with('.'), "{code}: {text:?}");
        assert!(!text.contains('{') && !text.contains("Some("), "no debug output: {code}: {text:?}");
        let first = text.chars().next().unwrap();
        assert!(!first.is_uppercase(), "{code}: {text:?}");
    }
}

#[test]
fn each_code_is_a_word_for_machines_and_none_is_untested() {
    let codes: BTreeSet<_> = all().into_iter().map(|case| case.code).collect();
    for code in &codes {
        assert!(code.chars().all(|c| c.is_ascii_uppercase() || c == '_'), "{code}");
    }
    // Every error of these files, so that a new one is not forgotten here.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<_> =
        fs::read_dir(source.join("error")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend(
        [
            "request/json.rs",
            "capability/tool_filter.rs",
            "in_process/error.rs",
            "agent/session/error.rs",
            "agent/tool/set.rs",
            "agent/model/error.rs",
            "delegation/control.rs",
            "delegation/delegations.rs",
        ]
        .map(|p| source.join(p)),
    );
    let mut written = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some((_, code)) = line.split_once("=> \"") else { continue };
            if let Some((code, "")) = code.split_once("\",") {
                written.insert(code.to_owned());
            }
        }
    }
    assert!(written.len() > 30, "{written:?}");
    let tested: BTreeSet<_> = codes.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(written.difference(&tested).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_kind_of_failure_has_one_code_whatever_the_operation() {
    for text in ["are shut down", "is live already", "cannot carry", "no provider is named"] {
        let of_this_kind: Vec<_> = all()
            .into_iter()
            .filter(|case| case.error.to_string().contains(text))
            .map(|case| case.code)
            .collect();
        assert!(of_this_kind.len() > 1, "{text}");
        assert_eq!(of_this_kind.iter().collect::<BTreeSet<_>>().len(), 1, "{of_this_kind:?}");
    }
}
