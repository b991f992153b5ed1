//! Containers of pods: their logs, the pages that they serve, and commands that run in them. A container is an environment of this
//! machine, and the page's port is a port of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;

use super::fake::Reply;
use super::reply::Refusal;
use crate::http;

/// One container.
#[derive(Clone, Debug, Default)]
pub struct Container {
    /// Environment of commands; nothing else is in it.
    pub environment: Vec<(String, String)>,
    /// Its log.
    pub log: String,
    /// Its HTTP server, on whatever port.
    pub page: Option<SocketAddr>,
}

/// By `namespace/pod`.
pub(super) type Containers = BTreeMap<String, Container>;

/// A request to a pod itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToPod {
    /// `namespace/pod`.
    pub(super) pod: String,
    pub(super) part: Part,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Log,
    Exec,
    /// A path of its server.
    Page(String),
}

impl ToPod {
    /// `None` for another path.
    pub(super) fn parse(path: &str) -> Option<ToPod> {
        let rest = path.strip_prefix("/api/v1/namespaces/")?;
        let (namespace, rest) = rest.split_once("/pods/")?;
        let (name, rest) = rest.split_once('/')?;
        let (name, part) = match (name.split_once(':'), rest) {
            (None, "log") => (name, Part::Log),
            (None, "exec") => (name, Part::Exec),
            (Some((name, _)), rest) => (name, Part::Page(rest.strip_prefix("proxy")?.to_owned())),
            _ => return None,
        };
        Some(ToPod {
            pod: format!("{namespace}/{name}"),
            part,
        })
    }
}

/// The page as the server behind the proxy has it.
pub(super) async fn page(container: &Container, path: &str) -> Result<Bytes, Refusal> {
    let unavailable =
        |why: String| Refusal::unavailable(&format!("error trying to reach service: {why}"));
    let addr = container
        .page
        .ok_or_else(|| unavailable("connection refused".to_owned()))?;
    let answer = http::get(addr, "pod", path).await;
    let answer = answer.map_err(|error| unavailable(format!("{error:#}")))?;
    Ok(Bytes::from(answer.text()))
}

const PROTOCOL: &str = "v5.channel.k8s.io";

/// Switches to the protocol of remote commands, and runs the command.
pub(super) fn exec(container: Container, request: Request<Incoming>) -> Option<Response<Reply>> {
    let accept = accept(request.headers())?;
    let query = request.uri().query().unwrap_or_default();
    let words = super::target::parameters(query).into_iter();
    let words: Vec<String> = words
        .filter(|(key, _)| key == "command")
        .map(|(_, word)| word)
        .collect();
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            run(container, words, TokioIo::new(upgraded)).await;
        }
    });
    let response = Response::builder()
        .status(101)
        .header("upgrade", "websocket")
        .header("connection", "Upgrade")
        .header("sec-websocket-protocol", PROTOCOL)
        .header("sec-websocket-accept", accept);
    response.body(Reply::Whole(None)).ok()
}

/// RFC 6455, 4.2.2.
fn accept(headers: &HeaderMap) -> Option<String> {
    let protocols = headers.get("sec-websocket-protocol")?.to_str().ok()?;
    if !protocols.contains(PROTOCOL) {
        return None;
    }
    let mut hash = Sha1::new();
    hash.update(headers.get("sec-websocket-key")?.as_bytes());
    hash.update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    Some(STANDARD.encode(hash.finalize()))
}

async fn run(
    container: Container,
    words: Vec<String>,
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
) {
    let mut words = words.iter();
    let program = words.next().cloned().unwrap_or_default();
    let path = container
        .environment
        .iter()
        .find(|(name, _)| name == "PATH");
    // As in a container: found in its own PATH.
    let file = path.map(|(_, folder)| std::path::Path::new(folder).join(&program));
    let mut command = Command::new(file.unwrap_or_else(|| program.clone().into()));
    command
        .args(words)
        .env_clear()
        .envs(container.environment)
        .stdin(Stdio::null());
    let status = match command.output().await {
        Ok(output) => {
            send(&mut stream, 1, &output.stdout).await;
            send(&mut stream, 2, &output.stderr).await;
            match output.status.code() {
                Some(0) => json!({ "status": "Success" }),
                code => {
                    let code = code.unwrap_or(137).to_string();
                    let cause = json!({ "reason": "ExitCode", "message": code });
                    json!({
                        "status": "Failure", "reason": "NonZeroExitCode", "message": format!("exit code {code}"),
                        "details": { "causes": [cause] },
                    })
                }
            }
        }
        Err(error) => json!({ "status": "Failure", "message": format!("{program}: {error}") }),
    };
    send(&mut stream, 3, status.to_string().as_bytes()).await;
    // A close frame, and until the client has taken it.
    stream.write_all(&[0x88, 2, 0x03, 0xe8]).await.ok();
    let mut rest = Vec::new();
    let closed = stream.read_to_end(&mut rest);
    tokio::time::timeout(std::time::Duration::from_secs(2), closed)
        .await
        .ok();
}

/// One binary frame: the channel and its bytes.
async fn send(stream: &mut (impl AsyncWrite + Unpin), channel: u8, bytes: &[u8]) {
    let length = bytes.len() + 1;
    let mut frame = vec![0x82];
    match u16::try_from(length) {
        Ok(short @ ..126) => frame.extend(short.to_be_bytes().get(1..).unwrap_or_default()),
        Ok(length) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.push(channel);
    frame.extend(bytes);
    // Whoever hangs up needs no answer.
    stream.write_all(&frame).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fake_apiserver_knows_requests_to_pods() {
        let parsed = |path: &str| ToPod::parse(path).map(|found| (found.pod, found.part));
        let pod = || "n/p".to_owned();
        assert_eq!(
            parsed("/api/v1/namespaces/n/pods/p/log"),
            Some((pod(), Part::Log))
        );
        assert_eq!(
            parsed("/api/v1/namespaces/n/pods/p/exec"),
            Some((pod(), Part::Exec))
        );
        assert_eq!(
            parsed("/api/v1/namespaces/n/pods/p:80/proxy/metrics"),
            Some((pod(), Part::Page("/metrics".to_owned())))
        );
        for other in [
            "/api/v1/namespaces/n/pods/p",
            "/api/v1/namespaces/n/pods/p/status",
            "/api/v1/pods",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
