//! Processes in `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// CPU time of all threads, ended ones too, user and system; in steps of one tick (10 ms).
pub fn cpu_time(pid: u32) -> Result<Duration> {
    let stat = Stat::read(pid)?;
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs(stat.ticks) / u32::try_from(ticks_per_second).unwrap_or(100))
}

/// Memory of the process that is in RAM, in bytes.
pub fn resident_memory(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmRSS:")
}

/// The most memory that the process ever had in RAM, in bytes.
pub fn peak_memory(pid: u32) -> Result<u64> {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, field: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid}"))?;
    let kib = text.lines().find_map(|line| {
        let value = line.strip_prefix(field)?.trim().strip_suffix(" kB")?;
        value.parse::<u64>().ok()
    });
    Ok(kib.with_context(|| format!("{field} of process {pid}"))? * 1024)
}

/// The processes that `pid` started and that still run.
///
/// The kernel lists them by the thread that started each; there is no need to look at every process of the machine.
pub fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<u32> = lists.flat_map(|list| numbers(&list)).collect();
    pids.into_iter()
        .filter(|child| is_running(*child))
        .collect()
}

fn numbers(list: &str) -> Vec<u32> {
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The name of the program, cut at 15 characters by the kernel.
pub fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .ok()
        .map(|name| name.trim().to_owned())
}

/// Returns `true` if it still runs; a zombie does not.
pub fn is_running(pid: u32) -> bool {
    Stat::read(pid).is_ok_and(|stat| stat.state != "Z")
}

/// The fields of /proc/PID/stat that are needed here.
struct Stat {
    state: String,
    /// utime + stime of the thread group.
    ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Result<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("process {pid}"))?;
        Stat::parse(&text).with_context(|| format!("/proc/{pid}/stat: {text}"))
    }

    /// `PID (name, which may hold spaces and brackets) S PPID ...`
    fn parse(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Stat {
            state: (*fields.first()?).to_owned(),
            ticks: number(11)? + number(12)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_is_read_past() {
        let stat = Stat::parse("7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 40 2 0 0 20").unwrap();
        assert_eq!((stat.state.as_str(), stat.ticks), ("S", 42));
    }

    #[test]
    fn this_process_runs_and_uses_cpu() {
        assert!(is_running(std::process::id()));
        assert!(cpu_time(std::process::id()).is_ok());
        let resident = resident_memory(std::process::id()).unwrap();
        assert!(resident > 0 && peak_memory(std::process::id()).unwrap() >= resident);
    }
}
