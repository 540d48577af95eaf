//! Nothing: the tests are in `tests/`. A crate of its own, so that building the others does not build rig.
