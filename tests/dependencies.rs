//! The crate stays light: how many crates it brings, and none of them an HTTP or TLS stack.

use std::collections::BTreeSet;
use std::process::Command;

/// Crates that speak HTTP or TLS, by name; a name also stands for the crates that start with it and a hyphen.
const HTTP_OR_TLS: &[&str] = &[
    "actix-http",
    "attohttpc",
    "aws-lc",
    "aws-lc-rs",
    "boring",
    "curl",
    "h2",
    "h3",
    "hyper",
    "isahc",
    "mbedtls",
    "minreq",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "ring",
    "rustls",
    "s2n-tls",
    "schannel",
    "security-framework",
    "surf",
    "tokio-native-tls",
    "tokio-openssl",
    "tokio-rustls",
    "ureq",
    "webpki",
];

#[test]
fn without_default_features_at_most_40_crates_and_no_http_or_tls() {
    assert_light("without default features", &["--no-default-features"], 40);
}

#[test]
fn with_default_features_at_most_60_crates_and_no_http_or_tls() {
    assert_light("with default features", &[], 60);
}

#[test]
fn with_acp_at_most_90_crates_and_no_http_or_tls() {
    assert_light("with the feature acp", &["--features", "acp"], 90);
}

#[test]
fn with_acp_mcp_at_most_120_crates_an_http_server_and_no_tls() {
    let crates = assert_at_most("with the feature acp-mcp", &["--features", "acp-mcp"], 120);
    let allowed = ["hyper", "hyper-util"];
    let stack: Vec<_> =
        crates.iter().filter(|(name, _)| is_http_or_tls(name) && !allowed.contains(&name.as_str())).collect();
    assert!(stack.is_empty(), "an HTTP client or a TLS stack came in: {stack:?}");
}

#[test]
fn an_http_or_tls_crate_is_recognised_by_its_name() {
    for name in ["reqwest", "hyper", "hyper-util", "rustls", "rustls-pki-types", "aws-lc-sys", "ring"] {
        assert!(is_http_or_tls(name), "{name} was not recognised");
    }
    for name in ["h", "http", "ringbuffer", "tokio", "url"] {
        assert!(!is_http_or_tls(name), "{name} was taken for a part of an HTTP or TLS stack");
    }
}

fn assert_light(what: &str, features: &[&str], at_most: usize) {
    let crates = assert_at_most(what, features, at_most);
    let stack: Vec<_> = crates.iter().filter(|(name, _)| is_http_or_tls(name)).collect();
    assert!(stack.is_empty(), "{what}: an HTTP or TLS stack came in: {stack:?}");
}

fn assert_at_most(what: &str, features: &[&str], at_most: usize) -> BTreeSet<(String, String)> {
    let crates = distinct_crates(features);
    print(&format!("{what}: {} crates of at most {at_most}", crates.len()));
    assert!(
        crates.len() <= at_most,
        "{what}: {} crates, at most {at_most} are allowed:\n{}",
        crates.len(),
        crates.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join("\n"),
    );
    crates
}

#[expect(clippy::print_stdout, reason = "`.ci/run counts` shows the counts")]
fn print(line: &str) {
    println!("{line}");
}

/// Name and version of everything in the normal tree, this crate included; two versions of one crate count twice.
fn distinct_crates(features: &[&str]) -> BTreeSet<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--offline", "--package", "subagent", "--edges", "normal", "--prefix", "none"])
        .args(features)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let crates: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect();
    for name in ["subagent", "tokio"] {
        assert!(crates.iter().any(|(found, _)| found == name), "this is not the crate's tree:\n{tree}");
    }
    crates
}

fn is_http_or_tls(name: &str) -> bool {
    HTTP_OR_TLS
        .iter()
        .any(|stack| name.strip_prefix(stack).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}
