//! TLS for those who must show a certificate: the data planes on other machines.
//!
//! The files belong to a mounted Secret, and change under us. What is new is taken when it is whole; what cannot be read
//! is said, and the last good one goes on.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use axum::serve::Listener;
use sluice_xds::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tracing::{debug, info, warn};

use sluice_tasks::Tasks;

use crate::clients::Clients;
use crate::refused_peers::RefusedPeers;

/// How often the files are looked at. A rotated certificate is valid long before the old one ends.
const LOOK: Duration = Duration::from_secs(5);
/// Time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Handshakes at the same time; further ones wait. Who has shown no certificate is anybody.
const HANDSHAKES: usize = 4096;
/// Of one address; further ones are closed.
const HANDSHAKES_OF_ADDRESS: usize = 1024;
/// Handshaken connections that may wait to be served.
const WAITING: usize = 64;

/// Current certificate, and the authorities of accepted clients.
#[derive(Clone, Debug)]
pub struct ServerTls {
    current: watch::Receiver<Arc<ServerConfig>>,
}

impl ServerTls {
    /// Reads the folder, then follows it for as long as the receiver lives.
    pub fn follow(folder: PathBuf, tasks: &Tasks) -> anyhow::Result<Self> {
        let mut files = Files::read(&folder)?;
        let first = files
            .parse()
            .with_context(|| folder.display().to_string())?;
        let (sender, current) = watch::channel(first);
        tasks.spawn("xds certificates", async move {
            while !sender.is_closed() {
                tokio::time::sleep(LOOK).await;
                let found = Files::read(&folder);
                let Ok(found) =
                    found.inspect_err(|error| warn!("the certificate stays: {error:#}"))
                else {
                    continue;
                };
                if found == files {
                    continue;
                }
                files = found;
                match files.parse() {
                    Ok(config) => {
                        info!("{}: new certificates", folder.display());
                        sender.send_replace(config);
                    }
                    Err(error) => warn!(
                        "{}: the last good certificates stay: {error:#}",
                        folder.display()
                    ),
                }
            }
        });
        Ok(ServerTls { current })
    }

    /// A listener of connections whose handshake is done: a slow handshake delays no other connection.
    pub fn listen<L>(self, listener: L, tasks: &Tasks) -> TlsListener
    where
        L: Listener<Io = TcpStream, Addr = SocketAddr>,
    {
        let address = listener.local_addr();
        let (sender, handshaken) = mpsc::channel(WAITING);
        tasks.spawn("xds handshakes", async move {
            let mut listener = listener;
            let mut clients = Clients::new(HANDSHAKES, HANDSHAKES_OF_ADDRESS);
            let mut handshakes = JoinSet::new();
            let refused = Arc::new(Mutex::default());
            while !sender.is_closed() {
                let (stream, peer, permit) = clients.accept(&mut listener).await;
                let acceptor = TlsAcceptor::from(self.current.borrow().clone());
                let done = handshake(acceptor, stream, peer, sender.clone(), Arc::clone(&refused));
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

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    done: mpsc::Sender<Handshaken>,
    refused: Arc<Mutex<RefusedPeers>>,
) {
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => drop(done.send((stream, peer)).await),
        // A probe connects and says nothing.
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => debug!("{peer} hung up"),
        Ok(Err(error)) => {
            let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
            match refused.refused(peer.ip(), &error, Instant::now()) {
                Some(line) => warn!("{line}"),
                None => debug!("{peer} was not let in: {error}"),
            }
        }
        Err(_) => debug!("{peer} did not finish its handshake"),
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

/// Files of the directory.
#[derive(PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
}

impl Files {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let read = |name| {
            let path = folder.join(name);
            fs::read(&path).with_context(|| path.display().to_string())
        };
        Ok(Files {
            certificate: read(CERTIFICATE_FILE)?,
            key: read(KEY_FILE)?,
            authority: read(AUTHORITY_FILE)?,
        })
    }

    fn parse(&self) -> anyhow::Result<Arc<ServerConfig>> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authority).context(AUTHORITY_FILE)? {
            roots.add(certificate).context(AUTHORITY_FILE)?;
        }
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let clients = clients.build().context(AUTHORITY_FILE)?;
        let chain = certificates(&self.certificate).context(CERTIFICATE_FILE)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).context(KEY_FILE)?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .context(CERTIFICATE_FILE)?;
        Ok(Arc::new(config))
    }
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    ensure!(
        !certificates.is_empty(),
        "expected a certificate in PEM, got none"
    );
    Ok(certificates)
}
