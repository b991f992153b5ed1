//! Pods on loopback that answer with what they received.
//!
//! HTTP/1.1 and HTTP/2 on one port, and TLS where a certificate was given. A pod is one listener and one task, so a
//! test starts hundreds of them.

mod received;
mod serve;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::rustls::ServerConfig;

use crate::script::{Answer, Script};

pub use received::{Journal, Received, Transport};

/// The identity of a pod.
#[derive(Clone, Debug)]
pub struct EchoIdentity {
    /// The pod, also in the header `x-pod` of every answer.
    pub pod: String,
    /// Its Service.
    pub service: String,
    /// Its namespace.
    pub namespace: String,
}

impl EchoIdentity {
    /// A pod of a Service in the namespace `default`.
    pub fn of(service: &str, pod: &str) -> EchoIdentity {
        EchoIdentity {
            pod: pod.to_owned(),
            service: service.to_owned(),
            namespace: "default".to_owned(),
        }
    }
}

/// Options of a pod; the default is a plain one without a journal.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Records the requests that it receives.
    pub journal: Option<Journal>,
    /// Its side of TLS.
    pub tls: Option<Arc<ServerConfig>>,
    /// Restricts it to plain text or to TLS.
    pub speaks: Speaks,
    /// Its response to DNS over TCP.
    pub dns: Option<Ipv4Addr>,
    /// Answers that depend on more than the path; a script's answer to that very path comes first.
    pub reflex: Option<Reflex>,
}

/// Response to requests that the script has none for.
pub type Reflex = fn(&Received) -> Option<Answer>;

/// Protocols on a pod's port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaks {
    /// Either, as the client begins.
    #[default]
    Either,
    /// Only plain HTTP.
    Plain,
    /// Only TLS.
    Tls,
}

/// A pod; it ends when this is dropped.
pub struct Echo {
    addr: SocketAddr,
    pod: Arc<Pod>,
    serving: Option<Serving>,
}

/// Dropping `stop` closes the listener and all connections.
struct Serving {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

struct Pod {
    identity: EchoIdentity,
    setup: Setup,
    hits: AtomicU64,
    connections: AtomicU64,
    behaviour: Mutex<Arc<Behaviour>>,
}

#[derive(Default)]
struct Behaviour {
    script: Script,
    /// Requests since the script was set.
    requests: AtomicU64,
}

impl Echo {
    /// Listens and echoes.
    pub async fn start(addr: SocketAddr, identity: EchoIdentity) -> Result<Echo> {
        Echo::start_with(addr, identity, Setup::default()).await
    }

    /// The same, with more.
    pub async fn start_with(
        addr: SocketAddr,
        identity: EchoIdentity,
        setup: Setup,
    ) -> Result<Echo> {
        let (hits, connections) = (AtomicU64::new(0), AtomicU64::new(0));
        let pod = Arc::new(Pod {
            identity,
            setup,
            hits,
            connections,
            behaviour: Mutex::default(),
        });
        let mut echo = Echo {
            addr,
            pod,
            serving: None,
        };
        echo.start_again().await?;
        Ok(echo)
    }

    /// Starts pods SERVICE-0, SERVICE-1 ... on these addresses.
    pub async fn start_all(service: &str, addrs: &[SocketAddr]) -> Result<Vec<Echo>> {
        let mut pods = Vec::new();
        for (n, addr) in addrs.iter().enumerate() {
            let identity = EchoIdentity::of(service, &format!("{service}-{n}"));
            pods.push(Echo::start(*addr, identity).await?);
        }
        Ok(pods)
    }

    /// The listening address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The pod's name.
    pub fn name(&self) -> &str {
        &self.pod.identity.pod
    }

    /// Requests so far, also those that a script failed.
    pub fn hits(&self) -> u64 {
        self.pod.hits.load(Ordering::Relaxed)
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.pod.connections.load(Ordering::Relaxed)
    }

    /// Changes the behaviour for the requests from now on.
    pub fn script(&self, script: Script) {
        *self.pod.behaviour() = Arc::new(Behaviour {
            script,
            requests: AtomicU64::new(0),
        });
    }

    /// Closes the listener and every connection, as a pod that is killed does.
    pub async fn stop(&mut self) {
        if let Some(Serving { stop, task }) = self.serving.take() {
            // Nobody listens, or everybody hears it and goes.
            let _ = stop.send(());
            stop.closed().await;
            // The task has nothing to return; what matters is that the listener is closed.
            let _ = task.await;
        }
    }

