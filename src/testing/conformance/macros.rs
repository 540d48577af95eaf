/// Makes a test of every promise, named after it, for the provider of a
/// [`Fixture`](crate::testing::conformance::Fixture).
///
/// `conformance!(my_provider, MyFixture)` puts the tests into a module `my_provider`; each evaluates the expression
/// `MyFixture` anew. They are `#[tokio::test]`s, so your crate needs tokio with its features `macros` and `rt`.
/// Another attribute is put in front: `conformance!(#[tokio::test(start_paused = true)] my_provider, MyFixture)` for
/// providers whose children live on Tokio's clock alone.
#[macro_export]
macro_rules! conformance {
    (#[$test:meta] $name:ident, $fixture:expr $(,)?) => {
        mod $name {
            #[allow(unused_imports, reason = "the fixture may be named by its whole path")]
            use super::*;

            $crate::__conformance_promises!([$crate::__conformance_tests] [#[$test]] [$fixture]);
        }
    };
    ($name:ident, $fixture:expr $(,)?) => {
        $crate::conformance!(#[tokio::test] $name, $fixture);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    (
        [#[$test:meta]] [$fixture:expr]
        $($promise:ident = $file:ident::$check:ident, $holder:ident, $words:literal;)+
    ) => {
        $(
            #[$test]
            async fn $check() -> ::std::result::Result<(), $crate::testing::conformance::Violation> {
                $crate::testing::conformance::test($crate::testing::conformance::Promise::$promise, $fixture).await
            }
        )+
    };
}

/// The one list of promises; hands it to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_promises {
    ([$($then:tt)+] $($arguments:tt)*) => {
        $($then)+! {
            $($arguments)*
            WhatIsSkippedIsDeclared = declarations::what_is_skipped_is_declared, Provider,
                "What the fixture cannot show is declared, with a reason, and the declaration is true.";
            RuntimeCapabilitiesHaveProbes = declarations::runtime_capabilities_have_probes, Provider,
                "Steering and resuming have a probe exactly where the type of the runs has them, and erased runs say the same.";
            DeclaredCapabilitiesHaveProbes = capabilities::declared_capabilities_have_probes, Provider,
                "Each start-time capability that the provider declares has one probe.";
            AStartedRunIsPublishedWithAChild = start::a_started_run_is_published_with_a_child, Provider,
                "When `start` returns, a child exists, `Started` was sent, and the events name the request's agent type and parent.";
            AFailedStartLeavesNothing = start::a_failed_start_leaves_nothing, Provider,
                "An error from `start` means that no child exists, nothing needs disposing and no event was sent.";
            APanicInStartIsAStartError = start::a_panic_in_start_is_a_start_error, Provider,
                "A panic in `start` becomes a start error and leaves nothing.";
            ACancelledTokenStartsNoChild = start::a_cancelled_token_starts_no_child, Seam,
                "A token that is cancelled already never starts a child.";
            AStartDroppedHalfWayLeavesNoChild = drops::a_start_dropped_half_way_leaves_no_child, Provider,
                "A start that is dropped at whichever await leaves no child and sends no event.";
            UndeclaredCapabilitiesAreRefusedByName = capabilities::undeclared_capabilities_are_refused_by_name, Seam,
                "A capability that the provider does not declare is refused by name, before a child exists.";
            DeclaredCapabilitiesAreTaken = capabilities::declared_capabilities_are_taken, Provider,
                "`start` takes the value of every capability that the provider declares.";
            DeclaredCapabilitiesAreHonoured = capabilities::declared_capabilities_are_honoured, Provider,
                "The child keeps to every capability that the provider declares.";
            ContentThatIsNotCarriedIsRefused = content::content_that_is_not_carried_is_refused, Seam,
                "A prompt with content that the provider does not carry is refused, and names the kind.";
            ContentThatIsCarriedReachesTheChild = content::content_that_is_carried_reaches_the_child, Provider,
                "Content of every kind that the provider says it carries reaches the child.";
            ACompletedChildGivesWhatItSaid = result::a_completed_child_gives_what_it_said, Provider,
                "A child that completes gives its own last message, to its caller and in `Ended`.";
            UsageIsReportedAsDeclared = result::usage_is_reported_as_declared, Provider,
                "What a run used is reported where the fixture says so, and nowhere else.";
            AFailingChildIsAResult = result::a_failing_child_is_a_result, Provider,
                "A child's failure is a result with a stop reason and a diagnostic.";
            APanickingChildIsAResult = result::a_panicking_child_is_a_result, Provider,
                "A child's panic is a result with a stop reason and a diagnostic.";
            EveryWaiterGetsTheResultAfterEnded = result::every_waiter_gets_the_result_after_ended, Seam,
                "Many waiters await one result, and `Ended` reaches the listeners before any of them wakes.";
            ASettledRunStaysAsItIs = result::a_settled_run_stays_as_it_is, Seam,
                "A run settles once; a later cancellation, wait or disposal changes nothing and sends no event.";
            AChildMaySettleInsideStart = result::a_child_may_settle_inside_start, Provider,
                "A child that settles inside `start` has its result, and its events in order.";
            UpdatesEndWithTheRun = result::updates_end_with_the_run, Seam,
                "The stream of updates ends when the run has settled.";
            ACancelledChildSettlesByItself = cancel::a_cancelled_child_settles_by_itself, Provider,
                "A cancellation, by the handle or by a token, reaches the child, which settles by itself as aborted.";
            AWedgedChildIsSettledWithinTheGrace = cancel::a_wedged_child_is_settled_within_the_grace, Provider,
                "A child that hears no cancellation is settled in its place after the grace, and its disposal ends it.";
            ACancelledRunKeepsItsText = cancel::a_cancelled_run_keeps_its_text, Provider,
                "The text reported so far is the output of a run that was cancelled.";
            ACancelledRunLeavesItsSiblingsAlone = cancel::a_cancelled_run_leaves_its_siblings_alone, Provider,
                "Cancelling and disposing of a run leaves the other runs of its provider alone.";
            ATimeLimitEndsTheRun = cancel::a_time_limit_ends_the_run, Provider,
                "A run that takes longer than its time limit ends with `TimeLimit`.";
            AcceptedMessagesAreSeenInOrder = steering::accepted_messages_are_seen_in_order, Provider,
                "An accepted message is seen by the child before the run completes, once, in the order accepted.";
            UndeliveredMessagesAreListed = steering::undelivered_messages_are_listed, Provider,
                "An accepted message that a cancelled run did not deliver is listed in its result.";
            ASettledRunTakesNoMessage = steering::a_settled_run_takes_no_message, Seam,
                "A message to a run that has settled is refused as `SteerError::Settled`.";
            AMessageThatIsNotCarriedIsRefused = steering::a_message_that_is_not_carried_is_refused, Seam,
                "An empty message, and one with content that the provider does not carry, is refused.";
            AResumedRunIsANewRun = resuming::a_resumed_run_is_a_new_run, Provider,
                "A resumed run has its own id, events and result, and `resumed_from` names the run before.";
            CapabilitiesStayInForceWhenResumed = capabilities::capabilities_stay_in_force_when_resumed, Provider,
                "What the first request asked for binds the follow-ups too.";
            ARefusedResumptionLeavesTheRunSettled = resuming::a_refused_resumption_leaves_the_run_settled, Seam,
                "A resumption that is refused sends no event and leaves the run as settled as before.";
            AResumedRunCanBeDroppedAndDisposed = resuming::a_resumed_run_can_be_dropped_and_disposed, Provider,
                "A resumption that is dropped, and a resumed run that is disposed of, leave no child.";
            DisposeReturnsWhenTheChildIsGone = dispose::dispose_returns_when_the_child_is_gone, Provider,
                "`dispose` returns when the child is quiescent, whatever state it is in.";
            ADisposedLiveRunIsAborted = dispose::a_disposed_live_run_is_aborted, Provider,
                "A run that is disposed of before it settled ends as aborted.";
            ResultAndDisposalDoNotHideEachOther = dispose::result_and_disposal_do_not_hide_each_other, Provider,
                "A disposal that fails does not hide the result, nor the other way round.";
            ADroppedLiveRunLeavesNoChild = drops::a_dropped_live_run_leaves_no_child, Provider,
                "Dropping a live run cancels it and has its child disposed of.";
            ADroppedSettledRunLeavesNoChild = drops::a_dropped_settled_run_leaves_no_child, Provider,
                "Dropping a settled run has its child disposed of and changes nothing else.";
            ADroppedWaitLeavesNoChild = drops::a_dropped_wait_leaves_no_child, Provider,
                "Dropping a future that owns the handle has the child disposed of; dropping one that does not loses nothing.";
            ARunDroppedWithoutARuntimeEndsItsChild = drops::a_run_dropped_without_a_runtime_ends_its_child, Provider,
                "Where no runtime is left, dropping the run ends its child at once, and `Ended` is still sent.";
            ShutdownCancelsAndWaits = result::shutdown_cancels_and_waits, Provider,
                "A shutdown cancels every live run, and waits for it and for the disposal of every child that nobody holds.";
        }
    };
}
