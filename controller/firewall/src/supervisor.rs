//! Starts the process when there are rules, starts it again when it ends, and gives it its rules.

use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{error, info, warn};

use crate::connection::Connection;
use crate::wire::{Answer, Loaded, Wanted};

/// Stack of the engine's threads: as much as the main thread of nginx has. Patterns may recurse.
const STACK: usize = 8 << 20;
/// From its start to its socket.
const START: Duration = Duration::from_secs(10);
/// Starts without an answer, before publications go on without it.
const FAILURES: u32 = 3;
/// Pauses before it is started again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));

pub(crate) async fn run(
    connection: Connection,
    flags: Vec<&'static str>,
    mut wanted: watch::Receiver<Wanted>,
    answers: watch::Sender<Answer>,
) {
    // Without a handle nothing is asked for any more.
    if wanted.wait_for(|wanted| wanted.number > 0).await.is_err() {
        return std::future::pending().await;
    }
    let mut pause = PAUSES.0;
    let mut failures = 0;
    loop {
        let began = Instant::now();
        match start(connection.socket(), &flags) {
            Ok(mut child) => {
                wanted.mark_changed();
                // Waiting would close it.
                let _open = child.stdin.take();
                let audit_log = forward_lines(child.stdout.take());
                let supervised = async {
                    tokio::select! {
                        ended = child.wait() => match ended {
                            Ok(status) => warn!("the web application firewall ended with {status}; its paths answer 503 until it is back"),
                            Err(error) => error!("the web application firewall cannot be watched: {error}"),
                        },
                        () = follow(&connection, &mut wanted, &answers) => {}
                    }
                    child.kill().await.ok();
                };
                tokio::join!(supervised, audit_log);
            }
            Err(error) => error!("the web application firewall cannot be started: {error:#}"),
        }
        failures = if is_answered(&wanted, &answers) {
            0
        } else {
            failures + 1
        };
        if failures >= FAILURES {
            give_up(&wanted, &answers);
        }
        pause = if began.elapsed() > PAUSES.1 {
            PAUSES.0
        } else {
            (pause * 2).min(PAUSES.1)
        };
        sleep(pause).await;
    }
}

fn is_answered(wanted: &watch::Receiver<Wanted>, answers: &watch::Sender<Answer>) -> bool {
    answers.borrow().number >= wanted.borrow().number
}

/// Publications do not wait for it any longer: without an engine, what may reject is closed. Other rules are tried again.
fn give_up(wanted: &watch::Receiver<Wanted>, answers: &watch::Sender<Answer>) {
    let reason = "its process ends before it has read the rules";
    error!("no web application firewall: {reason}");
    let loaded = Arc::new(Loaded {
        no_engine: Some(reason.to_owned()),
        ..Loaded::default()
    });
    let number = wanted.borrow().number;
    answers.send_replace(Answer { number, loaded });
}

/// The same program. It ends with its standard input, whatever this process ends by.
fn start(socket: &Path, flags: &[&str]) -> anyhow::Result<Child> {
    std::fs::remove_file(socket).ok();
    let own = std::env::current_exe().ok().filter(|own| own.is_file());
    let mut command = Command::new(own.as_deref().unwrap_or(Path::new("/proc/self/exe")));
    command.arg("firewall").arg("--socket").arg(socket);
    command
        .args(flags)
        .env("RUST_MIN_STACK", STACK.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("start")
}

/// Copies its audit log to our standard output, until it closes its own. The engine opens the file by its name: of a regular file it would
/// have a position of its own, and we would overwrite its lines; a socket it could not open.
async fn forward_lines(from: Option<ChildStdout>) {
    let Some(from) = from else {
        return;
    };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let mut is_lost = false;
    while from
        .read_until(b'\n', &mut line)
        .await
        .is_ok_and(|read| read > 0)
    {
        // Whoever reads it slowly holds up this worker, as with the log.
        let mut to = io::stdout().lock();
        let result = to.write_all(&line).and_then(|()| to.flush());
        if let Some(error) = result.as_ref().err().filter(|_| !is_lost) {
            warn!("lines of the audit log are lost: {error}");
        }
        is_lost = result.is_err();
        line.clear();
    }
}

/// Gives the process all rules, as often as they change. Returns if it does not take them.
async fn follow(
    connection: &Connection,
    wanted: &mut watch::Receiver<Wanted>,
    answers: &watch::Sender<Answer>,
) {
    let began = Instant::now();
    while connection.connect().await.is_err() {
        if began.elapsed() > START {
            error!("the web application firewall does not listen");
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    while wanted.changed().await.is_ok() {
        let Wanted { number, rules } = wanted.borrow_and_update().clone();
        match connection.load(&rules).await {
            Ok(loaded) => {
                match &loaded.no_engine {
                    Some(reason) => error!("no web application firewall: {reason}"),
                    None => {
                        let count = rules.sets.len();
                        let plural = if count == 1 { "" } else { "s" };
                        info!("web application firewall: {count} set{plural} of rules");
                    }
                }
                let loaded = Arc::new(loaded);
                answers.send_replace(Answer { number, loaded });
            }
            Err(error) => {
                error!("the web application firewall does not take its rules: {error:#}");
                return;
            }
        }
    }
    std::future::pending::<()>().await;
}
