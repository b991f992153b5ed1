//! TLS whose files belong to a mounted Secret, and change under us. What is new is taken when it is whole; what cannot be read is said,
//! and the last good one goes on.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use axum::serve::Listener;
use sluice_tasks::Tasks;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Timeout;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};
use tracing::{debug, info, warn};

use crate::clients::Clients;
use crate::refused_peers::RefusedPeers;

/// How often the files are looked at. A rotated certificate is valid long before the old one ends.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Handshaken connections that may wait to be served.
const WAITING: usize = 64;

/// TLS handshakes at the same time: whoever has shown no certificate is anybody.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeLimits {
    /// Of all. Further ones wait.
    pub total: usize,
    /// Of one address. Further ones are closed.
    pub per_address: usize,
    /// Time for one.
    pub timeout: Duration,
}

impl HandshakeLimits {
    /// For data planes, which may all come back at once.
    pub const DATA_PLANES: HandshakeLimits = HandshakeLimits {
        total: 4096,
        per_address: 1024,
        timeout: Duration::from_secs(5),
    };
    /// For API servers.
    pub const API_SERVERS: HandshakeLimits = HandshakeLimits {
        total: 256,
        per_address: 64,
        timeout: Duration::from_secs(5),
    };
}

/// A file in PEM.
#[derive(Clone, Debug)]
pub struct TlsFile {
    /// Path.
    pub path: PathBuf,
    /// Flag that names it, for errors.
    pub flag: &'static str,
}

/// Files of a listener's TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Name of the listener, for the log.
    pub listener: &'static str,
    /// Certificate, and its chain.
    pub certificate: TlsFile,
    /// Key of the certificate.
    pub key: TlsFile,
    /// Authority of the certificates that clients must show, over TLS 1.3; `None`: they need none.
    pub authority: Option<TlsFile>,
    /// Advice on an error of a handshake, by the words of rustls.
    pub advice: fn(&str) -> &'static str,
}

/// Current certificate, and the authority of accepted clients.
#[derive(Clone, Debug)]
pub struct ServerTls {
    current: watch::Receiver<Arc<ServerConfig>>,
    listener: &'static str,
    advice: fn(&str) -> &'static str,
}

impl ServerTls {
    /// Reads the files, then follows them for as long as the receiver lives.
    pub fn follow(files: TlsFiles, tasks: &Tasks) -> anyhow::Result<Self> {
        let mut known = files.read()?;
        let (sender, current) = watch::channel(files.parse(&known)?);
        let tls = ServerTls {
            current,
            listener: files.listener,
            advice: files.advice,
        };
        tasks.spawn(format!("{} certificate", files.listener), async move {
            let name = files.listener;
            let mut unreadable = String::new();
            while !sender.is_closed() {
                tokio::time::sleep(POLL_INTERVAL).await;
                let found = match files.read() {
                    Ok(found) if found != known => found,
                    Ok(_) => continue,
                    Err(error) => {
                        let error = format!("{error:#}");
                        if error != unreadable {
                            warn!(
                                "{name}: cannot load the certificate, previous one kept: {error}"
                            );
                            unreadable = error;
                        }
                        continue;
                    }
                };
                unreadable.clear();
                known = found;
                match files.parse(&known) {
                    Ok(config) => {
                        info!("{name}: certificate reloaded");
                        sender.send_replace(config);
                    }
                    Err(error) => {
                        warn!("{name}: cannot load the certificate, previous one kept: {error:#}");
                    }
                }
            }
        });
        Ok(tls)
    }

