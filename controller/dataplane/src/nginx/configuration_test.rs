//! `nginx -t`: whether nginx accepts a configuration.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, anyhow};
use tokio::process::Command;

#[cfg(debug_assertions)]
use crate::fault;
use crate::private_file;

/// Why nginx does not get a configuration.
#[derive(Debug)]
pub(super) enum Rejection {
    /// nginx rejects it with this message.
    Invalid(String),
    /// It could not be tested, which is no fault of its own.
    Untested(anyhow::Error),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Invalid(message) => f.write_str(message),
            Rejection::Untested(error) => write!(f, "{error:#}"),
        }
    }
}

impl From<anyhow::Error> for Rejection {
    fn from(error: anyhow::Error) -> Self {
        Rejection::Untested(error)
    }
}

/// The configuration file that nginx loads.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join("nginx.conf")
}

/// Tests a configuration, and makes it the one that nginx loads next. A rejected one changes nothing.
pub(super) async fn install(program: &Path, directory: &Path, text: &str) -> Result<(), Rejection> {
    let candidate = directory.join("candidate.conf");
    test(program, directory, &candidate, text).await?;
    // Atomic, because both are on one file system.
    std::fs::rename(&candidate, file(directory)).context("nginx.conf")?;
    Ok(())
}

/// Writes a configuration to `candidate` and has nginx test it.
pub(super) async fn test(
    program: &Path,
    directory: &Path,
    candidate: &Path,
    text: &str,
) -> Result<(), Rejection> {
    #[cfg(debug_assertions)]
    let text = fault::spoiled(text).into_owned();
    private_file::write(candidate, text.as_bytes())
        .with_context(|| candidate.display().to_string())?;
    let mut command = Command::new(program);
    command
        .args(["-t", "-q", "-e", "stderr", "-p"])
        .arg(directory)
        .arg("-c")
        .arg(candidate);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = command
        .output()
        .await
        .with_context(|| format!("cannot start {}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = message(&String::from_utf8_lossy(&output.stderr), candidate);
    Err(match is_about_modules(&message) {
        true => Rejection::Untested(anyhow!(
            "nginx cannot load a module (--nginx-module is the path of Sluice's): {message}"
        )),
        false => Rejection::Invalid(message),
    })
}

/// True of nginx's message about a module that it cannot load, or that is not Sluice's: then no directive is at fault. It names the file, or
/// the first directive that the file should have brought.
fn is_about_modules(message: &str) -> bool {
    const BEGINNINGS: [&str; 4] = [
        "dlopen() \"",
        "dlsym() \"",
        "module \"",
        "unknown directive \"sluice_",
    ];
    BEGINNINGS.iter().any(|it| message.starts_with(it))
}

/// nginx's message without what differs each time: `TIME [emerg] PID#TID: MESSAGE in FILE:LINE`.
fn message(stderr: &str, file: &Path) -> String {
    let file = format!(" in {}", file.display());
    let message = |line: &str| {
        let (_, message) = line.split_once(" [emerg] ")?.1.split_once(": ")?;
        Some(message.split(&file).next()?.to_owned())
    };
    let messages: Vec<String> = stderr.lines().filter_map(message).collect();
    if messages.is_empty() {
        stderr.trim_end().to_owned()
    } else {
        messages.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_no_time_pid_or_line() {
        let file = Path::new("/run/probe.conf");
        let stderr =
            "2026/11/22 21:33:08 [emerg] 150#150: unknown directive \"x\" in /run/probe.conf:189\n";
        assert_eq!(message(stderr, file), "unknown directive \"x\"");
        assert_eq!(message("nginx: no memory\n", file), "nginx: no memory");
    }

    #[test]
    fn modules_that_cannot_be_loaded_are_told_from_directives() {
        for message in [
            "dlopen() \"/x.so\" failed (/x.so: invalid ELF header)",
            "dlsym() \"/x.so\", \"ngx_modules\" failed (/x.so: undefined symbol: ngx_modules)",
            "module \"/x.so\" version 1022001 instead of 1026003",
            "module \"/x.so\" is not binary compatible",
            "unknown directive \"sluice_filter\"",
        ] {
            assert!(is_about_modules(message), "{message}");
        }
        for message in [
            "unknown directive \"x\"",
            "\"sluice_filter\" directive is duplicate",
            "invalid number of arguments in \"proxy_pass\" directive",
        ] {
            assert!(!is_about_modules(message), "{message}");
        }
    }
}
