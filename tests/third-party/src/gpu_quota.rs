use subagent::{Capability, Plain};

/// How many GPU seconds a child may use: a start-time capability of this crate's own.
#[derive(Debug, Clone, Copy)]
pub struct GpuQuota;

impl Capability for GpuQuota {
    const NAME: &'static str = "acme/gpu-quota";
    type Value = u32;
    type Kind = Plain;

    fn narrow(earlier: u32, later: u32) -> u32 {
        earlier.min(later)
    }
}
