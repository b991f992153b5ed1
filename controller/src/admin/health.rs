//! Whether this controller and its data plane are fit to serve.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use hyper::Method;
use tokio::net::TcpStream;

use crate::envoy_admin;
use crate::view::View;

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    view: View,
    data_plane: Probe,
    timeout: Duration,
    stopping: AtomicBool,
}

/// How the data plane that is our child is asked.
#[derive(Clone, Debug)]
pub(crate) enum Probe {
    /// By its admin socket.
    Envoy(PathBuf),
    /// By its process, 0 while there is none, and by a connection where it serves.
    Nginx { pid: Arc<AtomicU32>, http: SocketAddr },
    /// There is none.
    Nobody,
}

impl Probe {
    async fn ask(&self) -> Result<(), String> {
        match self {
            Probe::Envoy(socket) => match envoy_admin::call(socket, Method::GET, "/ready").await {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("envoy is not ready: {error:#}")),
            },
            Probe::Nginx { pid, .. } if pid.load(Ordering::Relaxed) == 0 => {
                Err("nginx does not run".to_owned())
            }
            Probe::Nginx { http, .. } => match TcpStream::connect(http).await {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("nginx does not serve: {error}")),
            },
            Probe::Nobody => Ok(()),
        }
    }
}

impl Health {
    pub(crate) fn new(view: View, data_plane: Probe, timeout: Duration) -> Self {
        Health(Arc::new(Inner { view, data_plane, timeout, stopping: AtomicBool::new(false) }))
    }

    /// From here on nobody should send anything new here.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether something has been published, ever.
    pub(crate) fn is_initialized(&self) -> bool {
        self.0.view.is_published()
    }

    /// Every check in order; the first that fails says why.
    pub(crate) async fn check(&self) -> Result<(), String> {
        if self.0.stopping.load(Ordering::Relaxed) {
            return Err("stopping".to_owned());
        }
        if !self.is_initialized() {
            return Err("nothing has been published yet".to_owned());
        }
        let asked = tokio::time::timeout(self.0.timeout, self.0.data_plane.ask()).await;
        asked.unwrap_or_else(|_| Err(format!("the data plane did not answer in {:?}", self.0.timeout)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn health_comes_with_the_first_publication_and_goes_with_the_stop() {
        let view = View::default();
        let health = Health::new(view.clone(), Probe::Nobody, Duration::from_secs(1));
        assert_eq!(health.check().await.unwrap_err(), "nothing has been published yet");
        view.note_published();
        assert_eq!(health.check().await, Ok(()));
        health.stop();
        assert_eq!(health.check().await.unwrap_err(), "stopping");
    }

    #[tokio::test]
    async fn an_envoy_that_is_gone_is_not_healthy() {
        let view = View::default();
        view.note_published();
        let health = Health::new(view, Probe::Envoy("/nowhere/envoy.sock".into()), Duration::from_secs(1));
        assert!(health.check().await.unwrap_err().starts_with("envoy is not ready"));
    }

    #[tokio::test]
    async fn an_nginx_is_healthy_while_it_runs_and_listens() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (pid, http) = (Arc::new(AtomicU32::new(0)), listener.local_addr().unwrap());
        let view = View::default();
        view.note_published();
        let probe = Probe::Nginx { pid: Arc::clone(&pid), http };
        let health = Health::new(view, probe, Duration::from_secs(1));
        assert_eq!(health.check().await.unwrap_err(), "nginx does not run");
        pid.store(1, Ordering::Relaxed);
        assert_eq!(health.check().await, Ok(()));
        drop(listener);
        assert!(health.check().await.unwrap_err().starts_with("nginx does not serve"));
    }
}
