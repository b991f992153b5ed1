//! How a request is sent.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http::{Request, Response};
use sluice_tests::http2;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::ClientTls;

use crate::setup::Plane;

const TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Http11,
    Http10,
    /// With the scheme and the host in the target.
    Absolute,
    /// With the headers of a WebSocket.
    Upgrade,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 over TLS.
    Http2,
    /// HTTP/2 without TLS.
    H2c,
}

pub(super) const FORMS: &[Form] = &[
    Form::Http11,
    Form::Http10,
    Form::Absolute,
    Form::Upgrade,
    Form::Tls,
    Form::Http2,
    Form::H2c,
];

impl Form {
    /// Returns `true` if clients of this kind can send the target. nginx speaks HTTP/2 over TLS alone.
    pub(super) fn can_say(self, target: &str, plane: Plane) -> bool {
        let is_http2 = matches!(self, Form::Http2 | Form::H2c);
        !(is_http2 && target.contains(['\\', '#']) || self == Form::H2c && plane == Plane::Nginx)
    }

    pub(super) async fn send(self, sluice: &Sluice, request: &Request) -> Result<Response> {
        let exchange = self.exchange(sluice.http(), sluice.https(), request);
        tokio::time::timeout(TIMEOUT, exchange)
            .await
            .context("no answer in time")?
    }

    async fn exchange(
        self,
        http: SocketAddr,
        https: SocketAddr,
        request: &Request,
    ) -> Result<Response> {
        let host = request
            .headers
            .first()
            .map(|(_, host)| host.as_str())
            .unwrap_or_default();
        let plain = async |request: &Request| Connection::open(http).await?.send(request).await;
        match self {
            Form::Http11 => plain(request).await,
            Form::Http10 => {
                let mut connection = Connection::open(http).await?;
                let bytes = String::from_utf8(request.to_bytes())?.replacen(
                    " HTTP/1.1\r\n",
                    " HTTP/1.0\r\n",
                    1,
                );
                connection.send_bytes(bytes.as_bytes(), false).await
            }
            Form::Absolute => {
                let target = format!("http://{host}{}", request.target);
                plain(&Request {
                    target,
                    ..request.clone()
                })
                .await
            }
            Form::Upgrade => plain(&upgraded(request)).await,
            Form::Tls => Connection::open_tls(https, host).await?.send(request).await,
            Form::Http2 => {
                let tls = ClientTls {
                    sni: Some(host.to_owned()),
                    http2: true,
                    ..ClientTls::default()
                };
                let dial = Dial {
                    tls: Some(tls),
                    ..Dial::plain(https)
                };
                http2::send(dial.connect().await?.stream, request, true, false).await
            }
            Form::H2c => {
                http2::send(
                    Dial::plain(http).connect().await?.stream,
                    request,
                    false,
                    false,
                )
                .await
            }
        }
    }
}

/// The same request, which would go on as a WebSocket.
pub(super) fn upgraded(request: &Request) -> Request {
    request
        .clone()
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}
