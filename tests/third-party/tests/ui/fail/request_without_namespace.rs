//! A crate asks for a capability whose name a built-in one could have.

use subagent::{Capability, Plain, Request};

pub struct Teleport;

impl Capability for Teleport {
    const NAME: &'static str = "teleport";
    type Value = bool;
    type Kind = Plain;

    fn narrow(_earlier: bool, later: bool) -> bool {
        later
    }
}

fn main() {
    let _request = Request::new("Go there").with::<Teleport>(true);
}
