use crate::content::ContentBlock;
use crate::result::Outcome;
use crate::usage::Usage;

/// What the attempts before used, and which messages they left undelivered.
#[derive(Default)]
pub(super) struct Spent {
    usage: Usage,
    undelivered: Vec<Vec<ContentBlock>>,
}

impl Spent {
    /// Takes note of a child that failed.
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.usage.merge(&outcome.usage);
        self.undelivered.extend(outcome.undelivered);
    }

    /// The outcome of the last child, with what the ones before cost.
    pub(super) fn with(mut self, mut outcome: Outcome) -> Outcome {
        self.usage.merge(&outcome.usage);
        self.undelivered.append(&mut outcome.undelivered);
        outcome.usage = self.usage;
        outcome.undelivered = self.undelivered;
        outcome
    }
}
