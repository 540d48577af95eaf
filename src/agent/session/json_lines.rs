use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::{
    LoadSessionError, Session, SessionEvent, SessionEventKind, SessionHeader, SessionPrefix, SessionWriter,
};

const VERSION: u32 = 1;

impl Session {
    /// Writes the log as JSON Lines: a header, then one event a line.
    ///
    /// # Errors
    ///
    /// When writing fails, or when a provider-defined content block cannot be read any more.
    pub fn write_json_lines(&self, mut writer: impl Write) -> io::Result<()> {
        write_line(
            &mut writer,
            &HeaderLine { version: VERSION, kind: HeaderKind::Session, header: self.header() },
        )?;
        for event in self.snapshot().events() {
            write_line(&mut writer, event)?;
        }
        writer.flush()
    }

    /// Reads a log that [`write_json_lines`](Self::write_json_lines) wrote, and checks it. Empty lines are skipped.
    ///
    /// A turn that was cut off may be the last; it is kept as it is.
    ///
    /// # Errors
    ///
    /// When the log is broken: the error names the line and what is wrong with it.
    pub fn read_json_lines(reader: impl BufRead) -> Result<Self, LoadSessionError> {
        let mut lines = (1..).zip(reader.lines());
        let (_, first) = lines.next().ok_or(LoadSessionError::Empty)?;
        let first = first.map_err(|source| LoadSessionError::Io { line: 1, source })?;
        let header: HeaderLine<SessionHeader> =
            serde_json::from_str(&first).map_err(|source| LoadSessionError::Header { source })?;
        if header.version != VERSION {
            return Err(LoadSessionError::Version { version: header.version });
        }
        let seed_length = header.header.seed_length;
        let session = Self::new(header.header, SessionPrefix::default());
        let mut seed_ends = seed_length == 0;
        for (line, text) in lines {
            let text = text.map_err(|source| LoadSessionError::Io { line, source })?;
            if text.trim().is_empty() {
                continue;
            }
            let event: SessionEvent =
                serde_json::from_str(&text).map_err(|source| LoadSessionError::Event { line, source })?;
            let mut log = session.log();
            let expected = log.len();
            if event.sequence != expected {
                return Err(LoadSessionError::Sequence { line, expected, found: event.sequence });
            }
            seed_ends |=
                expected + 1 == seed_length && matches!(event.kind, SessionEventKind::TurnEnd { .. });
            log.append(event.kind).map_err(|source| LoadSessionError::Order { line, source })?;
        }
        if seed_ends { Ok(session) } else { Err(LoadSessionError::Seed { seed_length }) }
    }
}

impl SessionWriter {
    /// Reads a log to go on with it: as [`Session::read_json_lines`], and what an interruption left open is
    /// [closed](Self::close_interrupted).
    ///
    /// # Errors
    ///
    /// When the log is broken: the error names the line and what is wrong with it.
    pub fn read_json_lines(reader: impl BufRead) -> Result<Self, LoadSessionError> {
        Session::read_json_lines(reader).map(Self::from_loaded)
    }
}

fn write_line(writer: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, line)?;
    writer.write_all(b"\n")
}

#[derive(Serialize, Deserialize)]
struct HeaderLine<H> {
    #[serde(rename = "type")]
    kind: HeaderKind,
    version: u32,
    #[serde(flatten)]
    header: H,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HeaderKind {
    Session,
}
