//! Real processes: a scripted agent that misbehaves on request.

mod handshake;
mod process;
mod scene;
mod session;
mod turns;
