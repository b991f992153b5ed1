//! Output that cannot be written, of every command: never a panic, and the exit codes of coreutils.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::Port;
use sluice_tests::sluice::Options;
use sluice_tests::{artifacts, http, wait};
use tempfile::TempDir;

use crate::fixture::Fixture;

/// Commands without an output of their own, beside their help.
const SILENT: [&str; 5] = ["run", "render", "envoy", "wait-shutdown", "help"];

/// Commands that print; `{socket}` and `{manifests}` are filled in.
const PRINT: [&str; 29] = [
    "bootstrap --admin-socket /run/envoy.sock",
    "lint --manifests {manifests}",
    "lint --manifests {manifests} --output json",
    "lint --manifests {manifests} --output markdown",
    "check --apiserver-host http://127.0.0.1:1",
    "check --apiserver-host http://127.0.0.1:1 --output json",
    "explain http://app.test/ --manifests {manifests}",
    "explain http://app.test/ --manifests {manifests} --output json",
    "compare --old 127.0.0.1:1 --new 127.0.0.1:1 --manifests {manifests}",
    "compare --old 127.0.0.1:1 --new 127.0.0.1:1 --manifests {manifests} --output html",
    "dbg --admin-socket {socket} backends list",
    "dbg --admin-socket {socket} backends all",
    "dbg --admin-socket {socket} backends get default-web-80",
    "dbg --admin-socket {socket} certs get _",
    "dbg --admin-socket {socket} conf",
    "dbg --admin-socket {socket} general",
    "dbg --admin-socket {socket} reports",
    "dbg --admin-socket {socket} ingresses",
    "dbg --admin-socket {socket} conf --host _",
    "kubectl check --apiserver-host http://127.0.0.1:1",
    "certgen version",
    "values",
    "completions bash",
    "completions elvish",
    "completions fish",
    "completions powershell",
    "completions zsh",
    "--help",
    "--version",
];

fn sluice(line: &str) -> Result<Command> {
    let mut command = Command::new(artifacts::sluice()?);
    command.args(line.split_whitespace());
    Ok(command)
}

fn output(line: &str, stdout: impl Into<Stdio>) -> Result<Output> {
    let child = sluice(line)?
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child.wait_with_output()?)
}

/// The subcommands, as the help names them.
fn subcommands() -> Result<Vec<String>> {
    let help = String::from_utf8(output("--help", Stdio::piped())?.stdout)?;
    let (_, rest) = help
        .split_once("Commands:\n")
        .context("no commands in the help")?;
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let names = lines
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// Everything that prints.
fn command_lines(socket: &Path, manifests: &Manifests) -> Result<Vec<String>> {
    let (socket, manifests) = (
        socket.display().to_string(),
        manifests.dir().display().to_string(),
    );
    let mut lines: Vec<String> = PRINT
        .iter()
        .map(|line| {
            line.replace("{socket}", &socket)
                .replace("{manifests}", &manifests)
        })
        .collect();
    for name in subcommands()? {
        let is_known =
            SILENT.contains(&name.as_str()) || lines.iter().any(|line| line.starts_with(&name));
        ensure!(is_known, "add {name} to this test");
        lines.push(format!("help {name}"));
    }
    Ok(lines)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_stdout_is_an_error_and_a_closed_pipe_is_silent() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let controller = Options::new(&fixture.manifests)
        .without_data_plane()
        .start()
        .await?;
    controller.log().wait_for("published").await?;
    for line in command_lines(&controller.admin_socket(), &fixture.manifests)? {
        let full = output(&line, File::options().write(true).open("/dev/full")?)?;
        let stderr = String::from_utf8_lossy(&full.stderr).into_owned();
        let expected = "sluice: write error: No space left on device (os error 28)\n";
        ensure!(
            full.status.code() == Some(1) && stderr == expected,
            "{line} > /dev/full: {}: {stderr}",
            full.status
        );

        let (reader, writer) = io::pipe()?;
        drop(reader);
        let closed = output(&line, writer)?;
        let stderr = String::from_utf8_lossy(&closed.stderr).into_owned();
        ensure!(
            closed.status.code() == Some(141) && stderr.is_empty(),
            "{line} | true: {}: {stderr}",
            closed.status
        );
    }
    controller.stop()
}

#[test]
fn exit_code_survives_an_unwritable_stderr() -> Result<()> {
    for (line, code) in [
        ("lint --manifests /nowhere", 1),
        ("render --manifests /nowhere --out /nowhere", 1),
        ("dbg --admin-socket /nowhere general", 1),
        ("run --manifests /nowhere", 1),
        ("no-such-command", 2),
        ("run --no-such-flag", 2),
    ] {
        let (reader, writer) = io::pipe()?;
        drop(reader);
        for stderr in [
            Stdio::from(writer),
            File::options().write(true).open("/dev/full")?.into(),
        ] {
            let status = sluice(line)?
                .stdout(Stdio::null())
                .stderr(stderr)
                .status()?;
            ensure!(status.code() == Some(code), "{line}: {status}");
        }
    }
    Ok(())
}

#[test]
fn full_disk_error_names_the_file() -> Result<()> {
    let manifests = Manifests::new()?;
    for name in [
        "reports.json",
        "ir.json",
        "plugin.json",
        "nginx.conf",
        "xds.json",
    ] {
        let out = TempDir::new()?;
        symlink("/dev/full", out.path().join(name))?;
        let line = format!(
            "render --manifests {} --out {}",
            manifests.dir().display(),
            out.path().display()
        );
        let rendered = output(&line, Stdio::piped())?;
        let stderr = String::from_utf8_lossy(&rendered.stderr).into_owned();
        let expected = format!(
            "sluice: {}: No space left on device",
            out.path().join(name).display()
        );
        ensure!(
            rendered.status.code() == Some(1) && stderr.starts_with(&expected),
            "{}: {stderr}",
            rendered.status
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controller_serves_when_its_log_is_unwritable() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let run = |health: SocketAddr, folder: &Path| {
        let flags = format!(
            "run --manifests {} --data-plane none --run-dir {} \
             --healthz-host {} --healthz-port {}",
            fixture.manifests.dir().display(),
            folder.display(),
            health.ip(),
            health.port()
        );
        sluice(&flags)
    };
    let (reader, writer) = io::pipe()?;
    drop(reader);
    for stderr in [
        Stdio::from(writer),
        File::options().write(true).open("/dev/full")?.into(),
    ] {
        let (health, folder) = (Port::reserve()?, TempDir::new()?);
        let mut command = run(health.addr(), folder.path())?;
        let filter = artifacts::filter()?;
        let mut child = command
            .arg("--filter-wasm")
            .arg(filter)
            .stderr(stderr)
            .spawn()?;
        let healthy = async || {
            http::get(health.addr(), "health", "/healthz")
                .await
                .ok()
                .filter(|page| page.status == 200)
        };
        let healthy = wait::until("a healthy controller", healthy).await;
        sluice_tests::process::signal_by_name(child.id(), "SIGTERM")?;
        let status = child.wait()?;
        healthy?;
        ensure!(status.success(), "{status}");
    }
    Ok(())
}
