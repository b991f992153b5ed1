//! R11: a client's certificate that was checked for one host is none for another, however the request comes.

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::{ClientTls, Identity};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(client_certificate_verified_for_one_host_opens_no_other);

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
            "metadata": {"namespace": OWNER, "name": name},
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

/// Status of a request on a connection that began with this name.
async fn status(
    sluice: &Sluice,
    sni: Option<&str>,
    identity: Option<&Identity>,
    request: &Request,
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
    Ok(connection.send(request).await?.status)
}

/// Hosts that ask for certificates of one authority or the other, and one that asks for none.
fn hosts(manifests: &Manifests) -> Result<()> {
    for (name, annotations) in [
        (
            "a",
            vec![("auth-tls-secret", "owner/ca-a"), ("ssl-redirect", "false")],
        ),
        ("b", vec![("auth-tls-secret", "owner/ca-b")]),
        (
            "optional",
            vec![
                ("auth-tls-secret", "owner/ca-b"),
                ("auth-tls-verify-client", "optional"),
            ],
        ),
        ("open", vec![]),
    ] {
        let ingress = Ingress::new(OWNER, name)
            .host(&format!("{name}.test"))
            .path("/", "web", 80);
        let ingress = annotations
            .iter()
            .fold(ingress, |i, (name, value)| i.annotation(name, value));
        manifests.ingress(&ingress)?;
    }
    Ok(())
}

/// Plain http, and what a client says about itself.
async fn forged_claims_are_ignored(tenants: &Tenants, sluice: &Sluice) -> Result<()> {
    let hits = tenants.owner.hits();
    let claims = Request::get("a.test", "/")
        .header("ssl-client-verify", "SUCCESS")
        .header("x-forwarded-proto", "https");
    ensure!(http::send(sluice.http(), &claims).await?.status == 400);
    ensure!(tenants.owner.hits() == hits, "no pod has heard of it");
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

async fn client_certificate_verified_for_one_host_opens_no_other(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (a, b) = (
        Authority::new(&tenants.manifests, "ca-a")?,
        Authority::new(&tenants.manifests, "ca-b")?,
    );
    hosts(&tenants.manifests)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let (a, b) = (a.client()?, b.client()?);
    // To Envoy these are like connections without a name, which are not sent away.
    let (required, optional) = match plane {
        Plane::Nginx => (421, 421),
        _ => (400, 200),
    };
    for (sni, identity, host, expected) in [
        (Some("a.test"), Some(&a), "a.test", 200),
        (Some("a.test"), Some(&b), "a.test", 400),
        (Some("a.test"), None, "a.test", 400),
        (Some("b.test"), Some(&b), "b.test", 200),
        (Some("optional.test"), None, "optional.test", 200),
        (Some("optional.test"), Some(&a), "optional.test", 400),
        (Some("open.test"), None, "open.test", 200),
        (Some("a.test"), Some(&a), "open.test", 200),
        // Checked for one, asked for another.
        (Some("b.test"), Some(&b), "a.test", 421),
        (Some("b.test"), Some(&b), "A.test", 421),
        (Some("optional.test"), Some(&b), "a.test", 421),
        (Some("a.test"), Some(&a), "optional.test", 421),
        // Nobody asked for a certificate in these handshakes.
        (Some("open.test"), Some(&a), "a.test", required),
        (Some("open.test"), None, "optional.test", optional),
        (Some("nobody.test"), Some(&a), "a.test", 400),
        (None, Some(&a), "a.test", 400),
    ] {
        for path in ["/", "/%61"] {
            let found = status(&sluice, sni, identity, &Request::get(host, path)).await?;
            ensure!(
                found == expected,
                "{sni:?}, a certificate {}: {host}{path}: {found}",
                identity.is_some()
            );
        }
    }
    forged_claims_are_ignored(&tenants, &sluice).await?;
    sluice.stop()
}
