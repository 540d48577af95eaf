//! One function per promise. Each runs once for a typed start and once for a start by name.

pub(super) mod cancel;
pub(super) mod capabilities;
pub(super) mod content;
pub(super) mod declarations;
pub(super) mod dispose;
pub(super) mod drops;
pub(super) mod result;
pub(super) mod resuming;
pub(super) mod start;
pub(super) mod steering;
