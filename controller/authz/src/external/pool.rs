//! Connections to external authentication services. They are kept and shared by all requests to the same origin, because a
//! handshake per request would cost both sides more than the response; there are never more than [`MOST`] concurrent requests
//! to an origin, and never more idle connections.
//!
//! A URL whose host a client can choose (a variable of the request in `auth-url`) gets a connection of its own, so that
//! invented names leave no connections behind. So does a request that is not idempotent: a service may close an idle connection
//! at any moment, and such a request cannot be sent again.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::http::response::Parts;
use hyper::{Request, Uri};
use hyper_util::client::legacy::{Client, Error as SendError};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use sluice_dial::Stream;
use sluice_translate::Provenance;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower::Service;

use super::dial::Dialer;

/// Requests to one origin at a time; further ones wait for their turn.
const MOST: usize = 256;
/// How long a connection rests before it is closed. nginx: `keepalive_timeout` of an upstream.
const REST: Duration = Duration::from_secs(60);
/// Longest response body, in bytes. It is not used, but has to be read before the connection can be reused; a longer or slower
/// one closes the connection.
const LONGEST_BODY: usize = 64 << 10;
const SLOWEST_BODY: Duration = Duration::from_millis(50);

/// Origin of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The name that TLS asks for; without it, there is none.
    pub(super) tls: Option<String>,
    pub(super) target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An endpoint of a Service.
    Endpoint(SocketAddr),
    /// A host that is looked up, with its port, for a namespace.
    Host {
        namespace: String,
        host: String,
        port: u16,
    },
}

/// How a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// On a connection that was used before, and again where that one has just ended.
    Yes,
    /// On a connection of its own, once.
    No,
}

/// Connector for `hyper_util`.
#[derive(Clone)]
struct Connector(Arc<Dialer>);

type Connected = std::io::Result<TokioIo<Box<dyn Stream>>>;
type Connections = Client<Connector, Empty<Bytes>>;

/// The connections.
pub(super) struct Pool {
    kept: Connections,
    single: Connections,
    turns: Mutex<HashMap<String, Weak<Semaphore>>>,
    /// Identifier of this Sluice in `CDN-Loop`.
    pub(super) cdn_id: String,
}

impl Pool {
    /// Connections are made by `dialer`.
    pub(super) fn new(dialer: Arc<Dialer>, cdn_id: &str) -> Self {
        let connector = Connector(dialer);
        let connections = |at_rest| {
            let mut builder = Client::builder(TokioExecutor::new());
            builder
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(REST)
                .pool_max_idle_per_host(at_rest);
            builder.build(connector.clone())
        };
        let (kept, single) = (connections(MOST), connections(0));
        Pool {
            kept,
            single,
            turns: Mutex::default(),
            cdn_id: cdn_id.to_owned(),
        }
    }

    /// Sends a request to the first of these origins that takes it. Its target is the path.
    pub(super) async fn send(
        &self,
        origins: &[Origin],
        reuse: Reuse,
        request: &Request<Empty<Bytes>>,
    ) -> anyhow::Result<Parts> {
        let mut unreachable = None;
        for origin in origins {
            let sent = match self.send_to(origin, reuse, request).await? {
                // On a connection of its own: others that were kept may have ended as well.
                Err(error) if !error.is_connect() && reuse == Reuse::Yes => {
                    self.send_to(origin, Reuse::No, request).await?
                }
                sent => sent,
            };
            match sent {
                Err(error) if error.is_connect() => unreachable = Some(error),
                sent => return Ok(sent?),
            }
        }
        Err(unreachable.map_or_else(|| anyhow::anyhow!("no address"), Into::into))
    }

    async fn send_to(
        &self,
        origin: &Origin,
        reuse: Reuse,
        request: &Request<Empty<Bytes>>,
    ) -> anyhow::Result<Result<Parts, SendError>> {
        let (key, mut request) = (origin.to_string(), request.clone());
        let uri = Uri::builder()
            .scheme(origin.scheme())
            .authority(key.as_str());
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        *request.uri_mut() = uri.path_and_query(path).build().context("no url")?;
        let turns = self.turns_of(key);
        // The semaphore is never closed.
        let _turn = turns.acquire().await;
        let connections = if reuse == Reuse::Yes {
            &self.kept
        } else {
            &self.single
        };
        Ok(match connections.request(request).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                read_out(body).await;
                Ok(head)
            }
            Err(error) => Err(error),
        })
    }

    fn turns_of(&self, key: String) -> Arc<Semaphore> {
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = all.get(&key).and_then(Weak::upgrade) {
            return turns;
        }
        if all.len() == all.capacity() {
            // Before it grows: of these no request waits any more.
            all.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(MOST));
        all.insert(key, Arc::downgrade(&turns));
        turns
    }
}

/// Without this the connection would end with the body.
async fn read_out(body: Incoming) {
    let body = Limited::new(body, LONGEST_BODY);
    timeout(SLOWEST_BODY, body.collect()).await.ok();
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Connected> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = Arc::clone(&self.0);
        Box::pin(async move { connect(&uri, &dialer).await.map(TokioIo::new) })
    }
}

async fn connect(uri: &Uri, dialer: &Dialer) -> std::io::Result<Box<dyn Stream>> {
    let is_tls = uri.scheme_str() == Some("https");
    let unknown = || std::io::Error::other("no origin");
    let origin = uri
        .authority()
        .and_then(|key| Origin::parse(key.as_str(), is_tls));
    let Origin { tls, target } = origin.ok_or_else(unknown)?;
    let (addresses, from) = match target {
        Target::Endpoint(address) => (vec![address], Provenance::Written),
        Target::Host {
            namespace,
            host,
            port,
        } => (
            dialer.look_up(&namespace, &host, port).await?,
            Provenance::Resolved,
        ),
    };
    sluice_dial::dial(&addresses, tls.as_deref(), &dialer.policy(), from).await
}

impl Origin {
    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The reverse of `Display`.
    fn parse(key: &str, is_tls: bool) -> Option<Self> {
        let (user, at) = key.rsplit_once('@')?;
        let (kind, name) = user.split_once(':')?;
        let target = match kind {
            "endpoint" => Target::Endpoint(at.parse().ok()?),
            _ => {
                let namespace = kind.strip_prefix("host.")?.to_owned();
                let (host, port) = at.rsplit_once(':')?;
                Target::Host {
                    namespace,
                    host: host.to_owned(),
                    port: port.parse().ok()?,
                }
            }
        };
        Some(Origin {
            tls: is_tls.then(|| name.to_owned()),
            target,
        })
    }
}

/// As the authority of a URL, which is what a pool knows connections by. An address that somebody wrote into a URL is a
/// host here, and judged as one.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.tls.as_deref().unwrap_or_default();
        match &self.target {
            Target::Endpoint(address) => write!(f, "endpoint:{name}@{address}"),
            Target::Host {
                namespace,
                host,
                port,
            } => write!(f, "host.{namespace}:{name}@{host}:{port}"),
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
