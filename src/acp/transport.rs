//! Lines of JSON-RPC between a child's standard streams and the protocol crate, bounded in both directions.

mod frame;
mod line;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, TransportFrame};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::noise::Noise;
use frame::Incoming;
use line::{LineReader, Next};

/// How many messages may wait for the protocol crate, and how many answers of ours may wait to be written.
const QUEUED: usize = 32;
/// How many bytes may wait for the protocol crate, beside one message of any size.
const QUEUED_BYTES: usize = 1 << 20;
/// How long the pipe of a program that is gone has to stay silent until nothing more is expected.
const SILENCE: Duration = Duration::from_millis(100);
/// How long a pipe that others hold is read at most, once the program is gone.
const LONGEST_DRAIN: Duration = Duration::from_secs(2);

/// What both directions and the dispatch of messages share.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Requests of ours that are not answered yet: every other response is a stray.
    outstanding: Mutex<HashSet<RawJsonRpcId>>,
    noise: Mutex<Noise>,
    /// Told when the protocol crate took a message from its queue.
    pub(super) taken: Notify,
    /// One for each answer of ours that is not written yet.
    pub(super) answers: Semaphore,
}

/// Why a child's output is read no further.
#[derive(Debug)]
pub(super) enum OutputEnd {
    /// The child closed it.
    Closed,
    /// The program is gone, and so is what it wrote.
    ProgramGone,
    /// One line was longer than allowed.
    LineTooLong(usize),
    /// It cannot be read.
    Failed(io::Error),
}

impl Traffic {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            outstanding: Mutex::default(),
            noise: Mutex::default(),
            taken: Notify::new(),
            answers: Semaphore::new(QUEUED),
        })
    }

    pub(super) fn noise(&self) -> Noise {
        lock(&self.noise).clone()
    }

    /// Passes what the child writes on to the protocol crate until the output ends, and then drains it for as long
    /// as this is polled, so that a child that still writes is not blocked.
    pub(super) async fn receive(
        &self,
        stdout: impl AsyncRead + Unpin,
        longest_line: usize,
        gone: impl Future<Output = ()>,
        messages: UnboundedSender<TransportFrame>,
    ) -> OutputEnd {
        let mut lines = LineReader::new(stdout, longest_line);
        let mut queued_bytes = 0;
        let mut gone = std::pin::pin!(gone);
        let mut drained_at = None;
        loop {
            // A line that is there already costs no wait: a child that writes without pause would hold up the rest.
            tokio::task::coop::consume_budget().await;
            let next = match drained_at {
                None => tokio::select! {
                    next = lines.next() => next,
                    () = &mut gone => {
                        drained_at = Some(tokio::time::Instant::now() + LONGEST_DRAIN);
                        continue;
                    }
                },
                Some(end) => {
                    let silent = tokio::time::Instant::now() + SILENCE;
                    let next = tokio::time::timeout_at(silent.min(end), lines.next()).await;
                    let Ok(next) = next else {
                        if let Some(message) = self.accept(lines.unfinished()) {
                            drop(messages.unbounded_send(TransportFrame::Single(message)));
                        }
                        return OutputEnd::ProgramGone;
                    };
                    next
                }
            };
            let line = match next {
                Ok(Next::Line(line)) => line,
                Ok(Next::TooLong) => return OutputEnd::LineTooLong(longest_line),
                Ok(Next::End) if drained_at.is_some() => return OutputEnd::ProgramGone,
                Ok(Next::End) => return OutputEnd::Closed,
                Err(error) => return OutputEnd::Failed(error),
            };
            let size = line.len();
            let Some(message) = self.accept(line) else { continue };
            while !messages.is_empty()
                && (messages.len() >= QUEUED || queued_bytes + size > QUEUED_BYTES)
                && !messages.is_closed()
            {
                // The pause is a net: a message the crate handles by itself tells nobody.
                drop(tokio::time::timeout(Duration::from_millis(20), self.taken.notified()).await);
            }
            if messages.is_empty() {
                queued_bytes = 0;
            }
            queued_bytes += size;
            // A closed queue means that nobody listens any more: read on, so that the child is not blocked.
            drop(messages.unbounded_send(TransportFrame::Single(message)));
        }
    }

    /// Writes what the protocol crate sends until it sends no more, then closes the child's stdin.
    ///
    /// Where the child takes no more, `broken` is told and the rest is dropped: what the child still has to say is
    /// read nevertheless.
    pub(super) async fn send(
        &self,
        stdin: impl AsyncWrite + Unpin,
        mut messages: UnboundedReceiver<TransportFrame>,
        broken: &CancellationToken,
    ) {
        let mut stdin = Some(stdin);
        while let Some(frame) = messages.next().await {
            if let TransportFrame::Single(RawJsonRpcMessage::Request(request)) = &frame {
                lock(&self.outstanding).insert(request.id.clone());
            }
            if let Some(open) = &mut stdin
                && let Err(error) = write(open, &frame).await
            {
                tracing::debug!(%error, "an ACP child takes no more input");
                stdin = None;
                broken.cancel();
            }
            if matches!(frame, TransportFrame::Single(RawJsonRpcMessage::Response(_))) {
                self.answers.add_permits(1);
            }
        }
        if let Some(mut open) = stdin {
            drop(open.shutdown().await);
        }
    }

    /// The message in a line, unless it is noise or answers nothing we asked.
    fn accept(&self, line: &[u8]) -> Option<RawJsonRpcMessage> {
        let text = String::from_utf8_lossy(line);
        let message = match frame::parse(&text) {
            Incoming::Blank => return None,
            Incoming::Noise => {
                lock(&self.noise).add(&text);
                return None;
            }
            Incoming::Message(message) => message,
        };
        if let Some(id) = message.response_id()
            && !lock(&self.outstanding).remove(id)
        {
            lock(&self.noise).add(&text);
            return None;
        }
        Some(message)
    }
}

async fn write(stdin: &mut (impl AsyncWrite + Unpin), frame: &TransportFrame) -> io::Result<()> {
    let mut line = frame.to_json().map_err(|_| io::Error::other("it is not JSON"))?;
    line.push('\n');
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
