//! A function's bound on structured output names the output's type.
//! expect: E0277
//! headline: provider `Chat` does not support the start-time capability `OutputSchema<u32>`
//! note: a bound on structured output names no type: `Supports<OutputSchema>` stands for every one

use acme_agents::Chat;
use subagent::{OutputSchema, Provider, ProviderHandle, Supports};

pub fn count<P: Provider + Supports<OutputSchema<u32>>>(_provider: &ProviderHandle<P>) {}

pub fn count_with(provider: &ProviderHandle<Chat>) {
    count(provider);
}

fn main() {}
