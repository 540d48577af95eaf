use super::{Capability, Plain};

/// How deep the tree of delegations may grow: an agent that nobody delegated to is at depth 0, its child at 1.
///
/// Asked for with [`Request::max_depth`](crate::Request::max_depth). It binds the child and all its descendants.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DepthLimit;

impl Capability for DepthLimit {
    const NAME: &'static str = "depth-limit";
    const BUILT_IN: bool = true;
    type Value = u32;
    type Kind = Plain;

    fn narrow(earlier: u32, later: u32) -> u32 {
        earlier.min(later)
    }
}
