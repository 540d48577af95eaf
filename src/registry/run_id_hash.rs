use std::hash::{BuildHasher, Hasher, RandomState};

/// A quick hash for run ids. It is keyed, so that nobody who chooses ids can make them collide.
pub(super) struct RunIdHash {
    keys: [u64; 2],
}

impl Default for RunIdHash {
    fn default() -> Self {
        let random = RandomState::new();
        Self { keys: [random.hash_one(0), random.hash_one(1)] }
    }
}

impl BuildHasher for RunIdHash {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        let [state, key] = self.keys;
        Folded { state, key }
    }
}

/// Multiplies each eight bytes with what came before, and folds the product.
pub(super) struct Folded {
    state: u64,
    key: u64,
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_ne_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let (low, high) = (self.state ^ word).carrying_mul(self.key | 1, 0);
        self.state = low ^ high;
    }

    /// The length: that of every run id.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.state
    }
}
