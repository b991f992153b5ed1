//! R5: TLS that passes through has a limit for each Service: who fills his shuts out nobody, and what comes back to us ends.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, presents};
use sluice_tests::connection::Connection;
use sluice_tests::echo::{Echo, EchoIdentity, Setup, Speaks};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::server_config;
use sluice_tests::wait;
use tokio::time::timeout;

use crate::r05_l4_loops::{MAX_CONNECTIONS, relay};
use crate::setup::{FOREIGN, OWNER, Plane, on_every_plane};

on_every_plane!(full_service_shuts_out_no_other, looped_tls_connection_ends);

/// Host of a namespace, with a pod that has its certificate.
struct PassedHost {
    name: String,
    pair: Pair,
    _pod: Echo,
}

impl PassedHost {
    async fn start(manifests: &Manifests, network: &Network, index: u16) -> Result<Self> {
        let namespace = [OWNER, FOREIGN][usize::from(index)];
        let name = format!("{namespace}.test");
        let pair = Pair::of(&[&name])?;
        let setup = Setup {
            tls: Some(server_config(pair.identity()?)?),
            speaks: Speaks::Tls,
            ..Setup::default()
        };
        let (addr, identity) = (network.pod(index), EchoIdentity::of("vault", namespace));
        let pod = Echo::start_with(addr, identity, setup).await?;
        manifests.service(namespace, "vault", 443, &[addr])?;
        manifests.ingress(&ingress(namespace, &name))?;
        Ok(PassedHost {
            name,
            pair,
            _pod: pod,
        })
    }
}

fn ingress(namespace: &str, host: &str) -> Ingress {
    Ingress::new(namespace, "passed")
        .host(host)
        .path("/", "vault", 443)
        .annotation("ssl-passthrough", "true")
}

async fn start(plane: Plane, manifests: &Manifests) -> Result<Sluice> {
    let metadata = json!({"name": "settings", "namespace": "sluice"});
    let data = json!({"max-worker-connections": MAX_CONNECTIONS.to_string()});
    manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )?;
    let flags = ["--enable-ssl-passthrough", "--configmap=sluice/settings"];
    let options = plane.options(manifests);
    let options = options.arguments(flags.map(str::to_owned).into());
    options.start().await
}

async fn full_service_shuts_out_no_other(plane: Plane) -> Result<()> {
    let (manifests, network) = (Manifests::new()?, Network::reserve()?);
    let full = PassedHost::start(&manifests, &network, 0).await?;
    let other = PassedHost::start(&manifests, &network, 1).await?;
    let sluice = start(plane, &manifests).await?;
    presents(&sluice, &full.name, &full.pair).await?;
    let mut open = Vec::new();
    for _ in 0..2 * MAX_CONNECTIONS {
        open.extend(Connection::open_tls(sluice.https(), &full.name).await.ok());
    }
    ensure!(open.len() > 1, "nobody gets in");
    ensure!(open.len() <= MAX_CONNECTIONS, "{} get in", open.len());
    presents(&sluice, &other.name, &other.pair).await?;
    drop(open);
    presents(&sluice, &full.name, &full.pair).await?;
    sluice.stop()
}

async fn looped_tls_connection_ends(plane: Plane) -> Result<()> {
    let (manifests, network) = (Manifests::new()?, Network::reserve()?);
    let other = PassedHost::start(&manifests, &network, 1).await?;
    let back = Arc::new(OnceLock::new());
    let times = relay(network.pod(0), &back).await?;
    manifests.service(OWNER, "vault", 443, &[network.pod(0)])?;
    manifests.ingress(&ingress(OWNER, "back.test"))?;
    let sluice = start(plane, &manifests).await?;
    presents(&sluice, &other.name, &other.pair).await?;
    ensure!(back.set(sluice.https()).is_ok());
    let ended = timeout(
        wait::LIMIT,
        Connection::open_tls(sluice.https(), "back.test"),
    );
    ensure!(
        ended.await.context("it stays open")?.is_err(),
        "a handshake"
    );
    let times = times.load(Ordering::Relaxed);
    ensure!((2..=4 * MAX_CONNECTIONS).contains(&times), "{times} times");
    presents(&sluice, &other.name, &other.pair).await?;
    sluice.stop()
}
