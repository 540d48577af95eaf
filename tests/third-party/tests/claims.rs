//! What the orphan rule lets a crate write about another crate's provider is stopped when its program is built.

#[test]
fn a_capability_that_is_claimed_but_not_declared_does_not_build() {
    let cases = trybuild::TestCases::new();
    // A passing case makes trybuild build, which is when the assertion in `start` is evaluated.
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
