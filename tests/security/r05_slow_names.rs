//! R5: names of one namespace, however many and however slow, keep no name of another waiting, and there are only so many of
//! each.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::dns_server::DnsServer;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(slow_names_of_one_namespace_delay_no_other);

/// More than a namespace may have.
const SLOW_NAMES: usize = 600;
const MAX_NAMES: usize = 500;
/// Nearly as long as an answer is waited for: by turns of 64, all of them together take 18 seconds.
const DNS_DELAY: Duration = Duration::from_millis(1900);
/// As long as an answer holds at least, and some time for a busy machine.
const TTL_AND_SLACK: Duration = Duration::from_secs(8);
const NAME: &str = "app.owner.test";
const HOST: &str = "named.test";

fn external(namespace: &str, name: &str, host: &str) -> Value {
    let metadata = json!({ "namespace": namespace, "name": name });
    let spec = json!({ "type": "ExternalName", "externalName": host });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec })
}

/// Many Services of one namespace whose names are slow to resolve.
fn add_slow_names(tenants: &Tenants, dns: &DnsServer) -> Result<()> {
    dns.be_slow(".crowd.test", DNS_DELAY);
    let mut ingress = Ingress::new(FOREIGN, "crowd").host("crowd.test");
    let mut objects = Vec::new();
    for n in 0..SLOW_NAMES {
        let (service, name) = (format!("slow-{n}"), format!("n{n}.crowd.test"));
        dns.set(&name, 1, &["192.0.2.1"])?;
        objects.push(external(FOREIGN, &service, &name));
        ingress = ingress.path(&format!("/{n}"), &service, 80);
    }
    objects.push(ingress.to_json());
    tenants.write("crowd.yaml", &objects)
}

/// Of the crowd, so many are not looked up, each of which is reported.
fn ensure_share_is_enforced(sluice: &Sluice, dns: &DnsServer) -> Result<()> {
    let is_reported = |n: usize| {
        let (object, reason) = (
            format!("Service {FOREIGN}/slow-{n}:"),
            format!("has {MAX_NAMES} names already"),
        );
        sluice
            .log()
            .lines()
            .iter()
            .any(|line| line.contains(&object) && line.contains(&reason))
    };
    let refused: Vec<usize> = (0..SLOW_NAMES).filter(|n| is_reported(*n)).collect();
    ensure!(
        refused.len() == SLOW_NAMES - MAX_NAMES,
        "{} are reported: {}",
        refused.len(),
        sluice.log().tail()
    );
    for n in refused {
        ensure!(
            dns.asked(&format!("n{n}.crowd.test")) == 0,
            "{n} is looked up all the same"
        );
    }
    Ok(())
}

async fn slow_names_of_one_namespace_delay_no_other(plane: Plane) -> Result<()> {
    let (tenants, dns) = (Tenants::start().await?, DnsServer::start().await?);
    let network = Network::reserve()?;
    let mut pods = Vec::new();
    for n in 0..2 {
        pods.push(Echo::start(network.pod(n), EchoIdentity::of("app", &format!("app-{n}"))).await?);
    }
    let (ip, port) = (
        |n: usize| pods[n].addr().ip().to_string(),
        pods[0].addr().port(),
    );
    add_slow_names(&tenants, &dns)?;
    let second = ip(0).split('.').nth(1).context("an address")?.to_owned();
    let arguments = [
        "--dns-server".to_owned(),
        dns.addr().to_string(),
        "--allow-upstream-cidr".to_owned(),
        format!("127.{second}.0.0/16"),
    ];
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(arguments.to_vec())
        .start()
        .await?;
    let asked = async || {
        let count = (0..SLOW_NAMES)
            .filter(|n| dns.asked(&format!("n{n}.crowd.test")) > 0)
            .count();
        (count >= 100).then_some(())
    };
    wait::until("the crowd to be asked about", asked).await?;
    // A name that comes late is looked up at once, and followed.
    dns.set(NAME, 1, &[&ip(0)])?;
    let begun = Instant::now();
    let ingress = Ingress::new(OWNER, "named")
        .host(HOST)
        .path("/", "named", port);
    tenants.write(
        "named.yaml",
        &[external(OWNER, "named", NAME), ingress.to_json()],
    )?;
    sluice.wait_for_pod(HOST, "app-0").await?;
    ensure!(
        begun.elapsed() < TTL_AND_SLACK,
        "it was looked up after {:?}",
        begun.elapsed()
    );
    for n in [1, 0, 1] {
        dns.set(NAME, 1, &[&ip(n)])?;
        let begun = Instant::now();
        sluice.wait_for_pod(HOST, &format!("app-{n}")).await?;
        ensure!(
            begun.elapsed() < TTL_AND_SLACK,
            "it was followed after {:?}",
            begun.elapsed()
        );
    }
    ensure_share_is_enforced(&sluice, &dns)?;
    sluice.stop()
}
