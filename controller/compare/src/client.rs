//! One request to one data plane: a connection of its own, bounded in time and size. Redirects are not followed.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::response::Parts;
use hyper_util::rt::TokioIo;
use sha2::{Digest, Sha256};
use sluice_explain::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

use crate::address::{DataPlane, Origin, Resolve};
use crate::body;
use crate::response::{Answered, Failure, Response};
use crate::text::printable;

/// Bytes of a response's head; a longer one is an error.
const HEAD: usize = 128 << 10;
/// Headers of a response.
const HEADERS: usize = 256;
const AGENT: &str = concat!("sluice-compare/", env!("CARGO_PKG_VERSION"));

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Headers in addition to those of a request, in their place where it has them: names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Addresses of names.
    pub resolve: Vec<Resolve>,
    /// For one request and its response.
    pub timeout: Duration,
    /// Bytes of a body that are compared.
    pub most_body: u64,
    /// Certificates are not verified.
    pub insecure: bool,
}

/// A client of one data plane.
pub struct Client {
    plane: DataPlane,
    flag: &'static str,
    settings: Arc<ClientSettings>,
    tls: TlsConnector,
}

impl Client {
    /// Of the data plane that a flag names.
    ///
    /// # Errors
    /// When certificates are to be verified, and this machine has no authorities to do it with.
    pub fn new(
        flag: &'static str,
        plane: DataPlane,
        settings: Arc<ClientSettings>,
    ) -> Result<Client, String> {
        let tls = match settings.insecure {
            true => sluice_dial::unverified()?,
            false => verified()?,
        };
        Ok(Client {
            plane,
            flag,
            settings,
            tls,
        })
    }

    /// The data plane.
    #[must_use]
    pub fn plane(&self) -> &DataPlane {
        &self.plane
    }

    /// Addresses that were given for names.
    pub(crate) fn resolves(&self) -> &[Resolve] {
        &self.settings.resolve
    }

    /// Sends a request, and reads its response.
    pub async fn ask(&self, request: &Request, body: &Bytes) -> Answered {
        let origin = self.plane.of_scheme(&request.scheme);
        let origin = origin.ok_or(Failure::NoAddress(self.flag))?;
        let message = self.message(request, body)?;
        let exchange = async {
            let stream = self.connect(origin).await?;
            if request.scheme != "https" {
                return self.exchange(stream, message, None).await;
            }
            let name = ServerName::try_from(request.host.clone())
                .map_err(|_| Failure::Unsendable("the host is no name for TLS".to_owned()))?;
            let stream = self.tls.connect(name, stream).await;
            let stream = stream.map_err(|error| Failure::Tls(tls_reason(&error, &request.host)))?;
            let certificates = stream.get_ref().1.peer_certificates();
            let certificate = certificates.and_then(|chain| chain.first());
            let hash = certificate.map(|certificate| Sha256::digest(certificate).into());
            self.exchange(stream, message, hash).await
        };
        match timeout(self.settings.timeout, exchange).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::Timeout),
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<TcpStream, Failure> {
        let mut given = self.settings.resolve.iter();
        let addresses: Vec<SocketAddr> = match given.find_map(|resolve| resolve.of(origin)) {
            Some(address) => vec![address],
            None => lookup_host((origin.host.as_str(), origin.port))
                .await
                .map_err(|error| Failure::Unreachable(format!("{}: {error}", origin.host)))?
                .collect(),
        };
        let mut last = Failure::Unreachable("no address".to_owned());
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Err(error) => last = Failure::Unreachable(format!("{address}: {}", error.kind())),
            }
        }
        Err(last)
    }

    fn message(
        &self,
        request: &Request,
        body: &Bytes,
    ) -> Result<hyper::Request<Full<Bytes>>, Failure> {
        let unsendable = |what: &str| Failure::Unsendable(what.to_owned());
        let mut message = hyper::Request::builder()
            .method(request.method.as_str())
            .uri(request.target.as_str())
            .body(Full::new(body.clone()))
            .map_err(|_| unsendable("its target"))?;
        let headers = message.headers_mut();
        let host = HeaderValue::try_from(request.authority());
        headers.insert(HOST, host.map_err(|_| unsendable("its host"))?);
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let is_set = |name: &str| self.settings.headers.iter().any(|(set, _)| set == name);
        let own = request.headers.iter().filter(|(name, _)| !is_set(name));
        for (name, value) in own.chain(&self.settings.headers) {
            let header = (HeaderName::try_from(name), HeaderValue::try_from(value));
            let (Ok(name), Ok(value)) = header else {
                return Err(unsendable("a header"));
            };
            match name == USER_AGENT {
                true => drop(headers.insert(name, value)),
                false => drop(headers.append(name, value)),
            }
        }
        Ok(message)
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        message: hyper::Request<Full<Bytes>>,
        certificate: Option<[u8; 32]>,
    ) -> Answered {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD).max_headers(HEADERS);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| no_response(&error))?;
        let exchange = async {
            let response = sender.send_request(message).await;
            let (head, incoming) = response.map_err(|error| no_response(&error))?.into_parts();
            let encoding = encoding(&head);
            let body = body::read(incoming, encoding.as_deref(), self.settings.most_body).await;
            let headers = head.headers.iter();
            let headers =
                headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
            Ok(Response {
                status: head.status.as_u16(),
                headers: headers.collect(),
                body,
                certificate,
            })
        };
        let driven = async {
            // Its error reaches the request, too.
            connection.await.ok();
            std::future::pending::<Answered>().await
        };
        tokio::select! {
            answered = exchange => answered,
            never = driven => never,
        }
    }
}

fn encoding(head: &Parts) -> Option<String> {
    let value = head.headers.get("content-encoding")?;
    Some(value.to_str().ok()?.trim().to_ascii_lowercase())
}

fn no_response(error: &hyper::Error) -> Failure {
    let reason = match error {
        error if error.is_parse_too_large() => "its head is too large",
        error if error.is_parse() => "it is not HTTP/1.1",
        error if error.is_incomplete_message() => "the connection ended before it",
        _ => "the connection was reset or closed",
    };
    Failure::NoResponse(reason.to_owned())
}

fn tls_reason(error: &std::io::Error, host: &str) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match (cause, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(error)), _) => {
            let reason = certificate_reason(error, host);
            format!(
                "{reason}; SSL_CERT_FILE names authorities, and --insecure does not verify certificates"
            )
        }
        (Some(error), _) => error.to_string(),
        (None, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
            "the connection ended".to_owned()
        }
        (None, kind) => kind.to_string(),
    }
}

fn certificate_reason(error: &CertificateError, host: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "its certificate is signed by no authority of this machine".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is not for {}", printable(host))
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::Revoked => "its certificate is revoked".to_owned(),
        other => format!("its certificate cannot be verified: {other}"),
    }
}

/// Certificates are verified by the authorities of this machine.
fn verified() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests;
