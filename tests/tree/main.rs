//! Seeing: the tree of runs, its text, and the view that is drawn while work goes on.

mod links;
mod snapshot;
mod support;
mod view;
