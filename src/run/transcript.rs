use crate::update::Update;

/// How much of a message is kept for partial output, in bytes.
const KEPT: usize = 128 * 1024;
const HALF: usize = KEPT / 2;

/// The text that a child streamed: its last complete non-empty message and the unfinished one.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    complete: Option<Message>,
    current: Message,
}

impl Transcript {
    pub(super) fn record(&mut self, update: &Update) {
        match update {
            Update::Text { text } => self.current.push(text),
            Update::MessageEnd | Update::ToolCall { .. } | Update::ToolResult { .. }
                if !self.current.is_blank() =>
            {
                self.complete = Some(std::mem::take(&mut self.current));
            }
            _ => {}
        }
    }

    /// The last non-empty message, the unfinished one included; empty where there is none.
    pub(super) fn last_message(&self) -> String {
        match &self.complete {
            Some(complete) if self.current.is_blank() => complete.to_text(),
            None if self.current.is_blank() => String::new(),
            _ => self.current.to_text(),
        }
    }

    /// The last line of all this that is not blank.
    pub(super) fn last_line(&self) -> Option<&str> {
        self.current.last_line().or_else(|| self.complete.as_ref()?.last_line())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A message of bounded size: its beginning, its end, and how much between them was cut.
#[derive(Debug, Default)]
struct Message {
    head: String,
    tail: String,
    cut: usize,
}

impl Message {
    fn push(&mut self, text: &str) {
        let room = HALF.saturating_sub(self.head.len());
        let text = if self.tail.is_empty() {
            let (into_head, rest) = text.split_at(text.floor_char_boundary(room));
            self.head.push_str(into_head);
            rest
        } else {
            text
        };
        self.tail.push_str(text);
        // Cutting only once the tail is twice its size keeps the cost per byte constant.
        if self.tail.len() > KEPT {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - HALF);
            self.tail.drain(..cut);
            self.cut += cut;
        }
    }

    fn is_blank(&self) -> bool {
        self.cut == 0 && self.head.trim().is_empty() && self.tail.trim().is_empty()
    }

    /// A line that runs over the middle of a long message is told from there.
    fn last_line(&self) -> Option<&str> {
        let lines = self.head.lines().chain(self.tail.lines());
        lines.rev().map(str::trim).find(|line| !line.is_empty())
    }

    fn to_text(&self) -> String {
        if self.cut == 0 {
            return [self.head.as_str(), self.tail.as_str()].concat();
        }
        format!("{}\n[… {} bytes were cut here …]\n{}", self.head, self.cut, self.tail)
    }
}
