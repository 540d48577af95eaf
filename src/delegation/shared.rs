use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc};

use super::arguments::Asked;
use super::child::{Child, ChildState};
use super::keeper::{Begin, Keeper, Message};
use super::report::{Ending, Report};
use crate::capability::NoOutput;
use crate::erased::AnyRun;
use crate::id::RunId;
use crate::run::Settled;
use crate::sync::lock;

/// How many bytes of long results are kept for reading; the oldest go first.
const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// How many settled children are kept for follow-ups; the oldest go first.
const MOST_KEPT: usize = 16;
/// How many delivered children are still known by their ids.
const KNOWN_DELIVERED: usize = 64;

/// What one agent has delegated. Its owner holds it, its tools look into it.
#[derive(Default)]
pub(crate) struct Shared {
    children: Mutex<Children>,
    results: Mutex<VecDeque<(RunId, String)>>,
    changed: Notify,
}

#[derive(Default)]
struct Children {
    list: Vec<Arc<Child>>,
    closed: bool,
}

/// Why a child is not added.
pub(super) enum Refused {
    Closed,
    /// This many are at work.
    Full(usize),
}

impl Shared {
    /// Lists a child, unless `most` are at work.
    pub(super) fn add(&self, child: &Arc<Child>, most: usize) -> Result<(), Refused> {
        let mut children = lock(&self.children);
        if children.closed {
            return Err(Refused::Closed);
        }
        let running = children.list.iter().filter(|child| child.is_running()).count();
        if running >= most {
            return Err(Refused::Full(running));
        }
        children.list.push(Arc::clone(child));
        let forgotten = forget(&mut children.list);
        drop(children);
        drop(forgotten);
        Ok(())
    }

    pub(super) fn remove(&self, id: RunId) -> Option<Arc<Child>> {
        let mut children = lock(&self.children);
        let at = children.list.iter().position(|child| child.whom.id == id)?;
        Some(children.list.remove(at))
    }

    /// Takes over a child of another agent.
    pub(super) fn adopt(self: &Arc<Self>, child: Arc<Child>) -> Result<(), Arc<Child>> {
        let mut children = lock(&self.children);
        if children.closed {
            return Err(child);
        }
        child.set_owner(Arc::downgrade(self));
        children.list.push(child);
        drop(children);
        self.tell();
        Ok(())
    }

    /// All children that are known, in the order in which they were started.
    pub(super) fn children(&self) -> Vec<Arc<Child>> {
        lock(&self.children).list.clone()
    }

