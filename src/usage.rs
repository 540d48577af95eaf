use serde::{Deserialize, Serialize};

/// What a run used: its own model calls and those of its descendants, kept apart, per model.
///
/// A count that nobody reported is `None`, never 0. A call that failed or was cancelled before its model reported
/// counts nothing, so that a sum is what was reported, and may be less than what was billed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// The run's own model calls, one entry per model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<ModelUsage>,
    /// The model calls of the run's children, their children and so on, one entry per model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descendants: Vec<ModelUsage>,
}

impl Usage {
    /// Whether nothing was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.descendants.is_empty()
    }

    /// Adds one model call of the run's own.
    pub fn add(&mut self, call: &ModelUsage) {
        add_to(&mut self.own, call);
    }

    /// Adds all that a child of this run used, its descendants included.
    pub fn add_child(&mut self, child: &Self) {
        for usage in child.own.iter().chain(&child.descendants) {
            add_to(&mut self.descendants, usage);
        }
    }

    /// Adds what another attempt at the same work used: own to own, descendants to descendants.
    pub fn merge(&mut self, other: &Self) {
        for usage in &other.own {
            add_to(&mut self.own, usage);
        }
        for usage in &other.descendants {
            add_to(&mut self.descendants, usage);
        }
    }

    /// The run's own and its descendants' usage together, one entry per model.
    #[must_use]
    pub fn total(&self) -> Vec<ModelUsage> {
        let mut total = self.own.clone();
        for usage in &self.descendants {
            add_to(&mut total, usage);
        }
        total
    }
}

/// Tokens that one model used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelUsage {
    /// Which model; `None` where the provider does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens read, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Of the tokens read, those that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Of the tokens read, those that were put into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Of the tokens written, those spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

impl ModelUsage {
    /// Usage of one model call, with the two counts that every vendor reports.
    pub fn new(model: impl Into<String>, input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            model: Some(model.into()),
            input_tokens: Some(input_tokens),
            output_tokens: Some(output_tokens),
            ..Self::default()
        }
    }

    fn add(&mut self, other: &Self) {
        for (sum, term) in [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
        ] {
            if let Some(term) = term {
                *sum = Some(sum.unwrap_or(0).saturating_add(term));
            }
        }
    }
}

fn add_to(sums: &mut Vec<ModelUsage>, usage: &ModelUsage) {
    match sums.iter_mut().find(|sum| sum.model == usage.model) {
        Some(sum) => sum.add(usage),
        None => sums.push(usage.clone()),
    }
}

/// The two counts that every vendor reports, over all models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
}

impl Tokens {
    pub(crate) fn of(usage: &[ModelUsage]) -> Self {
        let mut tokens = Self::default();
        for usage in usage {
            tokens.add(usage);
        }
        tokens
    }

    pub(crate) fn add(&mut self, usage: &ModelUsage) {
        for (sum, term) in [(&mut self.input, usage.input_tokens), (&mut self.output, usage.output_tokens)] {
            if let Some(term) = term {
                *sum = Some(sum.unwrap_or(0).saturating_add(term));
            }
        }
    }
}
