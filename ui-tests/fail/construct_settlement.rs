//! Makes a settlement, which only the seam makes.
//! expect: E0599
//! headline: no function or associated item named `new` found for struct `Settlement`

use subagent::Settlement;

pub fn settlement() -> Settlement {
    Settlement::new()
}

fn main() {}
