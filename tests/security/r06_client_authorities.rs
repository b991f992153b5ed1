//! R6: whom a host believes is what its Secret says now, at most as many authorities deep as its Ingress says: a client that it does
//! not believe any more is refused on the connection that it already has.

use anyhow::{Result, ensure};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http::Request;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::{ClientTls, Identity};
use sluice_tests::wait;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    a_chain_is_as_long_as_the_ingress_says,
    an_open_connection_ends_with_the_authority_that_vouched_for_it,
    an_open_connection_ends_with_the_revocation_of_its_certificate,
    without_its_authorities_nothing_of_a_host_is_open,
);

type Authority = CertifiedIssuer<'static, KeyPair>;

const SERIAL: u64 = 7;
/// Paths of a host: of the Ingress that guards it, of another one of its namespace, and of another namespace.
const PATHS: [&str; 3] = ["/", "/plain", "/foreign"];

fn params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn of_authority(name: &str) -> Result<CertificateParams> {
    let mut params = params(name)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn root(name: &str) -> Result<Authority> {
    Ok(CertifiedIssuer::self_signed(
        of_authority(name)?,
        KeyPair::generate()?,
    )?)
}

/// A client's certificate, and those between it and the root.
fn client(root: &Authority, between: usize) -> Result<Identity> {
    let mut chain: Vec<Authority> = Vec::new();
    for n in 0..between {
        let issuer = chain.last().unwrap_or(root);
        let params = of_authority(&format!("between-{n}"))?;
        chain.push(CertifiedIssuer::signed_by(
            params,
            KeyPair::generate()?,
            issuer,
        )?);
    }
    let key = KeyPair::generate()?;
    let mut params = params("client")?;
    params.serial_number = Some(SerialNumber::from(SERIAL));
    let leaf = params.signed_by(&key, chain.last().unwrap_or(root))?;
    let above = chain.iter().rev().map(|issuer| issuer.der().clone());
    Ok(Identity {
        chain: std::iter::once(leaf.der().clone()).chain(above).collect(),
        key: PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?,
    })
}

fn secret(entries: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": OWNER, "name": "ca"},
        "stringData": entries,
    })
}

fn store(manifests: &Manifests, entries: &Value) -> Result<()> {
    manifests.object(&secret(entries))
}

fn ingress(manifests: &Manifests, name: &str, depth: &str) -> Result<()> {
    let ingress = Ingress::new(OWNER, name)
        .annotation("auth-tls-secret", "owner/ca")
        .annotation("auth-tls-verify-depth", depth)
        .host(&format!("{name}.test"))
        .path("/", "web", 80);
    manifests.ingress(&ingress)
}

async fn connect(sluice: &Sluice, host: &str, identity: &Identity) -> Result<Connection> {
    dial(sluice, host, Some(identity)).await
}

async fn dial(sluice: &Sluice, host: &str, identity: Option<&Identity>) -> Result<Connection> {
    let tls = ClientTls {
        sni: Some(host.to_owned()),
        identity: identity.cloned(),
        ..ClientTls::default()
    };
    let dial = Dial {
        tls: Some(tls),
        ..Dial::plain(sluice.https())
    };
    Connection::dial(&dial).await
}

async fn status(sluice: &Sluice, host: &str, identity: &Identity) -> Result<u16> {
    let mut connection = connect(sluice, host, identity).await?;
    Ok(connection.send(&Request::get(host, "/")).await?.status)
}

async fn becomes(sluice: &Sluice, host: &str, identity: &Identity, expected: u16) -> Result<()> {
    let found = async || {
        let status = status(sluice, host, identity).await.ok()?;
        (status == expected).then_some(())
    };
    wait::until(&format!("{expected} from {host}"), found).await?;
    Ok(())
}

