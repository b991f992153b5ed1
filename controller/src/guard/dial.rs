//! Connections to services that decide.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

/// ingress-nginx: `proxy-connect-timeout`.
const CONNECT: Duration = Duration::from_secs(5);

/// Something that bytes go over.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection to one of these addresses, the first that answers.
pub(super) async fn dial(
    addresses: &[SocketAddr],
    tls: Option<&str>,
) -> Result<TokioIo<Box<dyn Stream>>, Error> {
    let mut last = Error::new(ErrorKind::NotFound, "no address");
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).ok();
                return Ok(TokioIo::new(match tls {
                    Some(name) => Box::new(shake_hands(stream, name).await?),
                    None => Box::new(stream),
                }));
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = Error::from(ErrorKind::TimedOut),
        }
    }
    Err(last)
}

/// The addresses of a host that is not one of the cluster. What a name leads to is only known here, so here is where
/// nobody reaches this machine or what tells machines who they are (R9 of the security rules).
pub(super) async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let found = timeout(CONNECT, lookup_host((host, port))).await??;
    let allowed: Vec<SocketAddr> = found.filter(|address| !is_forbidden(address.ip())).collect();
    let nowhere =
        || Error::new(ErrorKind::PermissionDenied, "the name leads to no address that may be asked");
    if allowed.is_empty() { Err(nowhere()) } else { Ok(allowed) }
}

fn is_forbidden(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            ip.is_loopback()
                || ip.is_link_local()
                || ip.is_multicast()
                || ip.is_broadcast()
                || ip.octets()[0] == 0
        }
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.is_unicast_link_local() || ip.is_multicast() || ip.is_unspecified()
        }
    }
}

async fn shake_hands(stream: TcpStream, name: &str) -> Result<impl Stream + use<>, Error> {
    let name = ServerName::try_from(name.to_owned()).map_err(Error::other)?;
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        .with_no_client_auth();
    timeout(CONNECT, TlsConnector::from(Arc::new(config)).connect(name, stream)).await?
}

/// As nginx asks: whoever answers is believed, whatever certificate it has.
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
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_neither_to_this_machine_nor_to_its_cloud() {
        for bad in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "fe80::1",
            "::",
        ] {
            assert!(is_forbidden(bad.parse().unwrap()), "{bad}");
        }
        for good in ["10.0.0.1", "192.0.2.1", "2001:db8::1", "fd00::1"] {
            assert!(!is_forbidden(good.parse().unwrap()), "{good}");
        }
    }
}
