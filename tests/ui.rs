//! What must not compile does not, in the words of the `.stderr` beside it; what must compile does.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test --test ui`, then read the diff.

use std::path::Path;

// With `acp` rustc has one more provider to hint at, in a line that changes nothing of what is said before it.
#[cfg(not(feature = "acp"))]
#[test]
fn misuse_does_not_compile() {
    assert_has_cases("ui-tests/fail");
    trybuild::TestCases::new().compile_fail("ui-tests/fail/*.rs");
}

// One passing case makes trybuild build instead of check, so the passing cases have a test of their own.
#[test]
fn proper_use_compiles() {
    assert_has_cases("ui-tests/pass");
    trybuild::TestCases::new().pass("ui-tests/pass/*.rs");
}

#[cfg(feature = "acp")]
#[test]
fn misuse_of_a_child_that_is_another_program_does_not_compile() {
    assert_has_cases("ui-tests/fail-acp");
    trybuild::TestCases::new().compile_fail("ui-tests/fail-acp/*.rs");
}

#[cfg(feature = "acp")]
#[test]
fn proper_use_of_a_child_that_is_another_program_compiles() {
    assert_has_cases("ui-tests/pass-acp");
    trybuild::TestCases::new().pass("ui-tests/pass-acp/*.rs");
}

#[cfg(feature = "acp-mcp")]
#[test]
fn proper_use_of_typed_answers_from_another_program_compiles() {
    assert_has_cases("ui-tests/pass-acp-mcp");
    trybuild::TestCases::new().pass("ui-tests/pass-acp-mcp/*.rs");
}

/// A folder without cases would pass in silence.
fn assert_has_cases(folder: &str) {
    let entries = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).read_dir();
    let has_cases = entries.is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"))
    });
    assert!(has_cases, "{folder} holds no case: nothing would be tested");
}
