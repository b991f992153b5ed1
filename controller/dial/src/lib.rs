//! Connections of the controller to addresses that tenants name: authentication services, and pods whose health is checked.
//!
//! ```text
//!   addresses --AddressPolicy--> those that may be dialled --TCP, TLS--> Stream
//! ```
//!
//! Absent on purpose: names. Whoever looks them up says where an address is from.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper_util::client::legacy::connect::{Connected, Connection};
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

/// Something that bytes go over.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// A connection to one of these addresses, the first that answers. This is where every connection to an address of a tenant begins,
/// so here each address is judged, wherever it comes from; no answer makes us ask elsewhere. `tls`: the name, or the address, that
/// TLS asks for; no certificate is verified, as by nginx's defaults.
///
/// # Errors
///
/// Of the last address: it may not be dialled, or nobody is there.
pub async fn dial(
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
    static CONNECTOR: LazyLock<Result<TlsConnector, String>> = LazyLock::new(unverified);
    let name = ServerName::try_from(name.to_owned()).map_err(Error::other)?;
    let connector = CONNECTOR
        .as_ref()
        .map_err(|error| Error::other(error.as_str()))?;
    timeout(CONNECT, connector.connect(name, stream)).await?
}

/// TLS in which any certificate is accepted.
///
/// # Errors
/// Of the cryptography's own: none is known.
pub fn unverified() -> Result<TlsConnector, String> {
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
