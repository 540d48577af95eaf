use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// Ends the group if this process ends without a word: by a signal, by `exit`, by a crash.
///
/// Nothing of ours runs then, so another program has to: a shell that waits for the end of the pipe we hold, gives
/// the group time to notice the end of its own, and then ends it.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r _
i=0
while [ $i -lt 60 ]; do
  kill -s 0 -- "-$1" 2>/dev/null || exit 0
  [ $i -eq 30 ] && kill -s TERM -- "-$1" 2>/dev/null
  sleep 0.1
  i=$((i+1))
done
kill -s KILL -- "-$1" 2>/dev/null
"#;

/// Watches over one group for as long as it is held.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn over(leader: Pid) -> Option<Self> {
        use std::os::unix::process::CommandExt as _;
        let started = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "subagent-watchdog"])
            .arg(leader.as_raw_pid().to_string())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt at the terminal is for us, and it must outlive us.
            .process_group(0)
            .spawn();
        match started {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                tracing::warn!(%error, "no shell to watch over an ACP child: it may outlive a crash of this process");
                None
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            tracing::warn!(%error, "a watchdog over an ACP child cannot be ended");
        }
    }
}
