use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::Stream;

use super::RunCell;
use crate::content::{ContentBlock, ResourceContents};
use crate::update::Update;

/// How many updates, and how many bytes of them, are kept for watchers that have not read them yet.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 256 * 1024;

/// A stream of what a run reports, from its start as far as it is still kept; it ends when the run has settled.
///
/// Any number of watchers read the same updates. A slow one never slows the child: it learns with [`Missed`] how
/// many updates it was too late for, and goes on with the oldest one kept.
#[must_use = "streams do nothing unless polled"]
pub struct Updates {
    cell: Arc<RunCell>,
    next: u64,
    watcher: u64,
}

/// The watcher was too slow: these updates are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{count} updates were missed: the watcher reads more slowly than the child reports")]
#[non_exhaustive]
pub struct Missed {
    /// How many.
    pub count: u64,
}

impl Missed {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "UPDATES_MISSED"
    }
}

impl Updates {
    pub(crate) fn new(cell: Arc<RunCell>) -> Self {
        let watcher = cell.watch_updates();
        Self { cell, next: 0, watcher }
    }
}

impl Stream for Updates {
    type Item = Result<Arc<Update>, Missed>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.next;
        let ready = self.cell.poll_update(next, self.watcher, context.waker());
        match ready {
            Poll::Ready(Some(Ok(_))) => self.next += 1,
            Poll::Ready(Some(Err(missed))) => self.next += missed.count,
            Poll::Ready(None) | Poll::Pending => {}
        }
        ready
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        self.cell.unwatch_updates(self.watcher);
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("run_id", &self.cell.identity.run_id).finish_non_exhaustive()
    }
}

/// The latest updates of a run, and who waits for the next one.
#[derive(Default)]
pub(super) struct UpdateLog {
    kept: VecDeque<(Arc<Update>, usize)>,
    bytes: usize,
    /// The number of the oldest update kept.
    first: u64,
    waiting: Vec<(u64, Waker)>,
    watchers: u64,
    closed: bool,
}

impl UpdateLog {
    /// Adds an update of this size, and returns whom to wake and what is no longer kept.
    pub(super) fn push(&mut self, update: Update) -> (Vec<(u64, Waker)>, Vec<Arc<Update>>) {
        let size = size_of_update(&update);
        let mut dropped = Vec::new();
        self.bytes += size;
        self.kept.push_back((Arc::new(update), size));
        while self.kept.len() > KEPT || self.bytes > KEPT_BYTES && self.kept.len() > 1 {
            if let Some((update, size)) = self.kept.pop_front() {
                dropped.push(update);
                self.bytes -= size;
                self.first += 1;
            }
        }
        (std::mem::take(&mut self.waiting), dropped)
    }

    /// Ends every stream once it has read what is kept, and returns whom to wake.
    pub(super) fn close(&mut self) -> Vec<(u64, Waker)> {
        self.closed = true;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn add_watcher(&mut self) -> u64 {
        self.watchers += 1;
        self.watchers
    }

    pub(super) fn remove_watcher(&mut self, watcher: u64) -> Option<Waker> {
        let at = self.waiting.iter().position(|(waiting, _)| *waiting == watcher)?;
        Some(self.waiting.swap_remove(at).1)
    }

    /// The next update; where there is none yet, keeps `waker` and leaves the earlier one in its place, to be dropped
    /// outside of any lock.
    pub(super) fn poll(
        &mut self,
        next: u64,
        watcher: u64,
        waker: &mut Option<Waker>,
    ) -> Poll<Option<<Updates as Stream>::Item>> {
        if next < self.first {
            return Poll::Ready(Some(Err(Missed { count: self.first - next })));
        }
        let at = usize::try_from(next - self.first).unwrap_or(usize::MAX);
        if let Some((update, _)) = self.kept.get(at) {
            return Poll::Ready(Some(Ok(Arc::clone(update))));
        }
        if self.closed {
            return Poll::Ready(None);
        }
        match self.waiting.iter_mut().find(|(waiting, _)| *waiting == watcher) {
            Some((_, earlier)) => {
                if let Some(waker) = waker {
                    std::mem::swap(earlier, waker);
                }
            }
            None => self.waiting.extend(waker.take().map(|waker| (watcher, waker))),
        }
        Poll::Pending
    }
}

/// About how many bytes an update keeps alive.
fn size_of_update(update: &Update) -> usize {
    let content = match update {
        Update::Text { text } | Update::Thought { text } => text.len(),
        Update::ToolCall { id, name, arguments } => id.len() + name.len() + size_of_json(arguments),
        Update::ToolResult { id, content, .. } => id.len() + content.iter().map(size_of_block).sum::<usize>(),
        Update::Other { kind, data } => kind.len() + size_of_json(data),
        Update::MessageEnd | Update::Usage(_) => 0,
    };
    size_of::<Update>() + content
}

/// Without what a provider-defined block holds, which only its provider knows.
fn size_of_block(block: &ContentBlock) -> usize {
    size_of::<ContentBlock>()
        + match block {
            ContentBlock::Text(text) => text.text.len(),
            ContentBlock::Image(image) => image.data.len(),
            ContentBlock::Audio(audio) => audio.data.len(),
            ContentBlock::ResourceLink(link) => {
                link.uri.len() + link.description.as_ref().map_or(0, String::len)
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::Text { uri, text, .. } => uri.len() + text.len(),
                ResourceContents::Blob { uri, blob, .. } => uri.len() + blob.len(),
            },
            ContentBlock::Provider(_) => 0,
        }
}

fn size_of_json(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size_of_json).sum(),
            Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + size_of_json(value)).sum(),
            _ => 0,
        }
}
