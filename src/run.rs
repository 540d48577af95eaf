//! Runs: what a provider starts, and the handle through which its caller owns it.

mod cancellation;
mod cell;
mod collected;
mod contract;
mod dispose;
mod follow_up;
mod force_on_drop;
mod inbox;
mod live;
mod macros;
mod presence;
mod progress;
mod promise;
mod resume;
mod settled;
mod settlement;
mod start;
mod steer;
mod timer;
mod transcript;
mod updates;
mod wrong_state;

pub use cancellation::{CancelCause, Cancellation};
pub(crate) use cell::{Glimpse, Phase, RunCell, Setup, Verdict};
pub use collected::Collected;
pub use contract::{Resumable, Run, Steerable};
pub use dispose::Dispose;
pub use follow_up::FollowUp;
pub use inbox::{Inbox, InboxSender};
pub use live::Live;
pub use presence::{Absent, IsPresent, Presence, Present};
pub use progress::Progress;
#[doc(hidden)]
pub use promise::{KeepsResumable, KeepsSteerable};
pub use resume::Resume;
pub use settled::Settled;
pub use settlement::{Intercepted, Settlement};
pub use start::Start;
pub(crate) use start::{first_uncarried, start_run};
pub use steer::Steer;
pub(crate) use timer::is_there as has_timer;
pub use updates::{Missed, Updates};
#[doc(hidden)]
pub use wrong_state::{ResumedWhileLive, SteeredOnceSettled};

#[doc(inline)]
pub use crate::erased::AnyRun;
