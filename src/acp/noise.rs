use std::collections::VecDeque;

/// How many of the first lines are kept.
const FIRST: usize = 3;
/// How many of the last lines are kept.
const LAST: usize = 5;
/// How many bytes of a line are kept.
const LINE_BYTES: usize = 200;

/// Lines that are not the protocol's: the first and last few are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Noise {
    first: Vec<String>,
    last: VecDeque<String>,
    pub(super) count: u64,
}

impl Noise {
    pub(super) fn add(&mut self, line: &str) {
        self.count += 1;
        let line = shortened(line);
        if self.first.len() < FIRST {
            self.first.push(line);
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(&self.last).map(String::as_str)
    }
}

/// The start of a text, and how much was left out.
pub(super) fn shortened(text: &str) -> String {
    if text.len() <= LINE_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LINE_BYTES);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_and_last_few_lines_and_counts_all() {
        let mut noise = Noise::default();
        for number in 0..1_000 {
            noise.add(&number.to_string());
        }
        let kept: Vec<_> = noise.lines().collect();
        assert_eq!(kept, ["0", "1", "2", "995", "996", "997", "998", "999"]);
        assert_eq!(noise.count, 1_000);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut noise = Noise::default();
        noise.add(&"é".repeat(1_000));
        let line = noise.lines().next().unwrap();
        assert!(line.ends_with("… (2000 bytes)") && line.len() < 250, "{line}");
    }
}