    /// A listener of connections whose handshake is done: a slow handshake delays no other connection.
    pub fn listen<L>(self, listener: L, limits: HandshakeLimits, tasks: &Tasks) -> TlsListener
    where
        L: Listener<Io = TcpStream, Addr = SocketAddr>,
    {
        let address = listener.local_addr();
        let (sender, handshaken) = mpsc::channel(WAITING);
        tasks.spawn(format!("{} handshakes", self.listener), async move {
            let mut listener = listener;
            let mut clients = Clients::new(limits.total, limits.per_address);
            let mut handshakes = JoinSet::new();
            let refused = Arc::new(Mutex::new(RefusedPeers::new(self.advice)));
            while !sender.is_closed() {
                let (stream, peer, permit) = clients.accept(&mut listener).await;
                let acceptor = TlsAcceptor::from(self.current.borrow().clone());
                let handshake = tokio::time::timeout(limits.timeout, acceptor.accept(stream));
                let done = finish(handshake, peer, sender.clone(), Arc::clone(&refused));
                handshakes.spawn(async move {
                    done.await;
                    drop(permit);
                });
                // A panic has ended one connection.
                while handshakes.try_join_next().is_some() {}
            }
        });
        TlsListener {
            address,
            handshaken,
        }
    }
}

type Handshaken = (TlsStream<TcpStream>, SocketAddr);

async fn finish(
    handshake: Timeout<Accept<TcpStream>>,
    peer: SocketAddr,
    done: mpsc::Sender<Handshaken>,
    refused: Arc<Mutex<RefusedPeers>>,
) {
    match handshake.await {
        Ok(Ok(stream)) => drop(done.send((stream, peer)).await),
        // A probe connects and says nothing.
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => debug!("{peer} hung up"),
        Ok(Err(error)) => {
            let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
            match refused.refused(peer.ip(), &error, Instant::now()) {
                Some(line) => warn!("{line}"),
                None => debug!("{peer} rejected: {error}"),
            }
        }
        Err(_) => debug!("TLS handshake with {peer} timed out"),
    }
}

/// TLS listener for axum.
pub struct TlsListener {
    address: io::Result<SocketAddr>,
    handshaken: mpsc::Receiver<Handshaken>,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Handshaken {
        match self.handshaken.recv().await {
            Some(connection) => connection,
            // The accepting task ends only after us.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.address {
            Ok(address) => Ok(*address),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

/// Contents of the files.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Option<Vec<u8>>,
}

impl TlsFile {
    fn name(&self) -> String {
        format!("{} {}", self.flag, self.path.display())
    }

    fn read(&self) -> anyhow::Result<Vec<u8>> {
        fs::read(&self.path).with_context(|| self.name())
    }

    fn certificates(&self, pem: &[u8]) -> anyhow::Result<Vec<CertificateDer<'static>>> {
        let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.with_context(|| self.name())?;
        ensure!(
            !certificates.is_empty(),
            "{}: expected a certificate in PEM, got none",
            self.name()
        );
        Ok(certificates)
    }
}

impl TlsFiles {
    fn read(&self) -> anyhow::Result<Contents> {
        Ok(Contents {
            certificate: self.certificate.read()?,
            key: self.key.read()?,
            authority: self.authority.as_ref().map(TlsFile::read).transpose()?,
        })
    }

    fn parse(&self, contents: &Contents) -> anyhow::Result<Arc<ServerConfig>> {
        let provider = Arc::new(ring::default_provider());
        let chain = self.certificate.certificates(&contents.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key).with_context(|| self.key.name())?;
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let config = match self.authority.as_ref().zip(contents.authority.as_ref()) {
            None => config
                .with_safe_default_protocol_versions()?
                .with_no_client_auth(),
            Some((file, pem)) => {
                let mut roots = RootCertStore::empty();
                for certificate in file.certificates(pem)? {
                    roots.add(certificate).with_context(|| file.name())?;
                }
                let clients =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let clients = clients.build().with_context(|| file.name())?;
                config
                    .with_protocol_versions(&[&TLS13])?
                    .with_client_cert_verifier(clients)
            }
        };
        let config = config
            .with_single_cert(chain, key)
            .with_context(|| format!("{} and {}", self.certificate.name(), self.key.name()))?;
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests;
