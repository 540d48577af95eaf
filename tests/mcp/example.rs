use std::path::PathBuf;
use std::process::Command;

/// An example's program. `cargo test` builds it with the tests; where one test alone was asked for, it is built here.
pub(crate) fn example(name: &str, features: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    if !path.exists() {
        let built = Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--package", "subagent", "--features", features, "--example", name])
            .status()
            .unwrap();
        assert!(built.success(), "the example {name} does not build");
    }
    path
}
