//! R9: nothing that Sluice itself listens on is reached through it.
//!
//! Every listener of the process tree is tried in every way in which an object can name an address. What is not reached by
//! any of them, because it is a unix socket, is its owner's alone.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Response};
use sluice_tests::listeners::{self, Listener};
use sluice_tests::manifests::{self, Ingress, endpoint_slice};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(own_listeners_are_unreachable_through_the_proxy);

/// The name of this machine, where it has one that leads to itself.
fn own_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()?
        .trim()
        .to_ascii_lowercase();
    (name.as_str(), 0).to_socket_addrs().is_ok().then_some(name)
}

/// Spellings of this machine that an object may have.
fn addresses() -> Vec<String> {
    let own = if_addrs::get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .map(|interface| interface.ip());
    let own = own.filter(|ip| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    let written = [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
    ];
    written
        .map(str::to_owned)
        .into_iter()
        .chain(own.map(|ip| ip.to_string()))
        .collect()
}

/// Objects that name one port of this machine in every way, each with a host of its own.
fn objects(port: u16) -> Vec<(String, Vec<Value>)> {
    let mut all = Vec::new();
    let host = |way: &str| format!("{way}-{port}.test");
    let ingress = |way: &str| Ingress::new(OWNER, &format!("{way}-{port}")).host(&host(way));
    for (n, address) in addresses().iter().enumerate() {
        let (slice, name) = (format!("slice{n}"), format!("slice{n}-{port}"));
        if let Ok(ip) = address.parse::<IpAddr>() {
            let pod = SocketAddr::new(ip, port);
            let mut endpoints = endpoint_slice(OWNER, &name, &[pod]);
            endpoints["endpoints"][0]["addresses"] = json!([address]);
            let service = manifests::service(OWNER, &name, port, &[pod]);
            all.push((
                host(&slice),
                vec![
                    service,
                    endpoints,
                    ingress(&slice).path("/", &name, port).to_json(),
                ],
            ));
        }
        let literal = address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4());
        if literal {
            let (way, name) = (format!("literal{n}"), format!("literal{n}-{port}"));
            all.push((
                host(&way),
                vec![
                    external(&name, address),
                    ingress(&way).path("/", &name, port).to_json(),
                ],
            ));
            let way = format!("asked{n}");
            let asked =
                ingress(&way).annotation("auth-url", &format!("http://{address}:{port}/healthz"));
            all.push((host(&way), vec![asked.path("/", "web", 80).to_json()]));
        }
    }
    if let Some(own) = own_name() {
        let name = format!("name-{port}");
        all.push((
            host("name"),
            vec![
                external(&name, &own),
                ingress("name").path("/", &name, port).to_json(),
            ],
        ));
        let asked =
            ingress("askedname").annotation("auth-url", &format!("http://{own}:{port}/healthz"));
        all.push((
            host("askedname"),
            vec![asked.path("/", "web", 80).to_json()],
        ));
        let copied = ingress("copied").annotation("mirror-target", &format!("http://{own}:{port}"));
        all.push((String::new(), vec![copied.path("/", "web", 80).to_json()]));
    }
    all
}

fn external(name: &str, external: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "namespace": OWNER, "name": name },
        "spec": { "type": "ExternalName", "externalName": external },
    })
}

/// Every port of the tree, and sockets that nobody else can open.
fn ports(sluice: &Sluice) -> Result<BTreeSet<u16>> {
    let mut ports = BTreeSet::new();
    for listener in listeners::of_tree(sluice.pid())? {
        match listener {
            Listener::Tcp(address) => drop(ports.insert(address.port())),
            Listener::Unix(path) => ensure_private(&path)?,
        }
    }
    Ok(ports)
}

/// The mode of the socket, or of a folder above it.
fn ensure_private(path: &Path) -> Result<()> {
    let mode = |path: &Path| anyhow::Ok(fs::metadata(path)?.permissions().mode() & 0o077);
    // A socket without a path, or one that is gone, nobody can open.
    if !path.is_absolute() || !path.exists() {
        return Ok(());
    }
    let private = path
        .ancestors()
        .take(3)
        .map(mode)
        .collect::<Result<Vec<_>>>()?
        .contains(&0);
    ensure!(private, "{} can be opened by others", path.display());
    Ok(())
}

async fn own_listeners_are_unreachable_through_the_proxy(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    // As wide as an operator can open it.
    let dashboard = Port::reserve()?;
    let number = dashboard.number().to_string();
    let open = [
        "--allow-upstream-cidr",
        "0.0.0.0/0,::/0",
        "--dashboard-port",
        &number,
    ];
    let options: Options = plane.options(&tenants.manifests);
    let sluice = options
        .arguments(open.map(str::to_owned).to_vec())
        .start()
        .await?;
    let ports = ports(&sluice)?;
    for port in [
        sluice.http().port(),
        sluice.https().port(),
        sluice.health().port(),
        dashboard.number(),
    ] {
        ensure!(ports.contains(&port), "{port} is none of {ports:?}");
    }
    let mut hosts = Vec::new();
    for port in &ports {
        for (host, objects) in objects(*port) {
            tenants.write(&format!("{host}-{port}.yaml"), &objects)?;
            hosts.push(host);
        }
    }
    // A last one, that is served: then all are published.
    let last = Ingress::new(OWNER, "last").host("last.test");
    tenants.write("last.yaml", &[last.path("/", "web", 80).to_json()])?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    if let Some(own) = own_name() {
        let judged = sluice.log().wait_for(&format!("{own} leads to ")).await;
        judged.with_context(|| sluice.log().tail())?;
    }
    ensure_unreachable(&sluice, &hosts).await?;
    ensure_no_own_endpoint(&sluice, &ports).await?;
    sluice.stop()
}

/// Every host answers that there is nothing behind it.
async fn ensure_unreachable(sluice: &Sluice, hosts: &[String]) -> Result<()> {
    for host in hosts.iter().filter(|host| !host.is_empty()) {
        for path in ["/healthz", "/metrics", "/configuration/conf"] {
            // A worker of nginx that goes does not know the host yet: its catch-all host answers.
            let is_catch_all = |page: &Response| {
                page.status == 404 || (page.status == 200 && page.body.is_empty())
            };
            let known = async || {
                http::get(sluice.http(), host, path)
                    .await
                    .ok()
                    .filter(|page| !is_catch_all(page))
            };
            let (page, _) = wait::until(&format!("{host} to be known"), known).await?;
            ensure!(
                page.status >= 500,
                "{host}{path}: {} {}",
                page.status,
                page.text()
            );
        }
    }
    Ok(())
}

/// Nor is any of them an endpoint of anything, of a mirror for example.
async fn ensure_no_own_endpoint(sluice: &Sluice, ports: &BTreeSet<u16>) -> Result<()> {
    let page = http::get_unix(&sluice.admin_socket(), "/configuration/conf").await?;
    let conf = page.json()?;
    let backends = conf["backends"].as_object().context("backends")?;
    for (name, backend) in backends {
        for endpoint in backend["endpoints"].as_array().into_iter().flatten() {
            let address: SocketAddr = endpoint["address"].as_str().context("address")?.parse()?;
            ensure!(!ports.contains(&address.port()), "{name}: {address}");
        }
    }
    ensure!(backends.len() > ports.len(), "{backends:?}");
    Ok(())
}
