//! Makes a start request, which only the seam makes.
//! expect: private fields
//! headline: cannot construct `StartRequest` with struct literal syntax due to private fields

use subagent::StartRequest;

pub fn request() -> StartRequest {
    StartRequest { prompt: vec!["Tidy up".into()] }
}

fn main() {}
