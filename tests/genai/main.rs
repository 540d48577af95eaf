//! Models behind the `genai` feature: vendors played on loopback, and a real model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod calls;
mod contract;
mod real_model;
mod shape;
mod vendor;
