//! Authorities that Envoy refuses. It says so of the last secret that a filter chain waits for, which may be a certificate, and then gives that
//! certificate to no chain that comes after this one: hosts of others with the same certificate would have no handshake any more.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::connection::Connection;
use sluice_tests::http::{Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use super::{neighbour, restart_data_plane};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(broken_authorities_affect_only_their_hosts);

/// Before and after those of the culprit, whatever the order is. None has a certificate of its own.
const OTHERS: [&str; 2] = ["a-own.test", "z-own.test"];
/// Several, because the order of secrets decides.
const CULPRITS: [&str; 4] = ["b", "h", "p", "y"];

async fn broken_authorities_affect_only_their_hosts(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    for host in OTHERS {
        tenants.manifests.ingress(&neighbour(host))?;
    }
    for name in CULPRITS {
        tenants.write(&format!("{name}.yaml"), &culprit(name)?)?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    ensure_only_culprits_are_closed(&sluice).await?;
    if plane != Plane::Nginx {
        // Otherwise this is no test: our own reading has to accept them.
        for name in CULPRITS {
            let refused = format!("Secret {FOREIGN}/{name}: data: refused by the data plane");
            sluice.log().wait_for(&refused).await?;
        }
    }
    restart_data_plane(&sluice).await?;
    ensure_only_culprits_are_closed(&sluice).await?;
    tenants.manifests.ingress(&neighbour("late.test"))?;
    wait_until_served(&sluice, "late.test").await?;
    sluice.stop()
}

fn culprit(name: &str) -> Result<[Value; 2]> {
    let ingress = Ingress::new(FOREIGN, name)
        .host(&host(name))
        .path("/", "web", 80)
        .annotation("auth-tls-secret", &format!("{FOREIGN}/{name}"));
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": FOREIGN, "name": name},
        "stringData": {"ca.crt": broken_authority()?},
    });
    Ok([ingress.to_json(), secret])
}

fn host(name: &str) -> String {
    format!("{name}-foreign.test")
}

/// A certificate of version 4, which there is not. Not every reader minds.
fn broken_authority() -> Result<String> {
    const VERSION_3: [u8; 5] = [0xa0, 0x03, 0x02, 0x01, 0x02];
    let mut der = Pair::of(&["ca.test"])?.der;
    let mut places = der.windows(VERSION_3.len());
    let at = places.position(|bytes| bytes == VERSION_3);
    let version = at.context("no version 3")? + VERSION_3.len() - 1;
    der[version] += 1;
    let text = STANDARD.encode(der);
    Ok(format!(
        "-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
    ))
}

async fn ensure_only_culprits_are_closed(sluice: &Sluice) -> Result<()> {
    for host in OTHERS {
        wait_until_served(sluice, host).await?;
    }
    let unknown = async || Some(https(sluice, "nobody.test").await.ok()?.status);
    let (status, _) = wait::until("a handshake for an unknown name", unknown).await?;
    ensure!(status == 404, "{status}");
    for name in CULPRITS {
        let answer = https(sluice, &host(name)).await;
        let is_open = answer.is_ok_and(|answer| answer.pod().is_some());
        ensure!(!is_open, "{name} is open");
    }
    Ok(())
}

async fn wait_until_served(sluice: &Sluice, host: &str) -> Result<()> {
    let answers = async || {
        let answer = https(sluice, host).await.ok()?;
        (answer.pod() == Some(OWNER)).then_some(())
    };
    wait::until(&format!("{host} to be served"), answers)
        .await
        .map(drop)
        .with_context(|| format!("the log ends\n{}", sluice.log().tail()))
}

async fn https(sluice: &Sluice, host: &str) -> Result<Response> {
    Connection::open_tls(sluice.https(), host)
        .await?
        .send(&Request::get(host, "/"))
        .await
}
