//! A crate of somebody else's, written against the public API of `subagent` alone.