async fn a_chain_is_as_long_as_the_ingress_says(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let root = root("root")?;
    store(&tenants.manifests, &json!({"ca.crt": root.pem()}))?;
    // Without a number it is 1.
    for (name, depth) in [("zero", "0"), ("one", "1"), ("two", "2")] {
        ingress(&tenants.manifests, name, depth)?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    let clients = [client(&root, 0)?, client(&root, 1)?, client(&root, 2)?];
    becomes(&sluice, "two.test", &clients[0], 200).await?;
    for (host, longest) in [("zero.test", 1), ("one.test", 1), ("two.test", 2)] {
        for (between, identity) in clients.iter().enumerate() {
            let expected = if between <= longest { 200 } else { 400 };
            let found = status(&sluice, host, identity).await?;
            ensure!(
                found == expected,
                "{plane:?} {host} with {between} between: {found}"
            );
        }
    }
    sluice.stop()
}

/// The client is served on a connection, the Secret changes, and the connection serves nothing more once new ones are refused.
async fn is_refused_after(
    plane: Plane,
    (before, after): (Value, Value),
    identity: &Identity,
) -> Result<()> {
    let tenants = Tenants::start().await?;
    store(&tenants.manifests, &before)?;
    ingress(&tenants.manifests, "web", "1")?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    becomes(&sluice, "web.test", identity, 200).await?;
    let mut open = connect(&sluice, "web.test", identity).await?;
    let request = Request::get("web.test", "/");
    ensure!(open.send(&request).await?.status == 200);
    store(&tenants.manifests, &after)?;
    becomes(&sluice, "web.test", identity, 400).await?;
    // An nginx of before may still serve the requests that it has begun, no others.
    let ends = async || match open.send(&request).await {
        Ok(response) if response.status == 200 => None,
        Ok(_) | Err(_) => Some(()),
    };
    wait::until("the end of the open connection", ends).await?;
    sluice.stop()
}

async fn an_open_connection_ends_with_the_authority_that_vouched_for_it(
    plane: Plane,
) -> Result<()> {
    let (first, second) = (root("first")?, root("second")?);
    let change = (
        json!({"ca.crt": first.pem()}),
        json!({"ca.crt": second.pem()}),
    );
    is_refused_after(plane, change, &client(&first, 0)?).await
}

async fn an_open_connection_ends_with_the_revocation_of_its_certificate(
    plane: Plane,
) -> Result<()> {
    let root = root("root")?;
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(SERIAL),
        revocation_time: date_time_ymd(2026, 1, 1),
        reason_code: Some(RevocationReason::KeyCompromise),
        invalidity_date: None,
    };
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2026, 1, 1),
        next_update: date_time_ymd(2096, 1, 1),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let list = list.signed_by(&root)?.pem()?;
    let change = (
        json!({"ca.crt": root.pem()}),
        json!({"ca.crt": root.pem(), "ca.crl": list}),
    );
    is_refused_after(plane, change, &client(&root, 0)?).await
}

/// Statuses of all paths, for a client that says in a header that it was verified.
async fn statuses(sluice: &Sluice, identity: Option<&Identity>) -> Result<[u16; 3]> {
    let mut found = [0; 3];
    for (path, status) in PATHS.iter().zip(&mut found) {
        let request = Request::get("web.test", path).header("ssl-client-verify", "SUCCESS");
        let mut connection = dial(sluice, "web.test", identity).await?;
        *status = connection.send(&request).await?.status;
    }
    Ok(found)
}

/// Waits until a client without a certificate gets these; on the way no path is open to it.
async fn become_for_strangers(sluice: &Sluice, expected: u16, when: &str) -> Result<()> {
    let mut opened = None;
    let found = async || {
        // nginx closes connections of before.
        let found = statuses(sluice, None).await.ok()?;
        if found.contains(&200) {
            opened = Some(found);
        }
        (opened.is_some() || found == [expected; 3]).then_some(())
    };
    wait::until(&format!("{expected} {when}"), found).await?;
    ensure!(opened.is_none(), "{when}: {opened:?}");
    Ok(())
}

async fn without_its_authorities_nothing_of_a_host_is_open(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let manifests = &tenants.manifests;
    let root = root("root")?;
    let good = json!({"ca.crt": root.pem()});
    let unreadable = json!({"ca.crt": root.pem(), "ca.crl": "nonsense"});
    store(manifests, &good)?;
    ingress(manifests, "web", "1")?;
    for (namespace, name, path) in [(OWNER, "plain", PATHS[1]), (FOREIGN, "foreign", PATHS[2])] {
        let beside = Ingress::new(namespace, name).host("web.test");
        manifests.ingress(&beside.path(path, "web", 80))?;
    }
    let sluice = plane.options(manifests).start().await?;
    let client = client(&root, 0)?;
    becomes(&sluice, "web.test", &client, 200).await?;
    ensure!(statuses(&sluice, Some(&client)).await? == [200; 3]);
    let place = tenants.received.len();
    become_for_strangers(&sluice, 400, "with authorities").await?;
    manifests.remove_object(&secret(&good))?;
    become_for_strangers(&sluice, 503, "without the Secret").await?;
    ensure!(statuses(&sluice, Some(&client)).await? == [503; 3]);
    store(manifests, &good)?;
    become_for_strangers(&sluice, 400, "with the Secret again").await?;
    ensure!(
        tenants.received.len() == place,
        "{plane:?}: a pod was asked"
    );
    becomes(&sluice, "web.test", &client, 200).await?;
    store(manifests, &unreadable)?;
    become_for_strangers(&sluice, 503, "with a list that cannot be read").await?;
    sluice.stop()
}
