//! Certificates of clients: a check for one host is none for another, however the request comes.

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::tls::{ClientTls, Identity};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::fixture::Fixture;

/// An authority for client certificates of a host.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A Secret has it under this name.
    fn new(manifests: &Manifests, name: &str) -> Result<Authority> {
        let mut params = params(name)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        manifests.object(&json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"namespace": "default", "name": name},
            "stringData": {"ca.crt": issuer.pem()},
        }))?;
        Ok(Authority(issuer))
    }

    fn client(&self) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate = params("client")?.signed_by(&key, &self.0)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        Ok(Identity {
            chain: vec![certificate.der().clone()],
            key,
        })
    }
}

/// A certificate whose subject is its issuer's counts as signed by itself.
fn params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// The status that a client gets who asks for `sni` in the handshake and for `host` in the request.
async fn status(
    sluice: &Sluice,
    sni: Option<&str>,
    identity: Option<&Identity>,
    host: &str,
) -> Result<u16> {
    let tls = ClientTls {
        sni: sni.map(str::to_owned),
        identity: identity.cloned(),
        ..ClientTls::default()
    };
    let dial = Dial {
        tls: Some(tls),
        ..Dial::plain(sluice.https())
    };
    let mut connection = Connection::dial(&dial).await.context("handshake")?;
    Ok(connection.send(&Request::get(host, "/")).await?.status)
}

/// Hosts that ask for certificates of one authority or the other, and one that asks for none.
fn hosts(fixture: &Fixture) -> Result<()> {
    for (name, annotations) in [
        (
            "a",
            vec![
                ("auth-tls-secret", "default/ca-a"),
                ("ssl-redirect", "false"),
            ],
        ),
        ("b", vec![("auth-tls-secret", "default/ca-b")]),
        (
            "optional",
            vec![
                ("auth-tls-secret", "default/ca-b"),
                ("auth-tls-verify-client", "optional"),
            ],
        ),
        ("open", vec![]),
    ] {
        let ingress = Ingress::new("default", name)
            .host(&format!("{name}.test"))
            .path("/", "web", 80);
        let ingress = annotations
            .iter()
            .fold(ingress, |i, (name, value)| i.annotation(name, value));
        fixture.manifests.ingress(&ingress)?;
    }
    Ok(())
}

/// Plain http, and what a client says about itself.
async fn forged_claims_are_ignored(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    let hits = fixture.pods[0].hits();
    let claims = Request::get("a.test", "/")
        .header("ssl-client-verify", "SUCCESS")
        .header("x-forwarded-proto", "https");
    ensure!(http::send(sluice.http(), &claims).await?.status == 400);
    ensure!(fixture.pods[0].hits() == hits, "no pod has heard of it");
    let page = http::send(
        sluice.http(),
        &Request {
            headers: vec![],
            ..claims
        }
        .header("host", "optional.test")
        .header("ssl-client-verify", "SUCCESS"),
    )
    .await?;
    ensure!(
        page.text().contains("NONE") && !page.text().contains("SUCCESS"),
        "{}",
        page.text()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_certificate_verified_for_one_host_opens_no_other() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let (a, b) = (
        Authority::new(&fixture.manifests, "ca-a")?,
        Authority::new(&fixture.manifests, "ca-b")?,
    );
    hosts(&fixture)?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    let (a, b) = (a.client()?, b.client()?);
    for (sni, identity, host, expected) in [
        (Some("a.test"), Some(&a), "a.test", 200),
        (Some("a.test"), Some(&b), "a.test", 400),
        (Some("a.test"), None, "a.test", 400),
        (Some("b.test"), Some(&b), "b.test", 200),
        (Some("optional.test"), None, "optional.test", 200),
        (Some("optional.test"), Some(&a), "optional.test", 400),
        (Some("open.test"), None, "open.test", 200),
        // Checked for one, asked for another.
        (Some("b.test"), Some(&b), "a.test", 421),
        (Some("b.test"), Some(&b), "A.test", 421),
        (Some("optional.test"), Some(&b), "a.test", 421),
        // Nobody asked for a certificate in these handshakes.
        (Some("open.test"), Some(&a), "a.test", 421),
        (Some("nobody.test"), Some(&a), "a.test", 400),
        (None, Some(&a), "a.test", 400),
    ] {
        let found = status(&sluice, sni, identity, host).await?;
        ensure!(
            found == expected,
            "{sni:?}, a certificate {}: {host}: {found}",
            identity.is_some()
        );
    }
    forged_claims_are_ignored(&fixture, &sluice).await?;
    sluice.stop()
}
