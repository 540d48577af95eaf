use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{LONGEST_SILENCE, SILENCE, Session, TurnOutcome};
use crate::acp::error::after;
use crate::acp::link::Reply;
use crate::acp::turn::{NoTurn, TurnEvent};
use crate::acp::wire;
use crate::content::ContentBlock;
use crate::stop_reason::StopReason;
use crate::update::Update;

/// What came of one prompt.
enum Attempt {
    Ended(TurnOutcome),
    /// The agent answered the turn before; this one has to be asked again.
    Stale,
}

/// Why we end a turn ourselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Cancelled,
    Idle,
    TooLong,
}

pub(super) async fn run_turn<F>(
    session: &Session,
    content: &[ContentBlock],
    cancel: &CancellationToken,
    mut on_update: impl FnMut(Update) -> F + Send,
) -> TurnOutcome
where
    F: Future<Output = ()> + Send,
{
    let began = Instant::now();
    for asked in 0.. {
        match attempt(session, content, cancel, began, &mut on_update).await {
            Attempt::Ended(outcome) => return outcome,
            Attempt::Stale if asked > 0 => break,
            Attempt::Stale => {
                tracing::debug!("an ACP child answered the turn before: its session is opened again");
                let restored = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return outcome(StopReason::Aborted, None),
                    restored = session.restore() => restored,
                };
                if let Err(error) = restored {
                    return failed(format!("the agent answered the turn before this one, and {error}"));
                }
            }
        }
    }
    failed("the agent answered the turn before this one, also after its session was opened again".to_owned())
}

async fn attempt<F>(
    session: &Session,
    content: &[ContentBlock],
    cancel: &CancellationToken,
    began: Instant,
    on_update: &mut (impl FnMut(Update) -> F + Send),
) -> Attempt
where
    F: Future<Output = ()> + Send,
{
    let connection = session.connection();
    let settings = connection.settings();
    let turns = connection.turns();
    turns.quiet_before_turn(SILENCE, LONGEST_SILENCE).await;
    if cancel.is_cancelled() {
        return Attempt::Ended(outcome(StopReason::Aborted, None));
    }
    let mut turn = match turns.begin() {
        Ok(turn) => turn,
        Err(NoTurn::Lost) => return Attempt::Ended(gone(session).await),
        Err(NoTurn::Busy) => {
            return Attempt::Ended(failed("the session is busy with another turn".to_owned()));
        }
        Err(NoTurn::Poisoned) => return Attempt::Stale,
    };
    let params = json!({ "sessionId": session.id(), "prompt": content });
    if connection.link().prompt(params, turn.number).is_err() {
        turns.poison();
        return Attempt::Ended(gone(session).await);
    }
    let mut ending = None;
    let mut heard = Instant::now();
    loop {
        let (wake, limit) = match ending {
            Some((_, since)) => (Some(since + settings.cancel_limit), None),
            None => next_limit(session, began, heard),
        };
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !matches!(ending, Some((Ending::Cancelled, _))) => {
                let since = ending.map_or_else(Instant::now, |(_, since)| since);
                ending = Some((Ending::Cancelled, since));
                tell_to_stop(session);
            }
            event = turn.events.recv() => match event {
                Some(TurnEvent::Update(update)) => {
                    on_update(update).await;
                    heard = Instant::now();
                }
                Some(TurnEvent::Answered { stale: true, .. }) => return Attempt::Stale,
                Some(TurnEvent::Answered { reply, stale: false }) => {
                    return Attempt::Ended(answered(session, reply, ending.map(|(why, _)| why), on_update).await);
                }
                None => {
                    return Attempt::Ended(match ending {
                        Some((why, _)) => ended(session, why),
                        None => gone(session).await,
                    });
                }
            },
            () = sleep_until(wake), if wake.is_some() => match (ending, limit) {
                (Some((why, _)), _) => {
                    turns.poison();
                    if !connection.is_closing() {
                        tracing::warn!("an ACP child does not end a cancelled turn: it is killed");
                        connection.kill();
                    }
                    return Attempt::Ended(ended(session, why));
                }
                (None, Some(why)) if why == Ending::Idle && turns.is_deciding() => heard = Instant::now(),
                (None, Some(why)) => {
                    ending = Some((why, Instant::now()));
                    tell_to_stop(session);
                }
                (None, None) => {}
            },
        }
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

/// The limit that passes first, and when.
fn next_limit(session: &Session, began: Instant, heard: Instant) -> (Option<Instant>, Option<Ending>) {
    let settings = session.connection().settings();
    let idle = settings.idle_limit.map(|limit| (heard + limit, Ending::Idle));
    let whole = settings.turn_limit.map(|limit| (began + limit, Ending::TooLong));
    match idle.into_iter().chain(whole).min_by_key(|(when, _)| *when) {
        Some((when, why)) => (Some(when), Some(why)),
        None => (None, None),
    }
}

/// Agents are told to stop only while they work: some fail the next prompt after a cancel that came too late.
fn tell_to_stop(session: &Session) {
    if session.connection().turns().cancel() {
        session.connection().link().notify("session/cancel", json!({ "sessionId": session.id() }));
    }
}

async fn answered<F>(
    session: &Session,
    reply: Reply,
    ending: Option<Ending>,
    on_update: &mut (impl FnMut(Update) -> F + Send),
) -> TurnOutcome
where
    F: Future<Output = ()> + Send,
{
    if let Some(usage) = reply.as_ref().ok().and_then(wire::turn_usage) {
        on_update(Update::Usage(usage)).await;
    }
    if let Some(why) = ending {
        return ended(session, why);
    }
    let connection = session.connection();
    match reply {
        Ok(answer) => {
            let (stop, diagnostic) = wire::stop_reason(&answer);
            outcome(stop, diagnostic.map(|text| connection.hide(&text)))
        }
        Err(error) => {
            let diagnostics = connection.diagnostics().await;
            failed(format!(
                "the ACP agent `{}` failed: {}{}",
                connection.command(),
                connection.hide(&error.to_string()),
                after(&diagnostics)
            ))
        }
    }
}

fn ended(session: &Session, why: Ending) -> TurnOutcome {
    let settings = session.connection().settings();
    match why {
        Ending::Cancelled => outcome(StopReason::Aborted, None),
        Ending::Idle => outcome(
            StopReason::TimeLimit,
            Some(format!("the agent sent no update for {:?}", settings.idle_limit.unwrap_or_default())),
        ),
        Ending::TooLong => outcome(
            StopReason::TimeLimit,
            Some(format!("the turn took longer than {:?}", settings.turn_limit.unwrap_or_default())),
        ),
    }
}

async fn gone(session: &Session) -> TurnOutcome {
    let connection = session.connection();
    let diagnostics = connection.diagnostics().await;
    failed(format!("the ACP agent `{}` went away: {diagnostics}", connection.command()))
}

fn failed(diagnostic: String) -> TurnOutcome {
    outcome(StopReason::Error, Some(diagnostic))
}

fn outcome(stop: StopReason, diagnostic: Option<String>) -> TurnOutcome {
    TurnOutcome { stop, diagnostic }
}
