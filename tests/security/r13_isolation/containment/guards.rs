//! A fallback lets nobody in whom the refused version keeps out.

use std::net::TcpListener;

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;

use super::fixture::{Fixture, REFUSED};
use crate::setup::{FOREIGN, Plane, Tenants, on_every_plane};

on_every_plane!(guards_hold_whatever_is_refused_beside_them);

const HOST: &str = "guarded.test";
const OTHER: &str = "at-once.test";

fn open(host: &str) -> Ingress {
    Ingress::new(FOREIGN, host)
        .annotation("use-regex", "true")
        .host(host)
        .path("/", "web", 80)
}

/// Keeps out whoever asks here.
fn guarded(host: &str) -> Ingress {
    open(host).annotation("allowlist-source-range", "192.0.2.1")
}

fn refused(ingress: Ingress) -> Ingress {
    ingress.path(&format!("/bad/{REFUSED}"), "web", 80)
}

/// Also where a data plane refuses something else for as long as it runs: its port for https is taken.
async fn guards_hold_whatever_is_refused_beside_them(plane: Plane) -> Result<()> {
    guards_hold(Fixture::start(plane, Tenants::start().await?).await?).await?;
    if plane != Plane::Nginx {
        let tenants = Tenants::start().await?;
        let take =
            |sluice: &sluice_tests::sluice::Sluice| Ok(Some(TcpListener::bind(sluice.https())?));
        let fixture = Fixture::beside(plane, tenants, take).await?;
        fixture.sluice.log().wait_for("in use").await?;
        guards_hold(fixture).await?;
    }
    Ok(())
}

async fn guards_hold(fixture: Fixture) -> Result<()> {
    for host in [HOST, OTHER] {
        fixture.write(&open(host))?;
        fixture.wait_until_served(host, "/", FOREIGN).await?;
    }
    // The guard was accepted before.
    fixture.write(&guarded(HOST))?;
    fixture.sluice.wait_for_status(HOST, "/", 403).await?;
    fixture.write(&refused(guarded(HOST)))?;
    fixture.wait_until_closed(HOST, "/bad/aaa").await?;
    // It comes with what is refused.
    fixture.write(&refused(guarded(OTHER)))?;
    fixture.wait_until_closed(OTHER, "/bad/aaa").await?;
    fixture.wait_until_closed(OTHER, "/").await?;
    for _ in 0..20 {
        // As it was; or closed, if the change came before the answer to the one before.
        let status = fixture.sluice.get(HOST, "/").await?.status;
        let is_kept_out = [403, 503].contains(&status);
        ensure!(is_kept_out, "{status}; {}", fixture.sluice.log().tail());
    }
    // Once it is mended it is served as it says.
    fixture.write(&guarded(OTHER))?;
    fixture.sluice.wait_for_status(OTHER, "/", 403).await?;
    fixture.stop().await
}
