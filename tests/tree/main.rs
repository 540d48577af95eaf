//! Seeing: the tree of runs, its text, and the view that is drawn while work goes on.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod links;
mod snapshot;
mod support;
mod view;
