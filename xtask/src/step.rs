//! One line for each step: a tick, what it was, and the seconds.

use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const COLUMNS: usize = 78;
/// Without a terminal to draw on, a long step says this often that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// A step that runs.
pub(crate) struct Step {
    title: String,
    started: Instant,
    terminal: bool,
    spoke: Instant,
}

impl Step {
    /// Begins a step.
    pub(crate) fn start(title: &str) -> Step {
        let now = Instant::now();
        let step = Step {
            title: title.to_owned(),
            started: now,
            terminal: io::stderr().is_terminal(),
            spoke: now,
        };
        if step.terminal {
            step.draw("");
        }
        step
    }

    /// Runs a command quietly; what it wrote is shown only when it fails.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<()> {
        let (status, output) = self.capture(command)?;
        if !status.success() {
            self.clear();
            output
                .lines()
                .filter(|line| !is_chatter(line))
                .for_each(say);
            bail!("{} failed ({})", self.title, text(command));
        }
        Ok(())
    }

    /// Runs a command and gives what it wrote; the last line of stderr shows while it runs.
    pub(crate) fn capture(&mut self, command: &mut Command) -> Result<(ExitStatus, String)> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Cargo says how far it is to terminals only, unless it is told otherwise.
        command
            .env("CARGO_TERM_PROGRESS_WHEN", "always")
            .env("CARGO_TERM_PROGRESS_WIDTH", "80");
        let mut child = command.spawn().with_context(|| missing(command))?;
        let mut stdout = child.stdout.take().context("the step's stdout")?;
        let results = thread::spawn(move || {
            let mut text = Vec::new();
            stdout
                .read_to_end(&mut text)
                .map(|_| String::from_utf8_lossy(&text).into_owned())
        });
        let mut output = String::new();
        let stderr = child.stderr.take().context("the step's stderr")?;
        let mut line = Vec::new();
        for byte in BufReader::new(stderr).bytes().chain([Ok(b'\n')]) {
            match byte? {
                // Progress is drawn over itself.
                b'\n' | b'\r' => self.read(&String::from_utf8_lossy(&line), &mut output),
                other => {
                    line.push(other);
                    continue;
                }
            }
            line.clear();
        }
        if let Ok(results) = results.join() {
            output.push_str(&results?);
        }
        Ok((child.wait()?, output))
    }

    /// Ends the step well.
    pub(crate) fn done(self) {
        self.clear();
        let seconds = self.started.elapsed().as_secs_f64();
        let tick = if self.terminal {
            "\x1b[32m✓\x1b[0m"
        } else {
            "✓"
        };
        say(&format!("  {tick} {:<40} {seconds:>6.1} s", self.title));
    }

    fn read(&mut self, line: &str, output: &mut String) {
        if let Some((done, all)) = crates(line) {
            self.progress(&format!("{done} of {all} crates"));
        } else if !line.trim().is_empty() {
            if !is_chatter(line) {
                self.progress(line.trim());
            }
            output.push_str(line);
            output.push('\n');
        }
    }

    fn progress(&mut self, line: &str) {
        if self.terminal {
            self.draw(line);
        } else if self.spoke.elapsed() > SIGN_OF_LIFE {
            self.spoke = Instant::now();
            say(&format!("  … {}: {line}", self.title));
        }
    }

    fn draw(&self, detail: &str) {
        let line = format!("  … {} {detail}", self.title);
        let line: String = line.chars().take(COLUMNS).collect();
        write(&format!("\r\x1b[2K{line}"));
    }

    fn clear(&self) {
        if self.terminal {
            write("\r\x1b[2K");
        }
    }
}

/// `Building [==>     ] 34/414: tokio`; an installation says no `Building`.
fn crates(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start().trim_start_matches("Building ");
    let (_, counts) = line.strip_prefix('[')?.split_once("] ")?;
    counts.split(':').next()?.trim().split_once('/')
}

/// Returns `true` for progress lines of cargo.
fn is_chatter(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    [
        "Compiling",
        "Checking",
        "Downloading",
        "Downloaded",
        "Updating",
        "Blocking",
        "Locking",
    ]
    .contains(&word)
}

impl Drop for Step {
    /// A step that failed leaves no half line.
    fn drop(&mut self) {
        self.clear();
    }
}

/// Writes a line for the user.
pub(crate) fn say(line: &str) {
    write(&format!("{}\n", line.trim_end()));
}

fn write(text: &str) {
    // There is nobody to tell when stderr is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Advice for a program that is missing.
pub(crate) fn missing(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let package = match &*program {
        "python3" => "python3 python3-venv",
        other => other,
    };
    format!(
        "cannot start {program}: install it (Debian: apt-get install {package}) and run this again"
    )
}

fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
