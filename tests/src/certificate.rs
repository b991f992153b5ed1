//! Certificates in Secrets, and the hosts that present them.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::connection::Connection;
use crate::manifests::{Ingress, Manifests};
use crate::sluice::Sluice;
use crate::tls::Identity;
use crate::wait;

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate, as clients see it.
    pub der: Vec<u8>,
    /// The same as text.
    pub pem: String,
    /// Its key, as text.
    pub key: String,
}

impl Pair {
    /// A new one that is good for these names.
    pub fn of(names: &[&str]) -> Result<Pair> {
        Pair::made(names, |_| ())
    }

    /// The same, good for so many days from now on.
    pub fn of_days(names: &[&str], days: u32) -> Result<Pair> {
        Pair::made(names, |params| {
            let time = SystemTime::now() + Duration::from_secs(86_400) * days;
            params.not_after = time.into();
        })
    }

    fn made(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        change(&mut params);
        let certificate = params.self_signed(&key)?;
        Ok(Pair {
            der: certificate.der().to_vec(),
            pem: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// One from files.
    fn kept(certificate: &str, key: &str) -> Result<Pair> {
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).context("certificate")?;
        Ok(Pair {
            der: der.to_vec(),
            pem: certificate.to_owned(),
            key: key.to_owned(),
        })
    }

    /// For a pod's side of TLS.
    pub fn identity(&self) -> Result<Identity> {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).context("key")?;
        Ok(Identity {
            chain: vec![self.der.clone().into()],
            key,
        })
    }

    /// Puts it into a Secret.
    pub fn store(&self, manifests: &Manifests, secret: &str) -> Result<()> {
        store(manifests, secret, &self.pem, &self.key)
    }

    /// A new one in a Secret.
    pub fn renew(manifests: &Manifests, secret: &str, names: &[&str]) -> Result<Pair> {
        let pair = Pair::of(names)?;
        pair.store(manifests, secret)?;
        Ok(pair)
    }
}

/// Names, and certificates of `NAME.test` with a key that ring does not make.
pub fn unusual() -> Result<Vec<(&'static str, Pair)>> {
    macro_rules! files {
        ($($name:literal),+) => {
            [$((
                $name,
                include_str!(concat!("../../controller/translate/syntax/keys/", $name, ".pem")),
                include_str!(concat!("../../controller/translate/syntax/keys/", $name, ".key")),
            )),+]
        };
    }
    files!("rsa-2049", "rsa-8192")
        .into_iter()
        .map(|(name, certificate, key)| Ok((name, Pair::kept(certificate, key)?)))
        .collect()
}

/// Puts whatever this is into a Secret for TLS.
pub fn store(manifests: &Manifests, secret: &str, certificate: &str, key: &str) -> Result<()> {
    manifests.object(&json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "default", "name": secret},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate, "tls.key": key},
    }))
}

/// An Ingress of `web` whose host presents what a Secret holds.
pub fn presented(name: &str, host: &str, secret: &str) -> Value {
    let mut object = Ingress::new("default", name)
        .host(host)
        .path("/", "web", 80)
        .to_json();
    object["spec"]["tls"] = json!([{"hosts": [host], "secretName": secret}]);
    object
}

/// Waits until a client that asks for this name sees this certificate.
pub async fn presents(sluice: &Sluice, name: &str, pair: &Pair) -> Result<()> {
    let sees = async || {
        let connection = Connection::open_tls(sluice.https(), name).await.ok()?;
        (connection.certificate() == Some(pair.der.as_slice())).then_some(())
    };
    let what = format!("{name} to present its certificate");
    wait::until(&what, sees)
        .await
        .map(drop)
        .with_context(|| sluice.log().tail())
}
