use std::fmt;
use std::time::Duration;

use super::text::{counted, seconds};
use crate::stop_reason::StopReason;
use crate::usage::Tokens;

/// How many stop reasons are counted apart: providers may invent any number of them.
const REASONS: usize = 16;

/// All runs that ended while a [`TreeWatch`](super::TreeWatch) watched, in numbers. Its text form is one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeSummary {
    /// How many runs ended.
    pub ended: u64,
    /// How many of them for each stop reason, in the order in which they first came: the first 16 reasons, since providers
    /// may invent any number.
    pub by_reason: Vec<(StopReason, u64)>,
    /// How many tokens they read, as far as it was reported.
    pub input_tokens: Option<u64>,
    /// How many tokens they wrote, as far as it was reported.
    pub output_tokens: Option<u64>,
    /// How many runs are still live.
    pub live: usize,
    /// How long it has been watched.
    pub elapsed: Duration,
}

impl TreeSummary {
    pub(super) fn count(&mut self, reason: &StopReason, tokens: Tokens) {
        self.ended += 1;
        let full = self.by_reason.len() >= REASONS;
        match self.by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None if full => {}
            None => self.by_reason.push((reason.clone(), 1)),
        }
        for (sum, term) in [(&mut self.input_tokens, tokens.input), (&mut self.output_tokens, tokens.output)]
        {
            if let Some(term) = term {
                *sum = Some(sum.unwrap_or(0).saturating_add(term));
            }
        }
    }
}

impl fmt::Display for TreeSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.ended == 1 { "run" } else { "runs" };
        write!(f, "{} {runs} in {}", self.ended, seconds(self.elapsed))?;
        let reasons = self.by_reason.iter().map(|(reason, count)| format!("{count} {reason}"));
        let live = (self.live > 0).then(|| format!("{} still live", self.live));
        let counts: Vec<_> = reasons.chain(live).collect();
        if !counts.is_empty() {
            write!(f, ": {}", counts.join(", "))?;
        }
        match counted(self.input_tokens, self.output_tokens) {
            Some(tokens) => write!(f, "; {tokens}"),
            None => Ok(()),
        }
    }
}
