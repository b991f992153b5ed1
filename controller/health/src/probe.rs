//! One check of one endpoint: a GET, of which the status counts.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use sluice_ir::BackendId;
use sluice_translate::{AddressPolicy, Provenance};
use tokio::time::timeout;

use crate::targets::{Targets, Tls};

/// Longest head of a response.
const LONGEST_HEAD: usize = 64 << 10;

/// An endpoint that is checked.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) backend: BackendId,
    pub(crate) endpoint: SocketAddr,
    pub(crate) targets: Arc<Targets>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: endpoint {}", self.backend, self.endpoint)
    }
}

/// Checks an endpoint. The error says why it has failed.
pub(crate) async fn send(target: &Target, policy: &AddressPolicy) -> Result<(), String> {
    let check = &target.targets.check;
    let patience = Duration::from_millis(check.timeout.get().into());
    let status = timeout(patience, ask(target, policy)).await;
    let status = status.map_err(|_| format!("no answer in {patience:?}"))??;
    if check.statuses.contains(status.as_u16()) {
        Ok(())
    } else {
        Err(format!(
            "expected status {}, got {}",
            check.statuses,
            status.as_u16()
        ))
    }
}

async fn ask(target: &Target, policy: &AddressPolicy) -> Result<StatusCode, String> {
    let Target {
        endpoint, targets, ..
    } = target;
    let port = targets.check.port.map_or(endpoint.port(), Into::into);
    let address = SocketAddr::new(endpoint.ip(), port);
    let tls = match &targets.tls {
        Tls::Never => None,
        Tls::Named(name) => Some(name.clone().unwrap_or_else(|| address.ip().to_string())),
    };
    // The translation has judged where the address is from; here it is judged again because of the port.
    let dialled = sluice_dial::dial(&[address], tls.as_deref(), policy, Provenance::Written).await;
    let stream = dialled.map_err(|error| format!("cannot connect to {address}: {error}"))?;
    let request = request(target, address)?;
    let failed = |error: hyper::Error| format!("no response: {error}");
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(LONGEST_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    tokio::select! {
        response = sender.send_request(request) => response.map(|response| response.status()).map_err(failed),
        Err(error) = connection => Err(failed(error)),
    }
}

fn request(target: &Target, address: SocketAddr) -> Result<Request<Empty<Bytes>>, String> {
    let check = &target.targets.check;
    let host = check.host.clone().unwrap_or_else(|| address.to_string());
    Request::get(check.path.as_str())
        .header(HOST, host)
        .header(
            USER_AGENT,
            concat!("sluice-health/", env!("CARGO_PKG_VERSION")),
        )
        .header(CONNECTION, "close")
        .body(Empty::new())
        .map_err(|error| error.to_string())
}
