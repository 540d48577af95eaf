use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// What a child proves with that it is the one that is served: 244 random bits.
#[derive(Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    pub(super) fn new() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes as long for a guess that is nearly right as for any other.
    pub(super) fn is(&self, guess: &[u8]) -> bool {
        let token = self.0.as_bytes();
        token.len() == guess.len()
            && token.iter().zip(guess).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
