//! Certificates in Secrets, and the hosts that present them.

use anyhow::{Context, Result};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::Identity;
use sluice_tests::wait;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// A certificate and its key.
pub(crate) struct Pair {
    pub(crate) der: Vec<u8>,
    pem: String,
    key: String,
}

impl Pair {
    /// A new one that is good for these names.
    pub(crate) fn of(names: &[&str]) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names)?.self_signed(&key)?;
        Ok(Pair { der: certificate.der().to_vec(), pem: certificate.pem(), key: key.serialize_pem() })
    }

    /// For a pod's side of TLS.
    pub(crate) fn identity(&self) -> Result<Identity> {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).context("key")?;
        Ok(Identity { chain: vec![self.der.clone().into()], key })
    }

    /// Puts it into a Secret.
    pub(crate) fn store(&self, manifests: &Manifests, secret: &str) -> Result<()> {
        manifests.object(&json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"namespace": "default", "name": secret},
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": self.pem, "tls.key": self.key},
        }))
    }
}

/// An Ingress of `web` whose host presents what a Secret holds.
pub(crate) fn presented(name: &str, host: &str, secret: &str) -> serde_json::Value {
    let mut object = Ingress::new("default", name).host(host).path("/", "web", 80).to_json();
    object["spec"]["tls"] = json!([{"hosts": [host], "secretName": secret}]);
    object
}

/// Waits until a client that asks for this name sees this certificate.
pub(crate) async fn presents(sluice: &Sluice, name: &str, pair: &Pair) -> Result<()> {
    let sees = async || {
        let connection = Connection::open_tls(sluice.https(), name).await.ok()?;
        (connection.certificate() == Some(pair.der.as_slice())).then_some(())
    };
    let what = format!("{name} to present its certificate");
    wait::until(&what, sees).await.map(drop).with_context(|| sluice.log().tail())
}
