#![cfg_attr(feature = "acp", doc = "[acp]: crate::guide::acp")]
#![cfg_attr(
    not(feature = "acp"),
    doc = "[acp]: https://docs.rs/subagent/latest/subagent/guide/acp/index.html"
)]
#![doc = ""]
#![doc = include_str!("guide/guide.md")]

#[doc = include_str!("guide/capabilities.md")]
pub mod capabilities {}

#[doc = include_str!("guide/providers.md")]
pub mod providers {}

#[doc = include_str!("guide/lifecycle.md")]
pub mod lifecycle {}

#[doc = include_str!("guide/observing.md")]
pub mod observing {}

#[doc = include_str!("guide/in_process.md")]
pub mod in_process {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/errors.md")]
pub mod errors {}

#[cfg(feature = "acp")]
#[doc = include_str!("guide/acp.md")]
pub mod acp {}
