use std::fmt;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::bench::{ByName, Typed};
use super::checks;
use super::fixture::Fixture;
use super::violation::{Checked, Held, Stop, Violation};

macro_rules! define_promises {
    ($($promise:ident = $file:ident::$check:ident, $holder:ident, $words:literal;)+) => {
        /// What the seam promises to callers, and what every provider has to keep.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Promise {
            $(#[doc = $words] $promise,)+
        }

        impl Promise {
            /// All promises, in the order of a run's life.
            pub const ALL: &'static [Self] = &[$(Self::$promise),+];

            /// The promise's name: that of its test.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$promise => stringify!($check),)+ }
            }

            /// The promise in words.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self { $(Self::$promise => $words,)+ }
            }

            /// Whether the seam keeps the promise whatever a provider does. It is checked all the same.
            #[must_use]
            pub const fn held_by_the_seam(self) -> bool {
                match self { $(Self::$promise => held_by!($holder),)+ }
            }

            fn check<F: Fixture>(self, fixture: &F, by_name: bool) -> BoxFuture<'_, Checked> {
                match (self, by_name) {
                    $(
                        (Self::$promise, false) => checks::$file::$check::<F, Typed>(fixture).boxed(),
                        (Self::$promise, true) => checks::$file::$check::<F, ByName>(fixture).boxed(),
                    )+
                }
            }
        }
    };
}

macro_rules! held_by {
    (Seam) => {
        true
    };
    (Provider) => {
        false
    };
}

crate::__conformance_promises!([define_promises]);

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Checks one promise, with typed starts and with starts by name.
///
/// [`conformance!`](crate::conformance) makes a test of each; this is for those who need the outcome itself.
///
/// # Errors
///
/// [`Violation`]: the promise is broken.
///
/// # Cancel safety
///
/// Dropped half way, the children that it started are disposed of in the background.
pub async fn hold<F: Fixture>(promise: Promise, fixture: &F) -> Result<Held, Violation> {
    let mut held = Held::Kept;
    for (by_name, door) in [(false, "typed start"), (true, "start by name")] {
        match promise.check(fixture, by_name).await {
            Ok(()) => {}
            Err(Stop::Skip { behaviour, reason }) => held = Held::Skipped { behaviour, reason },
            Err(Stop::Broken { seen, right }) => return Err(Violation { promise, door, seen, right }),
        }
    }
    Ok(held)
}

/// Checks one promise as a test: what is skipped is said on standard error. What
/// [`conformance!`](crate::conformance) calls.
///
/// # Errors
///
/// [`Violation`]: the promise is broken.
///
/// # Cancel safety
///
/// As [`hold`].
#[expect(clippy::print_stderr, reason = "what a test skips must be said, and this is a test")]
pub async fn test<F: Fixture>(promise: Promise, fixture: F) -> Result<(), Violation> {
    if let Held::Skipped { behaviour, reason } = hold(promise, &fixture).await? {
        eprintln!("skipped: `{promise}`: the provider cannot show {behaviour}: {reason}");
    }
    Ok(())
}
