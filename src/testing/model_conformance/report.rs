use std::fmt;

use super::ModelCase;

/// What [`check`](super::check) found; its display has one line a case.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a report that nobody reads checks nothing"]
pub struct ModelReport(pub(super) Vec<(ModelCase, ModelVerdict)>);

/// What was found in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelVerdict {
    /// The contract is kept.
    Kept,
    /// The fixture cannot show the case.
    Skipped,
    /// The contract is broken.
    Broken {
        /// What was seen, and what should have been.
        what: String,
    },
}

impl ModelReport {
    /// Whether nothing is broken, and something was shown at all.
    #[must_use]
    pub fn is_conformant(&self) -> bool {
        self.cases().all(|(_, verdict)| !matches!(verdict, ModelVerdict::Broken { .. }))
            && self.cases().any(|(_, verdict)| *verdict == ModelVerdict::Kept)
    }

    /// Every case with its verdict, in order.
    pub fn cases(&self) -> impl Iterator<Item = (ModelCase, &ModelVerdict)> {
        self.0.iter().map(|(case, verdict)| (*case, verdict))
    }

    /// The cases that were not shown.
    #[must_use]
    pub fn skipped(&self) -> Vec<ModelCase> {
        self.cases().filter(|(_, verdict)| **verdict == ModelVerdict::Skipped).map(|(case, _)| case).collect()
    }
}

impl fmt::Display for ModelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (case, verdict) in self.cases() {
            match verdict {
                ModelVerdict::Kept => writeln!(f, "{case}: kept")?,
                ModelVerdict::Skipped => writeln!(f, "{case}: skipped")?,
                ModelVerdict::Broken { what } => writeln!(f, "{case}: broken: {what}")?,
            }
        }
        Ok(())
    }
}
