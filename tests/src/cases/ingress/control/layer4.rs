//! TCP services: connections to a port, and what comes back.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::check::texts;
use super::super::then::Then;
use super::super::traffic::Exchange;
use super::super::when::When;
use super::super::world::World;
use crate::connection::Connection;
use crate::dial::Dial;
use crate::dns;
use crate::http::{Request, Response};

/// Time for a server that may say nothing.
const SILENCE: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Asked for when only an answer is wanted.
const ANY_NAME: &str = "sluice-cases.test";

impl World {
    /// Connects, sends, and takes what comes back for an answer.
    pub async fn connect(&self, port: u16, when: &When) -> Exchange {
        let exchange = async {
            let dial = Dial {
                addr: self.pods.tcp(port)?,
                proxy_line: when.proxy_header.clone(),
                tls: None,
            };
            match when.send.as_deref() {
                Some(text) if text.starts_with("HTTP ") => http(&dial, text).await,
                text => raw(&dial, text.unwrap_or_default()).await,
            }
        };
        let answer = tokio::time::timeout(TIMEOUT, exchange)
            .await
            .context("no answer in time")
            .flatten();
        Exchange {
            answer,
            certificate: None,
        }
    }

    /// Asks the first TCP service (or the one of `tcp_connect`) for an address.
    pub async fn ask_dns(&self, question: &Value, when: &When, then: &Then) -> Vec<String> {
        let asked = async {
            let first = || self.model.given.tcp.keys().next()?.parse().ok();
            let number = |value: &Value| value.as_u64().and_then(|port| u16::try_from(port).ok());
            let said = number(question)
                .or_else(|| number(&question["port"]))
                .or(when.tcp_connect);
            let port = said.or_else(first).context("there is no TCP service")?;
            let name = question
                .as_str()
                .or(question["name"].as_str())
                .unwrap_or(ANY_NAME);
            let stream = Dial::plain(self.pods.tcp(port)?).connect().await?.stream;
            dns::ask(stream, name).await
        };
        let asked = tokio::time::timeout(TIMEOUT, asked)
            .await
            .context("no answer in time")
            .flatten();
        match asked {
            Ok(addresses) => {
                let got: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                if let Some(Value::Bool(expected)) = then.answer {
                    let right = expected != got.is_empty();
                    return if right {
                        Vec::new()
                    } else {
                        vec![format!("answer: expected {expected}, got {got:?}")]
                    };
                }
                let missing = then
                    .answer
                    .iter()
                    .flat_map(texts)
                    .filter(|expected| !got.contains(expected));
                missing
                    .map(|expected| format!("answer: expected {expected}, got {got:?}"))
                    .collect()
            }
            Err(error) => vec![format!("dns_over_tcp: {error:#}")],
        }
    }
}

/// `HTTP GET /path`: the request in short.
async fn http(dial: &Dial, text: &str) -> Result<Response> {
    let mut words = text.split_whitespace().skip(1);
    let (method, path) = (words.next().unwrap_or("GET"), words.next().unwrap_or("/"));
    Connection::dial(dial)
        .await?
        .send(&Request::new(method, "tcp.sluice-cases.test", path))
        .await
}

/// Whatever comes back is the body; there is no status.
async fn raw(dial: &Dial, text: &str) -> Result<Response> {
    let mut stream = dial.connect().await?.stream;
    stream.write_all(text.as_bytes()).await?;
    let mut body = Vec::new();
    let listened = tokio::time::timeout(SILENCE, stream.read_to_end(&mut body)).await;
    // A server that keeps the connection is as good as one that closes it in an orderly way.
    if let Ok(Err(error)) = listened {
        return Err(error).context("receive");
    }
    Ok(Response {
        body,
        ..Response::default()
    })
}
