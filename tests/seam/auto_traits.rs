//! Which public handle and future is `Send`, `Sync` and `'static`, whatever its type parameters are.

use std::fmt::Debug;
use std::rc::Rc;

use subagent::testing::{Script, ScriptedLog, ScriptedModel, ScriptedProvider, ScriptedRun};
use subagent::{
    Absent, AnyProviderHandle, AnyRun, CancelCause, Cancellation, ChildContext, Collected, ContentBlock,
    Dispose, DisposeError, Event, FnRun, FollowUp, Inbox, InboxSender, Intercepted, Live, Missed, NoOutput,
    NoProvider, Outcome, Output, OutputSchema, Parent, Present, Progress, Prompt, ProviderBlock,
    ProviderHandle, RegisterError, Registration, Request, Resume, ResumeError, RunControl, RunFault, RunId,
    RunInfo, Schema, Settled, Settlement, Spawn, Start, StartError, StartRequest, Steer, SteerError,
    StopReason, StructuredError, SubagentResult, Subagents, SubagentsBuilder, Subscription, ToolFilter,
    Typed, Unchecked, Update, Updates,
};

fn is_debug<T: Debug>() {}
fn is_send<T: Send + 'static>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}

/// Says of each type that it is `Send`, `'static` and `Debug`, and what is written behind it.
macro_rules! table {
    ($($type:ty: $($also:ident)*;)*) => {
        #[test]
        fn handles_and_futures_can_be_sent_and_shared() {
            $(
                is_send::<$type>();
                is_debug::<$type>();
                $( table!(@ $also $type); )*
            )*
        }
    };
    (@ Sync $type:ty) => { is_sync::<$type>(); };
    (@ Unpin $type:ty) => { is_unpin::<$type>(); };
}

/// Neither `Send` nor `Sync`: an output type says nothing about the handle that names it.
type Local = Typed<Rc<u8>>;
type Run = ScriptedRun;

table! {
    // Registry
    Subagents: Sync Unpin;
    SubagentsBuilder: Sync Unpin;
    Registration<ScriptedProvider>: Sync Unpin;
    ProviderHandle<ScriptedProvider>: Sync Unpin;
    ProviderHandle<Spawn>: Sync Unpin;
    AnyProviderHandle: Sync Unpin;
    RunControl: Sync Unpin;
    Subscription: Sync Unpin;
    // Requests
    Request: Sync Unpin;
    Request<(OutputSchema<Rc<u8>>, ())>: Sync Unpin;
    Request<Unchecked>: Sync Unpin;
    StartRequest: Sync Unpin;
    Parent: Sync Unpin;
    Prompt: Sync Unpin;
    FollowUp: Sync Unpin;
    ToolFilter: Sync Unpin;
    Schema: Sync Unpin;
    // Runs
    Live<Run, NoOutput>: Sync Unpin;
    Live<Run, Local>: Sync Unpin;
    Live<AnyRun<Present, Absent>, Local>: Sync Unpin;
    Settled<Run, NoOutput>: Sync Unpin;
    Settled<AnyRun, Local>: Sync Unpin;
    AnyRun: Sync Unpin;
    FnRun<Present>: Sync Unpin;
    Collected<Local>: Sync Unpin;
    SubagentResult<Local>: Sync Unpin;
    Cancellation: Sync Unpin;
    CancelCause: Sync Unpin;
    // For providers
    Settlement: Sync Unpin;
    Progress: Sync Unpin;
    Inbox: Sync Unpin;
    InboxSender: Sync Unpin;
    ChildContext: Sync Unpin;
    // Futures and streams
    Start<Run, NoOutput>: Unpin;
    Start<AnyRun, Local>: Unpin;
    Resume<Run, NoOutput>: Unpin;
    Resume<AnyRun<Absent, Present>, Local>: Unpin;
    Dispose: Unpin;
    Steer<'static>: Unpin;
    Intercepted: Unpin;
    Updates: Sync Unpin;
    // Data
    Event: Sync Unpin;
    RunInfo: Sync Unpin;
    RunId: Sync Unpin;
    Outcome: Sync Unpin;
    Output: Sync Unpin;
    ContentBlock: Sync Unpin;
    ProviderBlock: Sync Unpin;
    StopReason: Sync Unpin;
    Update: Sync Unpin;
    // Errors
    RegisterError: Sync Unpin;
    NoProvider: Sync Unpin;
    StartError: Sync Unpin;
    SteerError: Sync Unpin;
    ResumeError: Sync Unpin;
    DisposeError: Sync Unpin;
    StructuredError: Sync Unpin;
    RunFault: Sync Unpin;
    Missed: Sync Unpin;
    // Testing
    Script: Sync Unpin;
    ScriptedProvider: Sync Unpin;
    ScriptedLog: Sync Unpin;
    ScriptedModel: Sync Unpin;
    ScriptedRun<Absent, Absent>: Sync Unpin;
}

fn sends<F: Future + Send>(_future: &F) {}

/// The futures of `async` methods, which have no name.
#[test]
fn futures_without_a_name_can_be_sent() {
    fn of_live<O: 'static, F: Fn() -> Live<Run, O>>(live: F) {
        sends(&live().result());
        sends(&live().settle());
        sends(&live().settle_within(std::time::Duration::ZERO));
        sends(&live().collect());
    }
    fn of_settled<O: 'static, F: Fn() -> Settled<Run, O>>(settled: F) {
        sends(&settled().collect());
    }
    fn of_others(
        control: &RunControl,
        cancellation: &Cancellation,
        inbox: &mut Inbox,
        subagents: &Subagents,
    ) {
        sends(&control.settled());
        sends(&cancellation.cancelled());
        sends(&inbox.recv());
        sends(&inbox.recv_text());
        sends(&subagents.shutdown());
    }
    let all = (
        of_live::<Local, fn() -> Live<Run, Local>>,
        of_settled::<Local, fn() -> Settled<Run, Local>>,
        of_others,
    );
    assert_eq!(size_of_val(&all), 0, "to compile is the test");
}
