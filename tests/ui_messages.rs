//! What a user reads who misuses the API: each case in `ui-tests/fail` and `ui-tests/fail-acp` says in its first lines
//! what the compiler must say.
//!
//! ```text
//! //! Steering a run whose provider cannot be steered.
//! //! expect: E0277
//! //! headline: `OneShotRun`
//! //! note: only a run that says `steerable!()`
//! ```
//!
//! `expect` is the error's code, or the lint's name, or, where rustc gives neither, words of the headline.
//! `headline` and `note` may repeat; a note is looked for in the compiler's notes and helps, not in its labels.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the cases stand; those of a feature have a folder of their own.
const FOLDERS: &[&str] = &["fail", "fail-acp"];

/// Modules of the crate that a message may name; every other lower-case segment is an internal path.
const PUBLIC_MODULES: &[&str] = &[
    "acp",
    "agent",
    "capability",
    "content",
    "error",
    "event",
    "id",
    "provider",
    "registry",
    "request",
    "result",
    "run",
    "testing",
    "wrap",
];

/// Words that only somebody who reads the macros' source understands.
const MACRO_INTERNALS: &[&str] =
    &["$crate", "in this macro invocation", "in the expansion of", "__", "{Self}"];

#[test]
fn every_message_says_what_its_case_expects() {
    let cases = stems("rs");
    assert!(!cases.is_empty(), "the folders hold no case: nothing would be read");
    let complaints: Vec<_> = cases
        .iter()
        .filter_map(|name| {
            let found = complaints(&read(name, "rs"), &read(name, "stderr"));
            (!found.is_empty()).then(|| format!("{name}.rs:\n  {}", found.join("\n  ")))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_case_has_its_message_and_every_message_its_case() {
    let (cases, messages) = (stems("rs"), stems("stderr"));
    assert!(!cases.is_empty(), "the folders hold no case: nothing would be read");
    let alone: Vec<_> = cases.symmetric_difference(&messages).collect();
    assert!(alone.is_empty(), "`.rs` without `.stderr`, or the reverse: {alone:?}");
}

#[test]
fn the_compilers_suggestion_for_a_forgotten_bound_compiles() {
    let message = read("fail/generic_without_bound", "stderr");
    let (_, help) = message
        .split_once("help: consider further restricting type parameter `P`")
        .expect("the compiler suggests a bound");
    let (number, suggested) = help
        .lines()
        .find_map(|line| line.split_once(" | "))
        .map(|(number, line)| (number.trim().parse::<usize>().expect("a line number"), line))
        .expect("the suggestion quotes a line");
    let case = read("fail/generic_without_bound", "rs");
    let corrected: Vec<_> =
        case.lines().enumerate().map(|(at, line)| if at + 1 == number { suggested } else { line }).collect();
    let passing = fs::read_to_string(root().join("pass/generic_function.rs")).expect("it can be read");
    let code = |line: &&str| !line.starts_with("//!");
    let (corrected, passing): (Vec<_>, Vec<_>) =
        (corrected.into_iter().filter(code).collect(), passing.lines().filter(code).collect());
    assert_eq!(passing, corrected, "`pass/generic_function.rs` is not the suggestion, word for word");
}

#[test]
fn the_readme_quotes_the_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md can be read");
    let (_, after) = readme
        .split_once("<!-- the compiler's words: ui-tests/fail/readme.stderr -->")
        .expect("README.md says where it quotes the compiler");
    let quoted = after.split("```").nth(1).and_then(|block| block.strip_prefix("text\n")).unwrap_or_default();
    assert!(!quoted.is_empty(), "README.md quotes nothing of the compiler's");
    let message = read("fail/readme", "stderr");
    // The README shows the head of the message, up to its notes for experts.
    assert!(message.starts_with(quoted), "README.md quotes:\n{quoted}\nthe compiler says:\n{message}");
    assert!(quoted.contains("= note: "), "README.md leaves out the way out:\n{quoted}");
}

const CASE: &str = "\
//! Steering a run that cannot be steered.
//! expect: E0277
//! headline: `OneShotRun` cannot be steered
//! note: start it with a provider whose run is steerable

fn main() {}
";

const MESSAGE: &str = "\
error[E0277]: run `OneShotRun` cannot be steered
 --> ui-tests/fail/steer.rs
  |
7 |     run.send_message(text);
  |         ^^^^^^^^^^^^ this run takes no messages
  |
  = help: the trait `Steerable` is not implemented for `OneShotRun`
  = note: start it with a provider whose run
          is steerable
note: required by a bound in `Live::<R, O>::send_message`
 --> src/run/live.rs
  |
  |     R: Steerable,
  |        ^^^^^^^^^ required by this bound
";

#[test]
fn a_message_as_expected_passes() {
    assert_eq!(complaints(CASE, MESSAGE), Vec::<String>::new());
}

#[test]
fn a_message_that_falls_short_is_told() {
    let told = |case: &str, message: &str, what: &str| {
        let complaints = complaints(case, message);
        assert!(complaints.iter().any(|complaint| complaint.contains(what)), "{what}: {complaints:?}");
    };
    told(CASE, &MESSAGE.replace("E0277", "E0599"), "the code E0277");
    told(CASE, &MESSAGE.replace("cannot be steered", "is not steered"), "headline");
    told(CASE, &MESSAGE.replace("whose run\n", "whose child\n"), "note");
    told(CASE, &format!("{MESSAGE}\n{MESSAGE}"), "2 errors");
    told(CASE, &format!("{MESSAGE}\nwarning: unused variable: `x`\n"), "warning");
    told(CASE, &MESSAGE.replace("run `OneShotRun`", "`subagent::run::cell::OneShotRun`"), "private path");
    told(CASE, &MESSAGE.replace("cannot be steered", "cannot be steered by `$crate::Steer`"), "$crate");
    told(&CASE.replace("//! expect: E0277\n", ""), MESSAGE, "`//! expect:`");
    told(&CASE.replace("//! headline: `OneShotRun` cannot be steered\n", ""), MESSAGE, "`//! headline:`");
    told(
        &CASE.replace("//! note: start it with a provider whose run is steerable\n", ""),
        MESSAGE,
        "`//! note:`",
    );
    told(&CASE.replace("//! note: ", "//! label: "), MESSAGE, "label");
    told(
        &CASE.replace("//! note: start it with a provider whose run is", "//! note: takes no"),
        MESSAGE,
        "note",
    );
    told(CASE.split_once('\n').map_or("", |(_, rest)| rest), MESSAGE, "the mistake in a sentence");
}

#[test]
fn a_lint_or_a_headline_stands_where_rustc_gives_no_code() {
    let lint = "error: unused `Live` that must be used\n  |\nnote: the lint level is defined here\n  |\n1 | #![deny(unused_must_use)]\n";
    let case =
        CASE.replace("E0277", "unused_must_use").replace("`OneShotRun` cannot be steered", "unused `Live`");
    let case = case.replace("start it with a provider whose run is steerable", "the lint level");
    assert_eq!(complaints(&case, lint), Vec::<String>::new());
    assert!(!complaints(&case, &lint.replace("unused_must_use", "unused")).is_empty());
    assert!(!complaints(&case, &lint.replace("error:", "error[E0001]:")).is_empty());

    let headline = case.replace("unused_must_use", "unused `Live` that must");
    assert_eq!(complaints(&headline, lint), Vec::<String>::new());
    assert!(
        !complaints(&headline, &lint.replace("unused `Live` that must", "unused `Live` which must"))
            .is_empty()
    );
}

/// What a case's first lines demand.
#[derive(Default)]
struct Demands {
    mistake: String,
    expect: String,
    headlines: Vec<String>,
    notes: Vec<String>,
}

impl Demands {
    fn read(source: &str) -> Result<Self, String> {
        let mut demands = Self::default();
        let header = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        for (number, line) in header.enumerate() {
            match line.split_once(": ") {
                _ if number == 0 => line.clone_into(&mut demands.mistake),
                Some(("expect", text)) => text.trim().clone_into(&mut demands.expect),
                Some(("headline", text)) => demands.headlines.push(text.trim().to_owned()),
                Some(("note", text)) => demands.notes.push(text.trim().to_owned()),
                _ => return Err(format!("`//! {line}` is none of `expect: `, `headline: ` and `note: `")),
            }
        }
        if demands.mistake.is_empty() || demands.mistake.starts_with("expect:") {
            return Err("the first line must be `//! ` and the mistake in a sentence".to_owned());
        }
        if demands.expect.is_empty() {
            return Err("`//! expect:` is missing".to_owned());
        }
        if demands.headlines.is_empty() {
            return Err("`//! headline:` is missing".to_owned());
        }
        if demands.notes.is_empty() && demands.expect == "E0277" {
            return Err("`//! note:` is missing: an error that is ours to word gives the way out".to_owned());
        }
        Ok(demands)
    }
}

/// One error or warning of the compiler: its headline (without `error: `) and code, its notes, all of its text.
struct Diagnostic<'a> {
    is_error: bool,
    code: Option<&'a str>,
    headline: &'a str,
    notes: Vec<String>,
    text: String,
}

fn complaints(source: &str, stderr: &str) -> Vec<String> {
    let demands = match Demands::read(source) {
        Ok(demands) => demands,
        Err(complaint) => return vec![complaint],
    };
    let diagnostics = diagnostics(stderr);
    let mut complaints = Vec::new();
    let warnings = diagnostics.iter().filter(|diagnostic| !diagnostic.is_error).count();
    if warnings > 0 {
        complaints.push(format!("{warnings} warning(s): a case holds nothing but its mistake"));
    }
    let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.is_error).collect();
    let [error] = errors[..] else {
        complaints.push(format!("{} errors, one mistake is one error", errors.len()));
        return complaints;
    };
    complaints.extend(unexpected_kind(&demands.expect, error));
    for part in &demands.headlines {
        if !error.headline.contains(part.as_str()) {
            complaints.push(format!("the headline lacks `{part}`: {}", error.headline));
        }
    }
    for part in &demands.notes {
        let part = one_line(part);
        if !error.notes.iter().any(|note| note.contains(&part)) {
            complaints.push(format!("no note or help has `{part}`: {:#?}", error.notes));
        }
    }
    for internal in MACRO_INTERNALS.iter().filter(|internal| error.headline.contains(**internal)) {
        complaints.push(format!("the headline shows macro internals, `{internal}`: {}", error.headline));
    }
    if let Some(path) = private_path(error.headline) {
        complaints.push(format!("the headline shows a private path, `{path}`: {}", error.headline));
    }
    complaints
}

