//! Gives a child two personas.
//! expect: E0277
//! headline: this request already has a persona
//! note: keep one of the two `persona` calls

use subagent::{CapabilitySet, Request};

pub fn request() -> Request<impl CapabilitySet> {
    Request::new("Review it").persona("A reviewer").max_depth(2).persona("A poet")
}

fn main() {}
