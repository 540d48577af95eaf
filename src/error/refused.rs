use std::error::Error;
use std::fmt;

use super::ResumeError;
use crate::request::MismatchedCapabilities;

/// Why something was refused, and what it was to be done with, which is as it was.
///
/// It is an error with the text and the cause of the one inside, so `?` hands it on; the value is dropped then.
///
/// ```
/// use subagent::testing::ScriptedProvider;
/// use subagent::{Refused, Request, Subagents};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let subagents = Subagents::new();
/// # let child = subagents.register("child", ScriptedProvider::replying("done"))?;
/// let settled = child.start(Request::new("Count the files")).await?.settle().await;
/// let Err(Refused { error, value: settled }) = settled.resume("").await else { panic!("it is empty") };
/// assert_eq!(error.code(), "EMPTY_MESSAGE");
/// let run = settled.resume("Now the folders").await?;
/// # run.collect().await;
/// # Ok(())
/// # }
/// ```
#[expect(clippy::exhaustive_structs, reason = "it is taken apart, and there is no more to say")]
pub struct Refused<E, T> {
    /// Why.
    pub error: E,
    /// What it was to be done with.
    pub value: T,
}

impl<E, T> Refused<E, T> {
    /// Both of them.
    pub fn into_parts(self) -> (E, T) {
        (self.error, self.value)
    }
}

impl<E: fmt::Debug, T> fmt::Debug for Refused<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<E: fmt::Display, T> fmt::Display for Refused<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<E: Error, T> Error for Refused<E, T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl<T> From<Refused<Self, T>> for ResumeError {
    fn from(refused: Refused<Self, T>) -> Self {
        refused.error
    }
}

impl<T> From<Refused<Self, T>> for MismatchedCapabilities {
    fn from(refused: Refused<Self, T>) -> Self {
        refused.error
    }
}
