use rustix::process::Pid;

/// The live processes that belong to `leader`'s group or carry `mark`; `None` where there is no process table.
pub(super) fn live(leader: Pid, mark: &str) -> Option<Vec<i32>> {
    Some(
        table(leader)?
            .filter(|process| process.in_group || process.carries(mark))
            .map(|process| process.pid)
            .collect(),
    )
}

/// The live processes that carry `mark` and left `leader`'s group.
pub(super) fn outside(leader: Pid, mark: &str) -> Vec<Pid> {
    table(leader)
        .into_iter()
        .flatten()
        .filter(|process| !process.in_group && process.carries(mark))
        .filter_map(|process| Pid::from_raw(process.pid))
        .collect()
}

struct Process {
    pid: i32,
    in_group: bool,
    /// Its start is not before the leader's.
    young: bool,
}

impl Process {
    fn carries(&self, mark: &str) -> bool {
        self.young
            && std::fs::read(format!("/proc/{}/environ", self.pid))
                .is_ok_and(|environment| memchr::memmem::find(&environment, mark.as_bytes()).is_some())
    }
}

/// Every live process, zombies left out.
#[cfg(target_os = "linux")]
fn table(leader: Pid) -> Option<impl Iterator<Item = Process>> {
    let leader = leader.as_raw_pid();
    // The leader is not reaped yet, so that its line is there.
    let born = Stat::of(leader)?.born;
    let entries = std::fs::read_dir("/proc").ok()?;
    Some(entries.filter_map(move |entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = Stat::of(pid)?;
        (!matches!(stat.state, 'Z' | 'X')).then_some(Process {
            pid,
            in_group: stat.group == leader,
            young: stat.born >= born,
        })
    }))
}

#[cfg(not(target_os = "linux"))]
fn table(_leader: Pid) -> Option<std::iter::Empty<Process>> {
    None
}

#[cfg(target_os = "linux")]
struct Stat {
    state: char,
    group: i32,
    born: u64,
}

#[cfg(target_os = "linux")]
impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let (_, fields) = line.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            group: fields.nth(1)?.parse().ok()?,
            born: fields.nth(16)?.parse().ok()?,
        })
    }
}
