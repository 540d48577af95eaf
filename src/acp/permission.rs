use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::wire::{text_at, texts_at};

/// What a child program is answered when it asks for permission to use a tool.
///
/// Options are told apart by their kind, never by their id or place. After a cancel every request is answered
/// `cancelled`. The policy belongs to the provider it is given to: no child changes another's.
#[derive(Clone, Default)]
pub struct PermissionPolicy(Answer);

#[derive(Clone, Default)]
enum Answer {
    #[default]
    Reject,
    Allow,
    Ask {
        limit: Duration,
        decide: Decide,
    },
}

type Decide = Arc<dyn Fn(PermissionRequest) -> BoxFuture<'static, PermissionDecision> + Send + Sync>;

impl PermissionPolicy {
    /// Denies: picks the option to reject once; where there is none, answers `cancelled`. This is the default.
    #[must_use]
    pub fn reject() -> Self {
        Self(Answer::Reject)
    }

    /// Allows: picks the option to allow once, else the one to allow always; where there is neither, answers
    /// `cancelled`.
    #[must_use]
    pub fn allow() -> Self {
        Self(Answer::Allow)
    }

    /// Asks `decide` for each request. If it has not decided within `limit`, or panics, the request is denied.
    ///
    /// A decision that is not needed any more (the run was cancelled, the child is gone) is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use subagent::acp::{PermissionDecision, PermissionPolicy};
    ///
    /// let policy = PermissionPolicy::ask(Duration::from_secs(30), async |request| {
    ///     if request.tool_kind.as_deref() == Some("read") {
    ///         PermissionDecision::Allow
    ///     } else {
    ///         PermissionDecision::Deny
    ///     }
    /// });
    /// # let _ = policy;
    /// ```
    pub fn ask<F, D>(limit: Duration, decide: D) -> Self
    where
        D: Fn(PermissionRequest) -> F + Send + Sync + 'static,
        F: Future<Output = PermissionDecision> + Send + 'static,
    {
        Self(Answer::Ask { limit, decide: Arc::new(move |request| decide(request).boxed()) })
    }

    /// What is known without asking anybody.
    pub(super) fn at_once(&self) -> Option<PermissionOutcome> {
        match self.0 {
            Answer::Reject => Some(PermissionOutcome::Denied),
            Answer::Allow => Some(PermissionOutcome::Allowed),
            Answer::Ask { .. } => None,
        }
    }

    /// Decides, within the policy's own limit.
    pub(super) async fn decide(&self, request: PermissionRequest) -> PermissionOutcome {
        let Answer::Ask { limit, decide } = &self.0 else {
            return self.at_once().unwrap_or(PermissionOutcome::NobodyToAsk);
        };
        let asked = async { decide(request).await };
        match tokio::time::timeout(*limit, AssertUnwindSafe(asked).catch_unwind()).await {
            Ok(Ok(PermissionDecision::Allow)) => PermissionOutcome::Allowed,
            Ok(Ok(PermissionDecision::Deny)) => PermissionOutcome::Denied,
            Ok(Ok(PermissionDecision::NobodyToAsk)) => PermissionOutcome::NobodyToAsk,
            Ok(Err(_)) => {
                tracing::warn!("the decision about an ACP child's permission request panicked: it is denied");
                PermissionOutcome::NobodyToAsk
            }
            Err(_) => PermissionOutcome::Expired,
        }
    }
}

impl fmt::Debug for PermissionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Answer::Reject => f.write_str("Reject"),
            Answer::Allow => f.write_str("Allow"),
            Answer::Ask { limit, .. } => f.debug_struct("Ask").field("limit", limit).finish_non_exhaustive(),
        }
    }
}

/// An answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionDecision {
    /// The tool may be used, this once.
    Allow,
    /// It may not.
    Deny,
    /// There is nobody who could decide; the tool may not be used.
    NobodyToAsk,
}

/// A child's request for permission to use a tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// The session that asks: the child's own, or that of a child of its own.
    pub session_id: String,
    /// The id of the tool call.
    pub tool_call_id: String,
    /// What the tool is about to do, in the agent's words.
    pub title: Option<String>,
    /// The kind of tool: `read`, `edit`, `execute` and so on.
    pub tool_kind: Option<String>,
    /// The tool's arguments, where the agent tells them.
    pub arguments: Value,
    /// The names of the options that the agent offers.
    pub options: Vec<String>,
}

