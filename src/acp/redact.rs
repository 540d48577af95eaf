use std::fmt;
use std::sync::Arc;

/// Shorter values are too likely to be ordinary words.
const SHORTEST: usize = 6;

/// Replaces known secrets in text that is about to be shown.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Arc<[String]>);

impl Redactor {
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .flat_map(|secret| {
                // Text is quoted line by line.
                secret.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
            })
            .filter(|secret| secret.len() >= SHORTEST)
            .collect();
        // The longest first: one may hold another.
        secrets.sort_by(|one, another| another.len().cmp(&one.len()).then_with(|| one.cmp(another)));
        secrets.dedup();
        Self(secrets.into())
    }

    /// These secrets and one more.
    pub(crate) fn and(&self, secret: &str) -> Self {
        Self::new(self.0.iter().cloned().chain([secret.to_owned()]))
    }

    /// `text` without the secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for secret in self.0.iter() {
            if shown.contains(secret.as_str()) {
                shown = shown.replace(secret.as_str(), "[hidden]");
            }
        }
        shown
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.0.len())
    }
}
