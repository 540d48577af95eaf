use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    pub(crate) files: u32,
    pub(crate) places: Vec<Place>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) line: Option<u32>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) enum Verdict {
    Clean,
    Broken { why: String },
}

/// The prompt that makes the scripted model do this, step by step.
pub(crate) fn script(steps: &Value) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut steps = steps.clone();
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    steps[0]["nonce"] = format!("{}-{number}", std::process::id()).into();
    let mut encoded = String::new();
    for bytes in steps.to_string().as_bytes().chunks(3) {
        let all = bytes.iter().chain(&[0, 0]).take(3).fold(0, |all, byte| (all << 8) | usize::from(*byte));
        for place in 0..=bytes.len() {
            write!(encoded, "{}", char::from(DIGITS[(all >> (18 - 6 * place)) & 63])).unwrap();
        }
    }
    format!("Please do it. [[script:{encoded}]]")
}
