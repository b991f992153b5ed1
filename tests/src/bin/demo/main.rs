//! `cargo xtask demo`: the whole product on one machine, watched while its endpoints change. With `--source kube` its
//! objects are in the cluster that `KUBECONFIG` names, in a namespace of their own that goes when the demo ends.
//!
//! With `--check` it is a test: it ends by itself, and fails when traffic did not follow or a request failed.

mod scene;
mod stage;
mod story;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use sluice_tests::ports::Port;
use tokio::signal::unix::{SignalKind, signal};

use scene::{DataPlane, Scene};
use stage::Stage;
use story::Story;

const DEFAULT_PORT: u16 = 8080;

#[derive(Default)]
struct Args {
    check: bool,
    in_cluster: bool,
    nginx: bool,
    http_port: Option<u16>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let args = parse(std::env::args().skip(1))?;
    // A check must not fail because somebody uses port 8080; a person wants a port to remember.
    let reserved = if args.check {
        Some(Port::reserve()?)
    } else {
        None
    };
    let default = reserved.as_ref().map_or(DEFAULT_PORT, Port::number);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let stage = if args.in_cluster {
        Stage::cluster().await?
    } else {
        Stage::folder()?
    };
    let performed = tokio::select! {
        result = perform(&stage, args.http_port.unwrap_or(default), &args) => result,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
    };
    let cleared = stage.clear().await;
    performed.and(cleared)
}

/// Everything that was started ends when this future is dropped.
async fn perform(stage: &Stage, port: u16, args: &Args) -> Result<()> {
    let data_plane = if args.nginx {
        DataPlane::Nginx
    } else {
        DataPlane::Envoy
    };
    let scene = Scene::start(stage, port, data_plane).await?;
    let mut story = Story::new(&scene);
    story.even_traffic(args.check).await?;
    story.change_endpoints().await?;
    story.verdict()?;
    if args.check {
        return story.end().await;
    }
    story.invite().await
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args> {
    let mut args = Args::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => args.check = true,
            "--source" => {
                args.in_cluster = match words.next().as_deref() {
                    Some("kube") => true,
                    Some("files") => false,
                    other => bail!("--source: expected files or kube, got {other:?}"),
                }
            }
            "--data-plane" => {
                args.nginx = match words.next().as_deref() {
                    Some("nginx") => true,
                    Some("envoy") => false,
                    other => bail!("--data-plane: expected envoy or nginx, got {other:?}"),
                }
            }
            "--http-port" => {
                let port = words.next().context("--http-port: expected a number")?;
                let port = port
                    .parse()
                    .with_context(|| format!("--http-port: expected a number, got {port:?}"))?;
                args.http_port = Some(port);
            }
            other => {
                bail!(
                    "unknown option {other:?}; there are --check, --data-plane envoy|nginx, --source files|kube and \
                    --http-port N"
                )
            }
        }
    }
    Ok(args)
}
