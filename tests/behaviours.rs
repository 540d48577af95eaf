//! `behaviours.toml` can be relied on: it is well-formed, and the tests that it names exist.
//!
//! That each of them ran and passed is checked by `.ci/run behaviours`, from the output of the test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    required: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    entries: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    holds: String,
    test: Option<Tests>,
    none: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tests {
    One(String),
    Several(Vec<String>),
}

impl Entry {
    /// The tests that are named; an empty name is a promise that still waits for its test.
    fn tests(&self) -> Vec<&str> {
        let names = match &self.test {
            None => Vec::new(),
            Some(Tests::One(name)) => vec![name.as_str()],
            Some(Tests::Several(names)) => names.iter().map(String::as_str).collect(),
        };
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }
}

// An id that stands twice is an error of the format: this test would not get past the parser.
#[test]
fn every_entry_says_what_it_holds_and_by_which_test_or_why_by_none() {
    let table = read();
    for (id, entry) in &table.entries {
        assert!(!entry.holds.trim().is_empty(), "{id}: `holds` is empty");
        assert!(entry.test.is_some() != entry.none.is_some(), "{id}: either `test` or `none`");
        assert!(entry.none.as_ref().is_none_or(|why| !why.trim().is_empty()), "{id}: `none` says no reason");
    }
}

#[test]
fn every_required_id_has_an_entry() {
    let table = read();
    let missing: Vec<_> =
        table.required.values().flatten().filter(|id| !table.entries.contains_key(*id)).collect();
    assert!(missing.is_empty(), "required but without an entry: {missing:?}");
    assert!(table.required.values().flatten().next().is_some(), "nothing is required");
}

#[test]
fn every_named_test_exists() {
    let table = read();
    let mut missing = Vec::new();
    for (id, entry) in &table.entries {
        for test in entry.tests() {
            if !exists(test) {
                missing.push(format!("{id}: {test}"));
            }
        }
    }
    assert!(missing.is_empty(), "no function of that name where the test should be:\n{}", missing.join("\n"));
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    assert!(exists("behaviours::a_test_that_does_not_exist_is_noticed"));
    assert!(!exists("behaviours::a_test_that_does_not"));
    assert!(!exists("behaviours"));
    assert!(!exists("no_such_binary::a_test_that_does_not_exist_is_noticed"));
    assert!(!exists("lib::a_test_that_does_not_exist_is_noticed"));
}

// The output of `cargo test` names a binary by its file alone.
#[test]
fn every_test_binary_has_a_name_of_its_own() {
    let mut seen = BTreeSet::from(["lib".to_owned(), "subagent".to_owned(), "acme_agents".to_owned()]);
    for folder in ["tests", "tests/third-party/tests"] {
        for name in binaries(&root().join(folder)) {
            assert!(seen.insert(name.clone()), "two test binaries are called {name}");
        }
    }
}

fn read() -> Table {
    let text = fs::read_to_string(root().join("tests/behaviours.toml")).expect("behaviours.toml can be read");
    toml::from_str(&text).map_err(|error| error.to_string()).expect("behaviours.toml is well-formed")
}

/// Whether the file that `binary::modules::name` points at has a function of that name.
fn exists(test: &str) -> bool {
    let mut segments: Vec<_> = test.split("::").collect();
    let Some(name) = segments.pop() else { return false };
    if segments.is_empty() {
        return false;
    }
    let (binary, modules) = (segments[0], &segments[1..]);
    let files = source_files(binary, modules);
    has_function(&files, name) || (!files.is_empty() && has_function(&conformance_files(), name))
}

fn has_function(files: &[PathBuf], name: &str) -> bool {
    files.iter().any(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        [format!("fn {name}("), format!("fn {name}<")].iter().any(|head| text.contains(head))
    })
}

/// Where the tests of these modules of a binary can stand: in the binary's root, or in a module's own file.
fn source_files(binary: &str, modules: &[&str]) -> Vec<PathBuf> {
    let (tests, third_party) = (root().join("tests"), root().join("tests/third-party"));
    let in_tests = |folder: &Path| {
        vec![
            (folder.join(format!("{binary}.rs")), folder.to_owned()),
            (folder.join(binary).join("main.rs"), folder.join(binary)),
        ]
    };
    let roots = match binary {
        "lib" => vec![(root().join("src/lib.rs"), root().join("src"))],
        "acme_agents" => vec![(third_party.join("src/lib.rs"), third_party.join("src"))],
        _ => [in_tests(&tests), in_tests(&third_party.join("tests"))].concat(),
    };
    let mut files = Vec::new();
    for (main, folder) in roots {
        if !main.is_file() {
            continue;
        }
        files.push(main);
        for depth in 1..=modules.len() {
            let module = folder.join(modules[..depth].join("/"));
            files.push(module.with_extension("rs"));
            files.push(module.join("mod.rs"));
        }
    }
    files.retain(|file| file.is_file());
    files
}

/// The conformance suite's tests are written by its macro: their functions stand there, not where they run.
fn conformance_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("src/testing")];
    while let Some(folder) = folders.pop() {
        for path in folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains("conformance") {
                files.push(path);
            }
        }
    }
    files
}

/// The names of the test binaries that stand in a folder, as `cargo` finds them.
fn binaries(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|path| path.extension().is_some_and(|found| found == "rs") || path.join("main.rs").is_file())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
