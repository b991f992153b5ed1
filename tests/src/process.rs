//! A child process that is captured while it runs and never outlives its owner.

use std::ffi::OsStr;
use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

use crate::log::Log;
use crate::proc;

/// How long a process gets between SIGTERM and SIGKILL; the controller drains its Envoy in that time.
const GRACE: Duration = Duration::from_secs(8);

/// A running child. Dropping it sends SIGTERM and, when that does not help, SIGKILL, to it and to its children.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: Log,
    /// Its children, by id and name: when it dies, nobody else can tell which they were.
    family: Vec<(u32, String)>,
}

impl Process {
    /// Starts `command`; both of its outputs go to the log.
    pub fn spawn(command: Command) -> Result<Process> {
        Process::spawn_with_output(command, None)
    }

    /// The same, with standard output in a file, if there is one: at the position that the file has, as after `>` of a shell.
    pub fn spawn_with_output(mut command: Command, output: Option<File>) -> Result<Process> {
        let program = command.get_program().to_owned();
        let name = name_of(&program);
        command
            .stdin(Stdio::null())
            .stdout(output.map_or_else(Stdio::piped, Stdio::from))
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("start {}", program.display()))?;
        let log = Log::default();
        if let Some(stdout) = child.stdout.take() {
            log.follow(stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            log.follow(stderr);
        }
        Ok(Process {
            name,
            child,
            log,
            family: Vec::new(),
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its output.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Takes note of its children, to end them with it however it ends.
    pub fn remember_children(&mut self) {
        let named = |pid| Some((pid, proc::name(pid)?));
        self.family
            .extend(proc::children(self.pid()).into_iter().filter_map(named));
    }

    /// An error with the end of the log when the process is gone.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            // The reader threads may be a moment behind.
            thread::sleep(Duration::from_millis(50));
            bail!(
                "{} ended with {status}; its log ends\n{}",
                self.name,
                self.log.tail()
            );
        }
        Ok(())
    }

    /// SIGHUP, which asks some programs to read their configuration again.
    pub fn hang_up(&self) {
        signal(self.pid(), Signal::HUP);
    }

    /// SIGTERM, and nothing else.
    pub fn terminate(&self) {
        signal(self.pid(), Signal::TERM);
    }

    /// SIGTERM, then wait; SIGKILL when it takes too long. Blocks the thread: where pods must go on answering
    /// meanwhile, the test needs a multi-threaded runtime.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            // Its id may be somebody else's by now.
            self.kill_family();
            return Ok(status);
        }
        self.remember_children();
        signal(self.pid(), Signal::TERM);
        let status = match self.wait(GRACE)? {
            Some(status) => status,
            None => self.kill()?,
        };
        self.kill_family();
        Ok(status)
    }

    fn kill_family(&mut self) {
        for (pid, name) in self.family.drain(..) {
            if proc::is_running(pid) && proc::name(pid).as_ref() == Some(&name) {
                signal(pid, Signal::KILL);
            }
        }
    }

    /// SIGKILL, then wait.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || start.elapsed() > limit {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A destructor has nobody to tell, and a process that is gone is what is wanted.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.stop();
        }
        self.kill_family();
    }
}

/// Kills a process that this test knows by its id.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Sends a signal, named as in `SIGTERM` (only the first word counts), to a process that this test knows by its id.
pub fn signal_by_name(pid: u32, name: &str) -> Result<()> {
    let name = name.split_whitespace().next().unwrap_or_default();
    let known = match name.trim_start_matches("SIG") {
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "KILL" => Signal::KILL,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        _ => bail!("unknown signal {name:?}"),
    };
    signal(pid, known);
    Ok(())
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The process may be gone already.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn name_of(program: &OsStr) -> String {
    let path = std::path::Path::new(program);
    path.file_name()
        .unwrap_or(program)
        .to_string_lossy()
        .into_owned()
}
