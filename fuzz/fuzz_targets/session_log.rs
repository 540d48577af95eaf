//! A session log read from JSON Lines: it is refused, or it means the same when it is written and read again, also when
//! it was cut off and goes on.

#![no_main]

use libfuzzer_sys::fuzz_target;
use subagent::agent::{Session, SessionWriter};

fuzz_target!(|bytes: &[u8]| {
    let Ok(session) = Session::read_json_lines(bytes) else { return };
    let lines = written(&session);
    let again = Session::read_json_lines(lines.as_slice()).expect("what was written can be read");
    assert_eq!(written(&again), lines);

    let writer = SessionWriter::read_json_lines(bytes).expect("it was read before");
    let closed = writer.session();
    assert_eq!(closed.completed_prefix().len(), closed.len(), "nothing is left open");
    assert!(Session::read_json_lines(written(closed).as_slice()).is_ok());
});

fn written(session: &Session) -> Vec<u8> {
    let mut lines = Vec::new();
    session.write_json_lines(&mut lines).expect("what was read can be written");
    lines
}