    /// The child of this id; an error that lists the known ones.
    pub(super) fn find(&self, asked: &Asked) -> Result<Arc<Child>, String> {
        let children = self.children();
        let found = match asked {
            Asked::Id(id) => children.iter().find(|child| child.whom.id == *id),
            Asked::Malformed(_) => None,
        };
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = children
                .iter()
                .filter(|child| child.followed_by().is_none())
                .map(|child| child.whom.id.to_string())
                .collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            match asked {
                Asked::Id(id) => format!("You have no agent {id}. Your agents are: {known}."),
                Asked::Malformed(text) => format!(
                    "`{text}` is not an agent id. An agent id is a UUID, as the tool that started the agent told it. \
                     Your agents are: {known}."
                ),
            }
        })
    }

    /// Starts the task that owns the child's run.
    pub(super) fn begin(child: &Arc<Child>, keeper: Keeper, begin: Begin) -> Result<(), String> {
        let runtime = Handle::try_current().map_err(|_| "No Tokio runtime is running here.".to_owned())?;
        child.hub.spawn_on(keeper.keep(begin), &runtime);
        Ok(())
    }

    // ---- delivery

    /// Something changed that a waiter may wait for.
    pub(super) fn tell(&self) {
        self.changed.notify_waiters();
    }

    /// Ready at the next change: made before one looks, it misses none.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Takes the ends of those children that are not told yet, the earliest first, at most `bytes` of reports.
    pub(super) fn take(
        &self,
        children: &[Arc<Child>],
        confirmed_later: bool,
        mut room: usize,
        report: impl Fn(&Ending) -> Report,
    ) -> Vec<Report> {
        let mut ended: Vec<_> =
            children.iter().filter_map(|child| Some((child.undelivered()?, child))).collect();
        ended.sort_by_key(|(order, _)| *order);
        let mut reports: Vec<Report> = Vec::new();
        for (_, child) in ended {
            if room == 0 {
                break;
            }
            let Some(ending) = child.take(confirmed_later) else { continue };
            let mut told = report(&ending);
            if let Some(whole) = told.whole.take() {
                self.keep_result(ending.whom.id, whole);
            }
            let size: usize =
                told.output.content.iter().filter_map(|block| block.as_text()).map(str::len).sum();
            room = room.saturating_sub(size);
            reports.push(told);
        }
        reports
    }

    /// The log has everything that was told so far.
    pub(super) fn confirm(&self) {
        self.children().iter().for_each(|child| child.confirm());
    }

    /// What was told and is not in the log is told again.
    pub(super) fn reclaim(&self) {
        self.children().iter().for_each(|child| child.reclaim());
    }

    /// The settled children that were kept the longest, beyond those that are kept at most.
    pub(super) fn surplus_kept(&self) -> Vec<Settled<AnyRun, NoOutput>> {
        let kept: Vec<_> = self.children().into_iter().filter(|child| child.is_kept()).collect();
        let surplus = kept.len().saturating_sub(MOST_KEPT);
        kept.iter().take(surplus).filter_map(|child| child.take_kept()).collect()
    }

    pub(super) fn has_undelivered(&self) -> bool {
        self.children().iter().any(|child| child.state() == ChildState::Undelivered)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.children().iter().all(|child| child.state() == ChildState::Delivered)
    }

    // ---- long results

    /// Keeps a result of which only a part was told.
    pub(super) fn keep_result(&self, id: RunId, whole: String) {
        let mut results = lock(&self.results);
        results.push_back((id, whole));
        while results.len() > 1 && results.iter().map(|(_, text)| text.len()).sum::<usize>() > KEPT_BYTES {
            results.pop_front();
        }
    }

    /// A piece of a kept result, and how long it is in all.
    pub(super) fn read_result(&self, id: RunId, offset: usize, most: usize) -> Option<(String, usize)> {
        let results = lock(&self.results);
        let (_, text) = results.iter().find(|(kept, _)| *kept == id)?;
        let from = text.floor_char_boundary(offset);
        let to = text.floor_char_boundary(from.saturating_add(most));
        Some((text[from..to].to_owned(), text.len()))
    }

    // ---- the end

    /// Takes no more children, and asks those that there are to end.
    pub(super) fn close(&self, reason: &str) -> Vec<Arc<Child>> {
        let children = {
            let mut children = lock(&self.children);
            children.closed = true;
            children.list.clone()
        };
        for child in &children {
            child.stop.ask(reason);
        }
        self.tell();
        children
    }
}

/// The channel through which messages reach a keeper.
pub(super) fn mailbox() -> (mpsc::UnboundedSender<Message>, mpsc::UnboundedReceiver<Message>) {
    mpsc::unbounded_channel()
}

/// Takes the earliest of the delivered children off the list when there are many.
fn forget(list: &mut Vec<Arc<Child>>) -> Vec<Arc<Child>> {
    let is_done = |child: &Arc<Child>| {
        child.state() == ChildState::Delivered && !child.is_kept() && child.gone.is_cancelled()
    };
    let mut over = list.iter().filter(|child| is_done(child)).count().saturating_sub(KNOWN_DELIVERED);
    let (forgotten, kept) = std::mem::take(list).into_iter().partition(|child| {
        let forget = over > 0 && is_done(child);
        over -= usize::from(forget);
        forget
    });
    *list = kept;
    forgotten
}
