//! Whether this controller and its data plane are fit to serve.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Method;

use crate::envoy_admin;
use crate::view::View;

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    view: View,
    /// Envoy's admin socket, when Envoy is our child.
    envoy: Option<PathBuf>,
    timeout: Duration,
    stopping: AtomicBool,
}

impl Health {
    pub(crate) fn new(view: View, envoy: Option<PathBuf>, timeout: Duration) -> Self {
        Health(Arc::new(Inner { view, envoy, timeout, stopping: AtomicBool::new(false) }))
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
        let Some(socket) = &self.0.envoy else { return Ok(()) };
        let ready = envoy_admin::call(socket, Method::GET, "/ready");
        match tokio::time::timeout(self.0.timeout, ready).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(format!("envoy is not ready: {error:#}")),
            Err(_) => Err(format!("envoy did not answer in {:?}", self.0.timeout)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn health_comes_with_the_first_publication_and_goes_with_the_stop() {
        let view = View::default();
        let health = Health::new(view.clone(), None, Duration::from_secs(1));
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
        let health = Health::new(view, Some("/nowhere/envoy.sock".into()), Duration::from_secs(1));
        assert!(health.check().await.unwrap_err().starts_with("envoy is not ready"));
    }
}
