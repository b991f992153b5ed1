//! Certificates from Secrets: what hosts present changes without a reload, and nobody else sees a key.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::managed::reloads;
use crate::site::{HOST, Site, page};

/// A certificate that is good for these names.
struct Pair {
    der: Vec<u8>,
    key: String,
}

/// Puts a new one into a Secret.
fn renew(manifests: &Manifests, secret: &str, names: &[&str]) -> Result<Pair> {
    let key = KeyPair::generate()?;
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate = CertificateParams::new(names)?.self_signed(&key)?;
    let key = key.serialize_pem();
    manifests.object(&json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "default", "name": secret},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate.pem(), "tls.key": key},
    }))?;
    Ok(Pair { der: certificate.der().to_vec(), key })
}

fn ingress(manifests: &Manifests, name: &str, host: &str, secret: &str) -> Result<()> {
    let mut object = Ingress::new("default", name).host(host).path("/", "web", 80).to_json();
    object["spec"]["tls"] = json!([{"hosts": [host], "secretName": secret}]);
    manifests.object(&object)
}

/// Waits until a client that asks for this name sees this certificate.
async fn presents(sluice: &Sluice, name: &str, pair: &Pair) -> Result<()> {
    let sees = async || {
        let connection = Connection::open_tls(sluice.https(), name).await.ok()?;
        (connection.certificate() == Some(pair.der.as_slice())).then_some(())
    };
    let what = format!("{name} to present its certificate");
    wait::until(&what, sees).await.map(drop).with_context(|| sluice.log().tail())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_is_presented_without_a_reload() -> Result<()> {
    let site = Site::start(1, 1).await?;
    ingress(&site.manifests, "web", HOST, "exact")?;
    ingress(&site.manifests, "wild", "*.wild.test", "wild")?;
    renew(&site.manifests, "exact", &[HOST])?;
    let wild = renew(&site.manifests, "wild", &["*.wild.test"])?;
    let default = renew(&site.manifests, "default", &["default.test"])?;
    let arguments = ["--default-ssl-certificate", "default/default"].map(str::to_owned).into();
    let sluice = Options::new(&site.manifests).arguments(arguments).data_plane("nginx").start().await?;
    presents(&sluice, "a.wild.test", &wild).await?;
    for nobodys in ["b.a.wild.test", "wild.test", "nobody.test"] {
        presents(&sluice, nobodys, &default).await?;
    }
    for _ in 0..3 {
        let exact = renew(&site.manifests, "exact", &[HOST])?;
        presents(&sluice, HOST, &exact).await?;
    }
    let mut connection = Connection::open_tls(sluice.https(), HOST).await?;
    ensure!(connection.send(&page()).await?.status == 200);
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_in_a_private_file_and_nowhere_else() -> Result<()> {
    let site = Site::start(1, 1).await?;
    ingress(&site.manifests, "web", HOST, "exact")?;
    let exact = renew(&site.manifests, "exact", &[HOST])?;
    let sluice = Options::new(&site.manifests).data_plane("nginx").start().await?;
    presents(&sluice, HOST, &exact).await?;
    let folder = sluice.run_dir().join("nginx");
    let secret = exact.key.lines().nth(1).context("a key")?.to_owned();
    ensure!(!fs::read_to_string(folder.join("nginx.conf"))?.contains(&secret));
    ensure!(!sluice.log().lines().iter().any(|line| line.contains(&secret)));
    let mode = |path| fs::metadata(path).map(|data| data.permissions().mode() & 0o777);
    ensure!(mode(folder.join("certificates"))? == 0o700);
    for file in fs::read_dir(folder.join("certificates"))? {
        ensure!(mode(file?.path())? == 0o600);
    }
    sluice.stop()
}
