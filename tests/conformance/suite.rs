//! The suite itself: what it lists, what it skips, and what it says.

use std::collections::BTreeSet;

use subagent::testing::conformance::{Behaviour, Promise};

#[test]
fn every_promise_has_a_name_and_words_of_its_own() {
    let names: BTreeSet<_> = Promise::ALL.iter().map(|promise| promise.name()).collect();
    let words: BTreeSet<_> = Promise::ALL.iter().map(|promise| promise.words()).collect();
    assert_eq!((names.len(), words.len()), (Promise::ALL.len(), Promise::ALL.len()));
}

#[test]
fn all_behaviours_are_listed_once() {
    let listed: BTreeSet<_> = Behaviour::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(listed.len(), Behaviour::ALL.len());
}
