//! What the compiler says of a call in the wrong state: bounds that nothing meets, on hidden methods that nobody can
//! call. Without them it would say that there is no such method, and point at a trait that does not help.

/// Holds for no run.
#[diagnostic::on_unimplemented(
    message = "a settled `{Self}` cannot be steered: resume it first",
    label = "this run has settled",
    note = "where the run is `Resumable`, `resume` gives a live run back, which takes messages"
)]
pub trait SteeredOnceSettled: sealed::Sealed {
    #[doc(hidden)]
    fn impossible<T>() -> T;
}

/// Holds for no run.
#[diagnostic::on_unimplemented(
    message = "a live `{Self}` cannot be resumed: let it settle first",
    label = "this run is live",
    note = "`settle` waits for the run's end and gives a settled run back, which can be resumed where it is `Resumable`",
    note = "what the child should hear while it works is a message: `send_message`, where the run is `Steerable`"
)]
pub trait ResumedWhileLive: sealed::Sealed {
    #[doc(hidden)]
    fn impossible<T>() -> T;
}

mod sealed {
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Sealed {}
}
