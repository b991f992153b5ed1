//! TLS of the test clients and pods: what is shown is looked at, not whether it is valid, but for clients that are to
//! trust one authority.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme, SupportedProtocolVersion,
};

pub use tokio_rustls::rustls::CipherSuite;
pub use tokio_rustls::rustls::version::{TLS12, TLS13};

/// A certificate (its chain, in DER) and its key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key of the first certificate.
    pub key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Identity {
        Identity {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
        }
    }
}

/// The client's side of a handshake.
#[derive(Clone, Debug, Default)]
pub struct ClientTls {
    /// The server name; `None` sends none.
    pub sni: Option<String>,
    /// Certificates, in PEM, that it trusts to sign the server's; `None` accepts any.
    pub authority: Option<String>,
    /// The client's certificate.
    pub identity: Option<Identity>,
    /// HTTP/2 instead of HTTP/1.1.
    pub http2: bool,
    /// The only cipher that it offers; `None` offers all.
    pub cipher: Option<CipherSuite>,
}

fn roots(authority: &str) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate?)?;
    }
    Ok(roots)
}

/// Shakes hands over a connection.
pub(crate) async fn handshake(stream: TcpStream, tls: &ClientTls) -> Result<TlsStream<TcpStream>> {
    let provider = provider(tls.cipher);
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match &tls.authority {
        Some(authority) => config.with_root_certificates(roots(authority)?),
        None => {
            let verifier = Arc::new(AnyCertificate(provider));
            config
                .dangerous()
                .with_custom_certificate_verifier(verifier)
        }
    };
    let mut config = match tls.identity.clone() {
        Some(Identity { chain, key }) => config.with_client_auth_cert(chain, key)?,
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![if tls.http2 {
        b"h2".to_vec()
    } else {
        b"http/1.1".to_vec()
    }];
    config.enable_sni = tls.sni.is_some();
    let name = tls.sni.as_deref().unwrap_or("none.invalid");
    // It would be sent without the dot, and another name be tested than the one that was meant.
    ensure!(
        !name.ends_with('.'),
        "rustls sends no server name with a dot at its end"
    );
    let name =
        ServerName::try_from(name.to_owned()).with_context(|| format!("server name {name:?}"))?;
    Ok(TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?)
}

/// A pod's side: HTTP/2 and HTTP/1.1; a client's certificate is asked for, never demanded, and not checked.
pub fn server_config(identity: Identity) -> Result<Arc<ServerConfig>> {
    server_config_of(identity, None, &[&TLS12, &TLS13])
}

/// The same with one cipher alone, if it is named, and with these versions.
pub fn server_config_of(
    identity: Identity,
    cipher: Option<CipherSuite>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<Arc<ServerConfig>> {
    let provider = provider(cipher);
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(identity.chain, identity.key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn provider(cipher: Option<CipherSuite>) -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider
        .cipher_suites
        .retain(|known| cipher.is_none_or(|cipher| known.suite() == cipher));
    Arc::new(provider)
}

/// Checks that the other side has the key of its certificate, and nothing else.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

type Verified = Result<HandshakeSignatureValid, Error>;

impl AnyCertificate {
    fn tls12(
        &self,
        message: &[u8],
        of: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Verified {
        verify_tls12_signature(
            message,
            of,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn tls13(
        &self,
        message: &[u8],
        of: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Verified {
        verify_tls13_signature(
            message,
            of,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Verified {
        self.tls12(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Verified {
        self.tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Verified {
        self.tls12(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Verified {
        self.tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}
