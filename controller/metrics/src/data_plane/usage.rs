//! Resources of the data plane's processes.

use procfs::ProcResult;
use procfs::process::Process;

/// Resources that processes use, in sum. That of workers which have ended is their master's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// Processes that are alive.
    pub(super) processes: u32,
    pub(super) cpu_seconds: f64,
    /// Bytes.
    pub(super) resident: f64,
    /// Bytes.
    pub(super) virtual_memory: f64,
    /// Seconds since the epoch when the oldest process started; 0 if there is none.
    pub(super) started: f64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

impl Usage {
    pub(super) fn of(pids: &[u32]) -> Self {
        let mut usage = Usage::default();
        for pid in pids.iter().filter(|pid| **pid > 0) {
            // One that has ended in the meantime uses nothing.
            let _ = usage.add(*pid);
        }
        usage
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn add(&mut self, pid: u32) -> ProcResult<()> {
        let process = Process::new(pid.cast_signed())?;
        let stat = process.stat()?;
        let ticks = procfs::ticks_per_second() as f64;
        let ended = u64::try_from(stat.cutime + stat.cstime).unwrap_or_default();
        let started = procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks;
        self.processes += 1;
        self.cpu_seconds += (stat.utime + stat.stime + ended) as f64 / ticks;
        self.resident += (stat.rss * procfs::page_size()) as f64;
        self.virtual_memory += stat.vsize as f64;
        if self.started == 0.0 || started < self.started {
            self.started = started;
        }
        // Only its own user may look.
        if let Ok(io) = process.io() {
            self.read_bytes += io.rchar;
            self.written_bytes += io.wchar;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_counts_as_none() {
        let own = std::process::id();
        let usage = Usage::of(&[own, 0, own]);
        assert_eq!(usage.processes, 2);
        assert!(usage.resident > 0.0 && usage.started > 0.0);
        assert_eq!(Usage::of(&[0]), Usage::default());
    }
}
