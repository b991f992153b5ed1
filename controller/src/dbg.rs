//! `sluice dbg` and `sluice wait-shutdown`: what talks to a controller that runs.

mod table;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::{Method, StatusCode};
use serde_json::Value;
use sluice_dataplane::http_exchange::exchange;
use tokio::net::UnixStream;

use crate::args::{Backends, Certs, Conf, Dbg, DbgCommand, DbgOutput, WaitShutdown};
use crate::output;

/// Nothing that we ask for takes longer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a stopping controller is looked for.
const ASK: Duration = Duration::from_millis(200);

/// Prints what a running controller knows.
pub(crate) fn dbg(args: &Dbg) -> anyhow::Result<()> {
    let text = runtime()?.block_on(answer(args))?;
    Ok(output::print(&format!("{}\n", text.trim_end()))?)
}

async fn answer(args: &Dbg) -> anyhow::Result<String> {
    let read = async |path: &str| get(&args.admin_socket, path).await;
    match &args.command {
        DbgCommand::Backends(which) => backends(&read("/configuration/backends").await?, which),
        DbgCommand::Certs(Certs::Get { hostname }) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._*".contains(c);
            if !hostname.chars().all(plain) {
                bail!("expected a host name, got {hostname:?}");
            }
            certificate(&args.admin_socket, hostname).await
        }
        DbgCommand::Conf(Conf { host: None }) => pretty(&read("/configuration/conf").await?),
        DbgCommand::Conf(Conf { host: Some(host) }) => {
            of_host(&read("/configuration/conf").await?, host)
        }
        DbgCommand::Dashboard => read("/dashboard").await,
        DbgCommand::General => pretty(&read("/configuration/general").await?),
        DbgCommand::Xds => pretty(&read("/xds").await?),
        DbgCommand::Reports(form) => list(&read("/reports").await?, form.output, table::reports),
        DbgCommand::Ingresses(form) => {
            list(&read("/ingresses").await?, form.output, table::ingresses)
        }
    }
}

/// The server, and its handshake if it is not like all others.
fn of_host(text: &str, host: &str) -> anyhow::Result<String> {
    let config: Value = serde_json::from_str(text).context("conf")?;
    let part = |name: &str| config.pointer(&format!("/{name}/{}", escaped(host)));
    let Some(server) = part("servers") else {
        bail!("no host {host:?}; `sluice dbg ingresses` names those there are");
    };
    let mut found = serde_json::json!({ "server": server });
    if let Some(tls) = part("tls") {
        found["tls"] = tls.clone();
    }
    Ok(serde_json::to_string_pretty(&found)?)
}

/// RFC 6901.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn list(text: &str, output: DbgOutput, table: fn(&[Value]) -> String) -> anyhow::Result<String> {
    let all: Vec<Value> = serde_json::from_str(text).context("expected a list")?;
    match output {
        DbgOutput::Text => Ok(table(&all)),
        DbgOutput::Json => Ok(serde_json::to_string_pretty(&all)?),
    }
}

fn backends(text: &str, which: &Backends) -> anyhow::Result<String> {
    let all: Vec<Value> = serde_json::from_str(text).context("backends")?;
    let names = || all.iter().filter_map(|backend| backend["name"].as_str());
    match which {
        Backends::All => Ok(serde_json::to_string_pretty(&all)?),
        Backends::List => Ok(names().collect::<Vec<_>>().join("\n")),
        Backends::Get { name } => match all.iter().find(|backend| backend["name"] == name.as_str())
        {
            Some(backend) => Ok(serde_json::to_string_pretty(backend)?),
            None => bail!("no backend {name:?}; `sluice dbg backends list` names those there are"),
        },
    }
}

fn pretty(text: &str) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(
        &serde_json::from_str::<Value>(text)?,
    )?)
}

async fn get(socket: &Path, path: &str) -> anyhow::Result<String> {
    let (status, text) = ask(connect(socket).await?, Method::GET, path).await?;
    match status {
        StatusCode::OK => Ok(text),
        status => bail!("{}: {path}: {status}: {}", socket.display(), text.trim()),
    }
}

async fn certificate(socket: &Path, hostname: &str) -> anyhow::Result<String> {
    let path = format!("/configuration/certs?hostname={hostname}");
    match ask(connect(socket).await?, Method::GET, &path).await? {
        (StatusCode::OK, chain) => Ok(chain),
        (StatusCode::NOT_FOUND, _) => {
            bail!("no certificate for {hostname:?} but the default one: `sluice dbg certs get _`")
        }
        (status, text) => bail!("{}: {status}: {}", socket.display(), text.trim()),
    }
}

async fn connect(socket: &Path) -> anyhow::Result<UnixStream> {
    let advice = || {
        format!(
            "{}: no controller is listening on this socket (is --admin-socket right?)",
            socket.display()
        )
    };
    UnixStream::connect(socket).await.with_context(advice)
}

/// Tells a controller to stop and returns when it has: the preStop hook.
pub(crate) fn wait_shutdown(args: &WaitShutdown) -> anyhow::Result<()> {
    runtime()?.block_on(stop(&args.admin_socket))
}

async fn stop(socket: &Path) -> anyhow::Result<()> {
    let (status, text) = ask(connect(socket).await?, Method::POST, "/stop").await?;
    if status != StatusCode::ACCEPTED {
        bail!("{}: {status}: {}", socket.display(), text.trim());
    }
    // A process that still answers has not ended. The kubelet ends this wait when the pod's time is over.
    while UnixStream::connect(socket).await.is_ok() {
        tokio::time::sleep(ASK).await;
    }
    Ok(())
}

async fn ask(
    stream: UnixStream,
    method: Method,
    path: &str,
) -> anyhow::Result<(StatusCode, String)> {
    let asked = exchange(stream, method, "sluice", path);
    tokio::time::timeout(TIMEOUT, asked)
        .await
        .with_context(|| format!("{path}: no answer in {TIMEOUT:?}"))?
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"[{"name": "a-web-80"}, {"name": "b-web-80", "port": 80}]"#;

    #[test]
    fn backends_are_named_one_a_line() {
        assert_eq!(
            backends(TWO, &Backends::List).unwrap(),
            "a-web-80\nb-web-80"
        );
    }

    #[test]
    fn one_host_is_found_by_its_name() {
        let config = r#"{"servers": {"a.example": {"routes": [1]}, "_": {"routes": []}}, "tls": {"a.example": {"x": 2}}}"#;
        let found: Value = serde_json::from_str(&of_host(config, "a.example").unwrap()).unwrap();
        assert_eq!(found["server"]["routes"][0], 1);
        assert_eq!(found["tls"]["x"], 2);
        assert!(of_host(config, "_").is_ok());
        for missing in ["b.example", "a.example/routes", ""] {
            let error = of_host(config, missing).unwrap_err().to_string();
            assert!(error.starts_with("no host"), "{missing}: {error}");
        }
    }

    #[test]
    fn one_backend_is_found_by_its_name() {
        let get = |name: &str| {
            backends(
                TWO,
                &Backends::Get {
                    name: name.to_owned(),
                },
            )
        };
        let backend: Value = serde_json::from_str(&get("b-web-80").unwrap()).unwrap();
        assert_eq!(backend["port"], 80);
        assert!(
            get("c")
                .unwrap_err()
                .to_string()
                .starts_with("no backend \"c\"")
        );
    }
}
