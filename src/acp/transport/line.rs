use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// A longer line's buffer is given back after it.
const KEPT_CAPACITY: usize = 256 * 1024;

/// Reads lines, none longer than a limit; the limit holds before a line's end is seen.
pub(super) struct LineReader<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    /// The line in the buffer was handed out.
    done: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, without its end; the last one may have none.
    Line(&'a [u8]),
    /// A line that is too long; nothing after it can be read.
    TooLong,
    /// Nothing more.
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R, longest: usize) -> Self {
        Self { source: BufReader::with_capacity(64 * 1024, source), line: Vec::new(), longest, done: false }
    }

    /// The next line.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: what was read of a line is kept for the next call.
    pub(super) async fn next(&mut self) -> io::Result<Next<'_>> {
        if self.done {
            self.done = false;
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
        }
        loop {
            let read = self.source.fill_buf().await?;
            if read.is_empty() {
                if self.line.is_empty() {
                    return Ok(Next::End);
                }
                break;
            }
            let end = memchr::memchr(b'\n', read);
            let piece = &read[..end.unwrap_or(read.len())];
            if self.line.len() + piece.len() > self.longest {
                self.line = Vec::new();
                return Ok(Next::TooLong);
            }
            self.line.extend_from_slice(piece);
            let used = piece.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.done = true;
        Ok(Next::Line(without_return(&self.line)))
    }

    /// What was read of a line whose end did not come.
    pub(super) fn unfinished(&self) -> &[u8] {
        if self.done { &[] } else { without_return(&self.line) }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
