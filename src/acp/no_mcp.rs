//! Without the feature `acp-mcp` no child is served anything.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::environment::Environment;
use super::error::AcpStartError;
use super::wire::AgentInfo;
use crate::content::ContentBlock;
use crate::error::StartError;
use crate::request::StartRequest;
use crate::stop_reason::StopReason;
use crate::usage::Usage;

#[derive(Debug, Clone, Default)]
pub(super) struct Serving {}

/// There is none.
#[derive(Debug)]
pub(super) struct Served(Infallible);

#[expect(dead_code, reason = "only an endpoint judges a turn")]
pub(super) enum Judged {
    Again(String),
    Settled { stop: StopReason, diagnostic: Option<String>, structured: Option<Value> },
}

impl Served {
    #[expect(clippy::unnecessary_wraps, reason = "the real one fails")]
    pub(super) fn of(_: &Serving, _: &mut StartRequest, _: bool) -> Result<Option<Arc<Self>>, StartError> {
        Ok(None)
    }

    #[expect(clippy::unused_async, reason = "the real one waits")]
    pub(super) async fn servers(&self, _: &AgentInfo, _: &str) -> Result<Vec<Value>, AcpStartError> {
        match self.0 {}
    }

    pub(super) fn secret(&self) -> &str {
        match self.0 {}
    }

    pub(super) fn adjust(_: &mut Environment) {}

    pub(super) fn permits(&self, _: &Value) -> bool {
        match self.0 {}
    }

    pub(super) fn begin_turn(&self, _: CancellationToken) -> Option<ContentBlock> {
        match self.0 {}
    }

    pub(super) fn steered(&self) {
        match self.0 {}
    }

    pub(super) fn judge(&self, _: StopReason, _: Option<String>, _: bool) -> Judged {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "the real one waits")]
    pub(super) async fn end_turn(&self, _: bool, _: &mut Option<String>) {
        match self.0 {}
    }

    pub(super) fn usage(&self) -> Usage {
        match self.0 {}
    }

    #[expect(clippy::unused_async, reason = "the real one waits")]
    pub(super) async fn close(&self) {
        match self.0 {}
    }
}
