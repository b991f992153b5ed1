//! The requests of a check, sent, and what came back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::request::{Prepared, Protocol};
use super::when::When;
use crate::connection::Connection;
use crate::http::Response;
use crate::http2;

/// Longer than any answer that a case waits for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One request and what came of it.
#[derive(Debug)]
pub struct Exchange {
    /// The answer, or why there is none.
    pub answer: Result<Response>,
    /// The server's certificate, in DER.
    pub certificate: Option<Vec<u8>>,
}

/// Sends all requests, in the order of their preparation as far as `concurrency` and `rate` say so.
pub async fn send_all(when: &When, requests: Vec<Prepared>) -> Result<Vec<Exchange>> {
    let period = when.rate.as_ref().map(period).transpose()?;
    // At a given rate the next request does not wait for the last answer.
    let at_once = if period.is_some() {
        requests.len()
    } else {
        when.concurrency.unwrap_or(1)
    };
    let permits = Arc::new(Semaphore::new(at_once.max(1)));
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (n, request) in requests.into_iter().enumerate() {
        if let Some(period) = period {
            let at = start + period * u32::try_from(n).unwrap_or(u32::MAX);
            tokio::time::sleep_until(at.into()).await;
        }
        let permit = Arc::clone(&permits).acquire_owned().await?;
        running.spawn(async move {
            let exchange = send(&request).await;
            drop(permit);
            (n, exchange)
        });
    }
    let mut done = Vec::new();
    while let Some(exchange) = running.join_next().await {
        done.push(exchange.context("a request")?);
    }
    done.sort_by_key(|(n, _)| *n);
    Ok(done.into_iter().map(|(_, exchange)| exchange).collect())
}

/// A number of requests in a second, also as `"5/s"` or `"300/m"`.
fn period(rate: &Value) -> Result<Duration> {
    let text = rate
        .as_str()
        .map_or_else(|| rate.to_string(), str::to_owned);
    let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/' || c == ' ');
    let seconds = if text.ends_with("/m") || text.ends_with("rpm") {
        60.0
    } else {
        1.0
    };
    let rate: f64 = number.parse().with_context(|| format!("rate {text:?}"))?;
    Duration::try_from_secs_f64(seconds / rate).with_context(|| format!("rate {text:?}"))
}

/// Sends one request on a connection of its own.
pub async fn send(prepared: &Prepared) -> Exchange {
    let mut certificate = None;
    let exchange = async {
        match prepared.protocol {
            Protocol::Http1 => {
                let mut connection = Connection::dial(&prepared.dial).await?;
                certificate = connection.certificate().map(<[u8]>::to_vec);
                connection.send(&prepared.request).await
            }
            Protocol::Http2 | Protocol::Grpc => {
                let dialled = prepared.dial.connect().await?;
                certificate = dialled.certificate;
                let secure = prepared.dial.tls.is_some();
                let is_grpc = prepared.protocol == Protocol::Grpc;
                http2::send(dialled.stream, &prepared.request, secure, is_grpc).await
            }
        }
    };
    let answer = tokio::time::timeout(TIMEOUT, exchange)
        .await
        .context("no answer in time")
        .flatten();
    Exchange {
        answer,
        certificate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rate_is_a_number_in_a_time() {
        assert_eq!(period(&json!(5)).unwrap(), Duration::from_millis(200));
        assert_eq!(period(&json!("10/s")).unwrap(), Duration::from_millis(100));
        assert_eq!(period(&json!("30/m")).unwrap(), Duration::from_secs(2));
        assert!(period(&json!("often")).is_err() && period(&json!(0)).is_err());
    }
}
