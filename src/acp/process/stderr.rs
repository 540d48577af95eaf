use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

/// How many last lines are kept.
const LINES: usize = 20;
/// How many bytes of a line are kept.
const LINE_BYTES: usize = 500;

/// The last lines a program wrote on stderr, read in a task that this owns.
#[derive(Debug)]
pub(crate) struct StderrTail {
    kept: Arc<Mutex<Kept>>,
    reader: JoinHandle<()>,
    /// The reader has ended.
    closed: bool,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    unfinished: Vec<u8>,
}

impl StderrTail {
    pub(super) fn follow(stderr: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let reader = tokio::spawn(read(stderr, Arc::clone(&kept)));
        Self { kept, reader, closed: false }
    }

    /// The last lines so far, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let kept = lock(&self.kept);
        let mut lines: Vec<String> = kept.lines.iter().cloned().collect();
        lines.extend(shown(&kept.unfinished));
        lines
    }

    /// Gives what is still in the pipe time to be read. It may never end: others may hold the pipe.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(crate) async fn settle(&mut self, limit: Duration) {
        if !self.closed {
            self.closed = tokio::time::timeout(limit, &mut self.reader).await.is_ok();
        }
    }

    /// Reads no further, and closes the pipe.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the pipe is closed a moment later.
    pub(crate) async fn close(&mut self) {
        self.reader.abort();
        if !self.closed {
            self.closed = true;
            drop((&mut self.reader).await);
        }
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(mut stderr: impl AsyncRead + Send + Unpin, kept: Arc<Mutex<Kept>>) {
    let mut chunk = vec![0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        lock(&kept).take(&chunk[..count]);
    }
}

impl Kept {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            if let Some(line) = shown(&self.unfinished) {
                self.lines.push_back(line);
                if self.lines.len() > LINES {
                    self.lines.pop_front();
                }
            }
            self.unfinished.clear();
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.unfinished.len());
        self.unfinished.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}

fn shown(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_only_and_no_line_whole_that_is_too_long() {
        let mut kept = Kept::default();
        for number in 0..1000 {
            kept.take(format!("line {number}\r\n").as_bytes());
        }
        kept.take(&vec![b'x'; 1 << 20]);
        assert_eq!(kept.lines.len(), LINES);
        assert_eq!(kept.lines.back().unwrap(), "line 999");
        assert_eq!(kept.unfinished.len(), LINE_BYTES);
    }

    #[test]
    fn a_line_in_pieces_is_one_line_and_bytes_that_are_not_text_are_shown_as_such() {
        let mut kept = Kept::default();
        kept.take(b"one ");
        kept.take(b"line\xff\n");
        assert_eq!(kept.lines, ["one line\u{fffd}"]);
    }
}
