//! R6: an authentication service hears of a client's certificate by what was verified, whatever the client says of it in headers,
//! on hosts that ask for certificates and on those that do not.

use anyhow::{Context as _, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::Received;
use sluice_tests::http::Request;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::{ClientTls, Identity};
use sluice_tests::wait;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(clients_cannot_forge_a_certificate_to_the_auth_service);

const FORGED: &str = "forged";
/// A name that would be a header of its own, if it were not escaped.
const HOSTILE: &str = "a\r\nssl-client-verify: SUCCESS\u{e4}\",O=x\\";
/// Headers of the certificate, and those by which data planes tell the controller of it.
const HEADERS: &[&str] = &[
    "ssl-client-verify",
    "ssl-client-subject-dn",
    "ssl-client-issuer-dn",
    "ssl-client-cert",
    "sluice-client-verify",
    "sluice-client-subject",
    "sluice-client-issuer",
    "sluice-client-forward",
    "sluice-client-certificate",
];
/// Hosts, and what they ask of clients.
const HOSTS: &[(&str, &[(&str, &str)])] = &[
    ("open", &[]),
    ("required", &[("auth-tls-secret", "owner/ca")]),
    (
        "optional",
        &[
            ("auth-tls-secret", "owner/ca"),
            ("auth-tls-verify-client", "optional"),
            ("auth-tls-pass-certificate-to-upstream", "true"),
        ],
    ),
    (
        "untrusted",
        &[
            ("auth-tls-secret", "owner/ca"),
            ("auth-tls-verify-client", "optional_no_ca"),
        ],
    ),
    (
        "off",
        &[
            ("auth-tls-secret", "owner/ca"),
            ("auth-tls-verify-client", "off"),
        ],
    ),
];

fn params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = params(name)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn client(issuer: &CertifiedIssuer<'static, KeyPair>) -> Result<Identity> {
    let key = KeyPair::generate()?;
    let certificate = params(HOSTILE)?.signed_by(&key, issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    Ok(Identity {
        chain: vec![certificate.der().clone()],
        key,
    })
}

fn apply(manifests: &Manifests, ca: &str) -> Result<()> {
    manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": OWNER, "name": "ca"},
        "stringData": {"ca.crt": ca},
    }))?;
    let metadata = json!({"namespace": "sluice", "name": "sluice"});
    let data = json!({"enable-underscores-in-headers": "true"});
    manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )?;
    for (name, annotations) in HOSTS {
        let ingress = Ingress::new(OWNER, name)
            .annotation("auth-url", "http://auth.owner.svc/verify")
            .annotation("ssl-redirect", "false")
            .host(&format!("{name}.test"))
            .path("/", "web", 80);
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        manifests.ingress(&ingress)?;
    }
    Ok(())
}

/// A request that claims to have a certificate, in every spelling, and its status.
async fn status(
    sluice: &Sluice,
    host: &str,
    tls: bool,
    identity: Option<&Identity>,
) -> Result<u16> {
    let tls = tls.then(|| ClientTls {
        sni: Some(host.to_owned()),
        identity: identity.cloned(),
        ..ClientTls::default()
    });
    let addr = if tls.is_some() {
        sluice.https()
    } else {
        sluice.http()
    };
    let dial = Dial {
        tls,
        ..Dial::plain(addr)
    };
    let spelled = HEADERS
        .iter()
        .flat_map(|name| [(*name).to_owned(), name.replace('-', "_")]);
    let request = spelled.fold(Request::get(host, "/%61"), |request, name| {
        request.header(&name, FORGED)
    });
    let mut connection = Connection::dial(&dial).await.context("handshake")?;
    Ok(connection.send(&request).await?.status)
}

/// The verification that the service heard of: nothing of the client's is there, and nothing of one header is in another.
fn heard(received: &Received) -> Result<Option<String>> {
    for (name, values) in &received.headers {
        let said = values.join(", ");
        ensure!(
            !said.contains(FORGED) || name.starts_with("sluice"),
            "{name}: {said}"
        );
        ensure!(
            values.len() == 1 || !name.starts_with("ssl"),
            "{name}: {said}"
        );
    }
    let verify = received.header("ssl-client-verify");
    let (subject, issuer, pem) = (
        received.header("ssl-client-subject-dn"),
        received.header("ssl-client-issuer-dn"),
        received.header("ssl-client-cert"),
    );
    match verify.as_deref() {
        None | Some("NONE") => ensure!(
            subject.is_none() && issuer.is_none() && pem.is_none(),
            "{received:?}"
        ),
        Some(_) => {
            let subject = subject.context("no subject")?;
            ensure!(
                subject == r#"CN=a\0D\0Assl-client-verify: SUCCESS\C3\A4\"\,O=x\\"#,
                "{subject}"
            );
            ensure!(issuer.as_deref().is_some_and(|it| it.starts_with("CN=ca-")));
        }
    }
    Ok(verify.map(|verify| verify.chars().take(6).collect()))
}

/// Host, by TLS, the certificate, and the result that the service hears; `None`: it is not asked.
type Sent<'a> = (
    &'static str,
    bool,
    Option<&'a Identity>,
    Option<Option<&'static str>>,
);

fn requests<'a>(good: &'a Identity, bad: &'a Identity) -> [Sent<'a>; 15] {
    [
        ("open", false, None, Some(None)),
        ("open", true, None, Some(None)),
        ("open", true, Some(good), Some(None)),
        ("required", true, Some(good), Some(Some("SUCCES"))),
        ("required", true, Some(bad), None),
        ("required", true, None, None),
        ("required", false, None, None),
        ("optional", true, Some(good), Some(Some("SUCCES"))),
        ("optional", true, Some(bad), None),
        ("optional", true, None, Some(Some("NONE"))),
        ("optional", false, None, Some(Some("NONE"))),
        ("untrusted", true, Some(bad), Some(Some("FAILED"))),
        ("untrusted", true, Some(good), Some(Some("SUCCES"))),
        ("untrusted", true, None, Some(Some("NONE"))),
        ("off", true, Some(good), Some(Some("NONE"))),
    ]
}

async fn clients_cannot_forge_a_certificate_to_the_auth_service(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (_service, asked) = tenants.auth_service().await?;
    let (trusted, other) = (authority("ca-trusted")?, authority("ca-other")?);
    apply(&tenants.manifests, &trusted.pem())?;
    let map = ["--configmap", "sluice/sluice"].map(str::to_owned);
    let options = plane.options(&tenants.manifests).arguments(map.into());
    let sluice = options.start().await?;
    let (good, bad) = (client(&trusted)?, client(&other)?);
    let ready = async || {
        let found = status(&sluice, "off.test", false, None).await.ok()?;
        (found == 200).then_some(())
    };
    wait::until("all hosts", ready).await?;
    for (host, tls, identity, expected) in requests(&good, &bad) {
        let place = asked.len();
        let found = status(&sluice, &format!("{host}.test"), tls, identity).await?;
        let received = asked.since(place);
        let told = format!("{plane:?} {host} tls {tls}: {found} {received:?}");
        match (expected, received.as_slice()) {
            (None, []) => ensure!(found == 400, "{told}"),
            (Some(verify), [received]) => {
                let heard = heard(received).context(told.clone())?;
                ensure!(
                    found == 200 && heard.as_deref() == verify,
                    "{heard:?} {told}"
                );
                let is_forwarded = received.header("ssl-client-cert").is_some();
                let forwards = host == "optional" && identity.is_some();
                ensure!(is_forwarded == forwards, "{told}");
            }
            _ => anyhow::bail!("{told}"),
        }
    }
    sluice.stop()
}
