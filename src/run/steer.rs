use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::cell::Phase;
use super::start::first_uncarried;
use super::{Present, RunCell, Steerable};
use crate::agent::is_empty_message;
use crate::error::{SteerError, message};
use crate::request::Prompt;

/// A message on its way to a child: a future that is ready when the message is accepted or refused.
///
/// # Cancel safety
///
/// If it is dropped half way, the message was accepted or not, as a whole.
#[must_use = "futures do nothing unless awaited: the message is not sent"]
pub struct Steer<'a>(BoxFuture<'a, Result<(), SteerError>>);

impl Future for Steer<'_> {
    type Output = Result<(), SteerError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Steer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steer")
    }
}

pub(super) fn steer<'a, R: Steerable>(run: Option<&'a R>, cell: &'a RunCell, message: Prompt) -> Steer<'a> {
    Steer(Box::pin(async move {
        let Prompt(content) = message;
        if is_empty_message(&content) {
            return Err(SteerError::EmptyMessage);
        }
        if let Some((index, kind)) = first_uncarried(&content, cell.content) {
            return Err(SteerError::UnsupportedContent { kind, index, carried: cell.content });
        }
        let Some(run) = run.filter(|_| cell.phase() == Phase::Live && cell.cancel_cause().is_none()) else {
            return Err(SteerError::Settled);
        };
        // The hook, as by name: a wrapper's run does its work there.
        let sent = AssertUnwindSafe(async { run.steer_with(content, Present).await }).catch_unwind().await;
        sent.unwrap_or_else(|payload| Err(SteerError::Panicked { message: self::message(payload) }))
    }))
}
