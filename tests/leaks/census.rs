//! What this program has: open files, and processes that it started.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Open files and processes at one time.
#[derive(Debug, PartialEq)]
pub(crate) struct Census {
    files: Vec<String>,
    /// Zombies are dead, but nobody collected them: they count.
    processes: Vec<String>,
}

impl Census {
    pub(crate) fn take() -> Self {
        let own = std::process::id().to_string();
        let mut files: Vec<_> = fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .map(|target| target.display().to_string())
            .filter(|target| !target.starts_with("/proc/"))
            .map(|target| target.split(':').next().unwrap_or_default().to_owned())
            .collect();
        files.sort();
        let mut processes: Vec<_> = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
            .filter(|stat| parent(stat) == Some(&own))
            .collect();
        processes.sort();
        Self { files, processes }
    }
}

/// The parent in `/proc/PID/stat`: the second field behind the name, which may hold anything.
fn parent(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)
}

/// Holds off the other tests of this program.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn an_open_file_and_a_process_are_seen() {
    let _alone = alone();
    let before = Census::take();
    let file = fs::File::open("Cargo.toml").unwrap();
    assert_ne!(Census::take(), before);
    drop(file);
    let mut process = std::process::Command::new("true").spawn().unwrap();
    // Dead or alive, it is there until it is waited for.
    assert_ne!(Census::take(), before);
    process.wait().unwrap();
    assert_eq!(Census::take(), before);
}