fn unexpected_kind(expect: &str, error: &Diagnostic<'_>) -> Option<String> {
    let is_code = expect
        .strip_prefix('E')
        .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    if is_code {
        return (error.code != Some(expect))
            .then(|| format!("the code {expect} is expected, found {:?}: {}", error.code, error.headline));
    }
    if let Some(code) = error.code {
        return Some(format!("`expect: {code}` is due, the error has that code: {}", error.headline));
    }
    let is_lint = expect.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b':'));
    if is_lint {
        let named = ["deny", "forbid"].iter().any(|level| error.text.contains(&format!("{level}({expect})")));
        return (!named).then(|| format!("the lint {expect} is expected: {}", error.headline));
    }
    (!error.headline.contains(expect)).then(|| format!("`{expect}` is expected: {}", error.headline))
}

fn diagnostics(stderr: &str) -> Vec<Diagnostic<'_>> {
    let mut found: Vec<Diagnostic<'_>> = Vec::new();
    for line in stderr.lines() {
        if let Some((is_error, code, headline)) = headline(line) {
            found.push(Diagnostic { is_error, code, headline, notes: Vec::new(), text: String::new() });
        }
        let Some(current) = found.last_mut() else { continue };
        current.text.push_str(line);
        current.text.push('\n');
        let content = line.trim_start();
        let content = content.strip_prefix("= ").unwrap_or(content);
        if content.starts_with("note: ") || content.starts_with("help: ") {
            current.notes.push(one_line(content));
        } else if let Some(note) = current.notes.last_mut().filter(|_| continues_a_note(line)) {
            note.push(' ');
            note.push_str(&one_line(content));
        }
    }
    found
}

