//! Asks for two structured outputs.
//! expect: E0277
//! headline: this request already asks for structured output
//! note: keep one of the two `output` calls

use subagent::{CapabilitySet, Request};

pub fn request() -> Request<impl CapabilitySet> {
    Request::new("Count the words").output::<u32>().output::<String>()
}

fn main() {}
