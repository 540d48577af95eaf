//! Models behind the `genai` feature: vendors played on loopback, and a real model.

mod calls;
mod contract;
mod real_model;
mod shape;
mod vendor;