/// `error[E0277]: text`, `error: text` or `warning: text`, at the start of a line.
fn headline(line: &str) -> Option<(bool, Option<&str>, &str)> {
    let (kind, text) = line.split_once(": ")?;
    let (kind, code) = match kind.split_once('[') {
        Some((kind, code)) => (kind, code.strip_suffix(']')),
        None => (kind, None),
    };
    matches!(kind, "error" | "warning").then_some((kind == "error", code, text))
}

/// The compiler breaks a long note over lines that are indented and belong to no source excerpt.
fn continues_a_note(line: &str) -> bool {
    let content = line.trim_start();
    let excerpt = ["|", "-->", ":::", "="].iter().any(|mark| content.starts_with(mark))
        || content
            .split_once(" |")
            .is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    line.starts_with("    ") && !content.is_empty() && !excerpt
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `subagent::module::…` in a headline that goes through a module that is not public.
fn private_path(headline: &str) -> Option<&str> {
    headline.match_indices("subagent::").find_map(|(start, crate_name)| {
        let mut end = start + crate_name.len();
        let mut depth = 0;
        while let Some((segment, _)) = headline[end..].split_once("::") {
            let is_module = segment.starts_with(|first: char| first.is_ascii_lowercase())
                && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_module {
                return None;
            }
            end += segment.len();
            if depth > 0 || !PUBLIC_MODULES.contains(&segment) {
                return Some(&headline[start..end]);
            }
            end += "::".len();
            depth += 1;
        }
        None
    })
}

/// The files with this extension, as `folder/name`, without it.
fn stems(extension: &str) -> BTreeSet<String> {
    let mut stems = BTreeSet::new();
    for folder in FOLDERS {
        let entries = root().join(folder).read_dir().into_iter().flatten();
        let paths = entries.map(|entry| entry.expect("the folder can be read").path());
        let named = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
        stems.extend(named.filter_map(|path| Some(format!("{folder}/{}", path.file_stem()?.to_str()?))));
    }
    stems
}

fn read(name: &str, extension: &str) -> String {
    let path = root().join(format!("{name}.{extension}"));
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display())).expect("it can be read")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ui-tests")
}
