//! What the types alone do not stop is stopped when the program is built: a capability claimed for a provider that does
//! not declare it, and one under a name that a built-in capability could have.

#[test]
fn a_capability_that_is_claimed_and_not_declared_or_has_no_namespace_does_not_build() {
    let cases = trybuild::TestCases::new();
    // A passing case makes trybuild build, which is when the assertions are evaluated.
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
