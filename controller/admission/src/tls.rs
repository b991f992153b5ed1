//! TLS towards the API server, with a certificate that changes under us.
//!
//! The files belong to a mounted Secret. What is new is taken when certificate and key fit together; what cannot be
//! read is said, and the last good pair goes on. HTTP/2 is off, as in ingress-nginx: one connection, one question.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tracing::{debug, info, warn};

use sluice_tasks::Tasks;

/// How often the files are looked at. A rotated certificate is valid long before the old one ends.
const LOOK: Duration = Duration::from_secs(1);
/// Time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
const HEADERS: Duration = Duration::from_secs(10);
/// Connections at the same time. An API server keeps a few.
const MOST_CONNECTIONS: usize = 256;

/// Certificate and key as they are now.
pub(super) struct Certificate {
    current: watch::Receiver<Arc<ServerConfig>>,
}

impl Certificate {
    /// Reads the files, then follows them for as long as the receiver lives.
    pub(super) fn follow(certificate: &Path, key: &Path, tasks: &Tasks) -> anyhow::Result<Self> {
        let paths = [certificate.to_owned(), key.to_owned()];
        let mut files = read(&paths)?;
        let (sender, current) = watch::channel(parse(&files)?);
        tasks.spawn("admission certificate", async move {
            while !sender.is_closed() {
                tokio::time::sleep(LOOK).await;
                let found = match read(&paths) {
                    Ok(found) if found != files => found,
                    // A rotation replaces one file after the other; the next look finds both.
                    _ => continue,
                };
                files = found;
                match parse(&files) {
                    Ok(config) => {
                        info!("admission: new certificate");
                        sender.send_replace(config);
                    }
                    Err(error) => warn!("admission: the last good certificate stays: {error:#}"),
                }
            }
        });
        Ok(Certificate { current })
    }
}

type Files = [Vec<u8>; 2];

fn read([certificate, key]: &[PathBuf; 2]) -> anyhow::Result<Files> {
    let read = |path: &Path, flag: &str| {
        fs::read(path).with_context(|| format!("{flag} {}", path.display()))
    };
    Ok([
        read(certificate, "--validating-webhook-certificate")?,
        read(key, "--validating-webhook-key")?,
    ])
}

fn parse([certificate, key]: &Files) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.context("--validating-webhook-certificate")?;
    ensure!(
        !chain.is_empty(),
        "--validating-webhook-certificate: expected a certificate in PEM, got none"
    );
    let key = PrivateKeyDer::from_pem_slice(key).context("--validating-webhook-key")?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("--validating-webhook-certificate and --validating-webhook-key")?;
    Ok(Arc::new(config))
}

/// Serves until the runtime ends.
pub(super) async fn serve(listener: TcpListener, certificate: Certificate, router: Router) {
    let turns = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // The semaphore is never closed.
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors: some will be free again.
                debug!("admission: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let acceptor = TlsAcceptor::from(certificate.current.borrow().clone());
        let router = router.clone();
        connections.spawn(async move {
            if let Err(error) = connection(stream, acceptor, router).await {
                debug!("admission: {error:#}");
            }
            drop(turn);
        });
        // A panic has ended one connection.
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    router: Router,
) -> anyhow::Result<()> {
    let stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await??;
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await?;
    Ok(())
}
