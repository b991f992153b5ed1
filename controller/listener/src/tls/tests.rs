use std::path::Path;

use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::*;
use crate::{ListenerLimits, serve_router, with_write_timeout};

const NAME: &str = "listener.test";
const LIMITS: HandshakeLimits = HandshakeLimits {
    total: 8,
    per_address: 2,
    timeout: Duration::from_hours(1),
};

/// A certificate that signs itself.
fn write_certificate(folder: &Path) {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    fs::write(folder.join("key"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("cert"), made.cert.pem()).unwrap();
}

fn files(folder: &Path, authority: bool) -> TlsFiles {
    let file = |name, flag| TlsFile {
        path: folder.join(name),
        flag,
    };
    TlsFiles {
        listener: "test",
        certificate: file("cert", "--cert"),
        key: file("key", "--key"),
        authority: authority.then(|| file("ca", "--ca")),
        advice: |_| "",
    }
}

async fn connect(from: u8, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind(SocketAddr::from(([127, 0, 0, from], 0)))
        .unwrap();
    socket.connect(server).await.unwrap()
}

/// The response to a request on a connection from this address, which believes this certificate.
async fn ask(from: u8, server: SocketAddr, certificate: &Path) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    let pem = fs::read(certificate).unwrap();
    roots
        .add(CertificateDer::from_pem_slice(&pem).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(NAME).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, connect(from, server).await).await?;
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}

async fn start(folder: &Path) -> SocketAddr {
    write_certificate(folder);
    let tasks = Tasks::default();
    let tls = ServerTls::follow(files(folder, false), &tasks).unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let listener = with_write_timeout(listener, ListenerLimits::WRITE_TIMEOUT);
    let listener = tls.listen(listener, LIMITS, &tasks);
    let router = Router::new().route("/", get(async || "done"));
    tokio::spawn(serve_router(listener, router, ListenerLimits::API_SERVERS));
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[tokio::test]
async fn an_address_with_all_its_handshakes_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).await;
    let _silent = [connect(1, server).await, connect(1, server).await];
    let mut byte = [0];
    // A reset is an end, too.
    let beyond = connect(1, server).await.read(&mut byte).await;
    assert_eq!(beyond.unwrap_or_default(), 0);
    let response = ask(2, server, &folder.path().join("cert")).await.unwrap();
    assert!(response.ends_with("done"), "{response}");
}

#[tokio::test]
async fn a_new_certificate_is_taken_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path()).await;
    let (first, cert) = (folder.path().join("first"), folder.path().join("cert"));
    fs::copy(&cert, &first).unwrap();
    // Half a rotation: the key is another one's.
    let other = tempfile::tempdir().unwrap();
    write_certificate(other.path());
    fs::copy(other.path().join("key"), folder.path().join("key")).unwrap();
    tokio::time::sleep(2 * POLL_INTERVAL).await;
    assert!(ask(1, server, &first).await.is_ok());
    fs::copy(other.path().join("cert"), &cert).unwrap();
    while ask(1, server, &cert).await.is_err() {
        tokio::time::sleep(POLL_INTERVAL / 10).await;
    }
}

#[test]
fn errors_name_the_flag_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = |authority| {
        let files = files(folder.path(), authority);
        let found = files.read().and_then(|contents| files.parse(&contents));
        format!("{:#}", found.err().unwrap())
    };
    assert!(error(false).starts_with("--cert /"), "{}", error(false));
    write_certificate(folder.path());
    assert!(error(true).starts_with("--ca /"), "{}", error(true));
    fs::write(folder.path().join("ca"), "no certificate").unwrap();
    let empty = error(true);
    assert!(
        empty.starts_with("--ca /") && empty.ends_with("expected a certificate in PEM, got none"),
        "{empty}"
    );
    fs::write(folder.path().join("key"), "no key").unwrap();
    assert!(error(false).starts_with("--key /"), "{}", error(false));
}