/// How a request ended; only the first lets the tool be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionOutcome {
    Allowed,
    Denied,
    Expired,
    NobodyToAsk,
    /// The turn was cancelled, or is over.
    Cancelled,
}

impl PermissionOutcome {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::NobodyToAsk => "nobody_to_ask",
            Self::Cancelled => "cancelled",
        }
    }

    /// The kinds of option that say this, the best first.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Allowed => &["allow_once", "allow_always"],
            Self::Denied | Self::Expired | Self::NobodyToAsk => &["reject_once"],
            Self::Cancelled => &[],
        }
    }

    /// The protocol's answer, given the parameters of the request.
    pub(super) fn answer(self, params: &Value) -> Value {
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let picked = self.kinds().iter().find_map(|kind| {
            options
                .iter()
                .find(|option| option["kind"] == *kind)
                .and_then(|option| option["optionId"].as_str())
        });
        match picked {
            Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        }
    }
}

impl PermissionRequest {
    pub(super) fn parse(params: &Value) -> Self {
        let call = &params["toolCall"];
        Self {
            session_id: text_at(params, "sessionId").unwrap_or_default(),
            tool_call_id: text_at(call, "toolCallId").unwrap_or_default(),
            title: text_at(call, "title"),
            tool_kind: text_at(call, "kind"),
            arguments: call["rawInput"].clone(),
            options: texts_at(&params["options"], "name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionOutcome::{Allowed, Cancelled, Denied, Expired, NobodyToAsk};

    fn picked(outcome: PermissionOutcome, kinds: &[&str]) -> Option<String> {
        let options: Vec<_> =
            kinds.iter().map(|kind| json!({ "optionId": format!("id-{kind}"), "kind": kind })).collect();
        let answer = outcome.answer(&json!({ "options": options }));
        let selected = answer["outcome"]["optionId"].as_str().map(str::to_owned);
        assert_eq!(selected.is_none(), answer["outcome"]["outcome"] == "cancelled");
        selected
    }

    #[test]
    fn allowing_picks_once_before_always_wherever_they_stand() {
        assert_eq!(picked(Allowed, &["reject_once", "allow_always", "allow_once"]).unwrap(), "id-allow_once");
        assert_eq!(picked(Allowed, &["reject_once", "allow_always"]).unwrap(), "id-allow_always");
        assert_eq!(picked(Allowed, &["reject_once", "proceed"]), None);
    }

    #[test]
    fn every_way_of_not_allowing_picks_reject_once_or_nothing() {
        for outcome in [Denied, Expired, NobodyToAsk] {
            assert_eq!(picked(outcome, &["allow_once", "reject_once"]).unwrap(), "id-reject_once");
            assert_eq!(picked(outcome, &["allow_once", "reject_always"]), None);
        }
        assert_eq!(picked(Cancelled, &["allow_once", "reject_once"]), None);
        assert_eq!(
            Allowed.answer(&json!({ "options": "none" })),
            json!({ "outcome": { "outcome": "cancelled" } })
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_that_is_late_or_panics_is_no_permission() {
        let request = || PermissionRequest::parse(&json!({}));
        let late = PermissionPolicy::ask(Duration::from_secs(5), |_| std::future::pending());
        assert_eq!(late.decide(request()).await, Expired);
        let broken =
            PermissionPolicy::ask(Duration::from_secs(5), async |_| panic!("a bug in the caller's code"));
        assert_eq!(broken.decide(request()).await, NobodyToAsk);
        let kind = PermissionPolicy::ask(Duration::from_secs(5), async |_| PermissionDecision::Allow);
        assert_eq!(kind.decide(request()).await, Allowed);
    }

    #[test]
    fn nobody_is_asked_unless_that_is_wanted() {
        assert_eq!(PermissionPolicy::default().at_once(), Some(Denied));
        assert_eq!(PermissionPolicy::allow().at_once(), Some(Allowed));
    }
}