    /// Listens on the same address again; nothing to do while it does.
    pub async fn start_again(&mut self) -> Result<()> {
        if self.serving.is_none() {
            let listener = TcpListener::bind(self.addr).await;
            let listener =
                listener.with_context(|| format!("pod {} on {}", self.name(), self.addr))?;
            let (stop, stopped) = watch::channel(());
            let task = tokio::spawn(serve::accept(listener, Arc::clone(&self.pod), stopped));
            self.serving = Some(Serving { stop, task });
        }
        Ok(())
    }
}

impl Pod {
    fn behaviour(&self) -> MutexGuard<'_, Arc<Behaviour>> {
        self.behaviour
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::ingress::certificates::{Authorities, Owner};
    use crate::connection::Connection;
    use crate::dial::Dial;
    use crate::http::{self, Request};
    use crate::ports::Network;
    use crate::tls;
    use serde_json::json;
    use std::time::{Duration, Instant};

    async fn pod() -> (Network, Echo) {
        let network = Network::reserve().unwrap();
        let echo = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0"))
            .await
            .unwrap();
        (network, echo)
    }

    #[tokio::test]
    async fn a_pod_tells_what_it_received() {
        let (_network, echo) = pod().await;
        let request = Request::new("POST", "a.example:80", "/x/../y%2F?q=1")
            .header("a", "1")
            .header("A", "2");
        let response = http::send(echo.addr(), &request.body("hello"))
            .await
            .unwrap();
        let seen = response.json().unwrap();
        assert_eq!((response.status, response.pod()), (200, Some("web-0")));
        assert_eq!(
            (&seen["path"], &seen["query"]),
            (&json!("/x/../y%2F"), &json!("q=1"))
        );
        assert_eq!(
            (&seen["headers"]["a"], &seen["host"]),
            (&json!(["1", "2"]), &json!("a.example:80"))
        );
        assert_eq!(
            (&seen["method"], &seen["body_bytes"]),
            (&json!("POST"), &json!(5))
        );
    }

    #[tokio::test]
    async fn a_script_decides_by_path_and_may_hang_up() {
        let (_network, echo) = pod().await;
        let slow = Answer {
            status: 418,
            body: Some("tea".to_owned()),
            ..Answer::default()
        };
        echo.script(
            Script::status(404)
                .answer("/tea", slow)
                .delay(Duration::from_millis(20)),
        );
        let start = Instant::now();
        let tea = http::get(echo.addr(), "h", "/tea").await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!((tea.status, tea.text().as_str()), (418, "tea"));
        assert_eq!(http::get(echo.addr(), "h", "/").await.unwrap().status, 404);
        echo.script(Script::hang_up());
        assert!(http::get(echo.addr(), "h", "/").await.is_err());
    }

    #[tokio::test]
    async fn a_pod_remembers_how_a_connection_began() {
        let network = Network::reserve().unwrap();
        let mut authorities = Authorities::default();
        let journal = Journal::default();
        let identity = authorities
            .described("a.example")
            .unwrap()
            .identity()
            .unwrap();
        let setup = Setup {
            journal: Some(journal.clone()),
            tls: Some(tls::server_config(identity).unwrap()),
            ..Setup::default()
        };
        let echo = Echo::start_with(network.pod(0), EchoIdentity::of("web", "web-0"), setup)
            .await
            .unwrap();
        let mut dial = Dial::tls(echo.addr(), "b.example");
        dial.proxy_line = Some("PROXY TCP4 192.0.2.1 192.0.2.2 1 2".to_owned());
        dial.tls.as_mut().unwrap().identity =
            Some(authorities.client("CN=me").unwrap().identity().unwrap());
        let mut connection = Connection::dial(&dial).await.unwrap();
        assert_eq!(
            connection
                .send(&Request::get("h", "/"))
                .await
                .unwrap()
                .pod(),
            Some("web-0")
        );
        assert_eq!(
            Owner::of(connection.certificate().unwrap())
                .unwrap()
                .common_name,
            "a.example"
        );
        let seen = journal.since(0).remove(0).connection;
        assert_eq!((seen.tls, seen.sni.as_deref()), (true, Some("b.example")));
        assert_eq!(seen.proxy_line, dial.proxy_line);
        assert_eq!(
            Owner::of(&seen.client_certificate.unwrap())
                .unwrap()
                .common_name,
            "me"
        );
    }
}
