//! Connections to external authentication services.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::Duration;

use hyper_util::client::legacy::connect::{Connected, Connection};
use sluice_resolver::Dns;
use sluice_translate::{AddressPolicy, Provenance};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

/// ingress-nginx: `proxy-connect-timeout`.
const CONNECT: Duration = Duration::from_secs(5);

/// Finds the addresses of services, and judges them by the address policy.
#[derive(Debug)]
pub(super) struct Dialer {
    policy: RwLock<Arc<AddressPolicy>>,
    dns: Dns,
}

impl Dialer {
    pub(super) fn new(policy: AddressPolicy, dns: Dns) -> Self {
        Dialer {
            policy: RwLock::new(Arc::new(policy)),
            dns,
        }
    }

    /// The address policy that holds now.
    pub(super) fn policy(&self) -> Arc<AddressPolicy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the address policy.
    pub(super) fn set_policy(&self, policy: &Arc<AddressPolicy>) {
        if !Arc::ptr_eq(&self.policy(), policy) {
            *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(policy);
        }
    }

    /// The addresses of a name that is only known now, because the client has asked for it.
    pub(super) async fn look_up(
        &self,
        namespace: &str,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Error> {
        if let Ok(ip) = host.parse() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let found = self.dns.look_up_for_client(namespace, host).await;
        let found = found
            .map_err(|failure| Error::new(ErrorKind::NotFound, format!("{host}: {failure}")))?;
        Ok(found
            .into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect())
    }
}

/// Something that bytes go over.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// A connection to one of these addresses, the first that answers. This is where every connection to an authentication service begins, so
/// here each address is judged, wherever it comes from; no answer makes us ask elsewhere.
pub(super) async fn dial(
    addresses: &[SocketAddr],
    tls: Option<&str>,
    policy: &AddressPolicy,
    from: Provenance,
) -> Result<Box<dyn Stream>, Error> {
    let mut last = Error::new(ErrorKind::NotFound, "no address");
    for address in addresses {
        if let Err(forbidden) = policy.check(*address, from) {
            last = Error::new(
                ErrorKind::PermissionDenied,
                format!("{address} is {forbidden}"),
            );
            continue;
        }
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).ok();
                return Ok(match tls {
                    Some(name) => Box::new(shake_hands(stream, name).await?),
                    None => Box::new(stream),
                });
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = Error::from(ErrorKind::TimedOut),
        }
    }
    Err(last)
}

async fn shake_hands(stream: TcpStream, name: &str) -> Result<impl Stream + use<>, Error> {
    /// Made once: it holds what all connections have in common, tickets for shorter handshakes among it.
    static CONNECTOR: LazyLock<Result<TlsConnector, String>> = LazyLock::new(connector);
    let name = ServerName::try_from(name.to_owned()).map_err(Error::other)?;
    let connector = CONNECTOR
        .as_ref()
        .map_err(|error| Error::other(error.as_str()))?;
    timeout(CONNECT, connector.connect(name, stream)).await?
}

fn connector() -> Result<TlsConnector, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// As nginx does: any certificate is accepted.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_that_is_forbidden_is_dialled() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), address.port());
        let dial = async |policy: &AddressPolicy, from| {
            let mut kinds = Vec::new();
            for address in [address, mapped] {
                kinds.push(
                    dial(&[address], None, policy, from)
                        .await
                        .err()
                        .map(|error| error.kind()),
                );
            }
            kinds
        };
        let closed = AddressPolicy::default();
        assert_eq!(
            dial(&closed, Provenance::Written).await,
            [Some(ErrorKind::PermissionDenied); 2]
        );
        let open = AddressPolicy {
            written_loopback: true,
            ..AddressPolicy::default()
        };
        assert_eq!(
            dial(&open, Provenance::Resolved).await,
            [Some(ErrorKind::PermissionDenied); 2]
        );
        assert_eq!(dial(&open, Provenance::Written).await, [None; 2]);
    }
}
