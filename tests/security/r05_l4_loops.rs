//! R5: a TCP or UDP port that leads back to Sluice is none, and what comes back by a way that nobody sees ends.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::{Network, Port};
use sluice_tests::sluice::Sluice;
use sluice_tests::{http, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    own_ports_are_never_endpoints,
    looped_tcp_connection_ends,
    looped_datagram_ends,
);

/// Connections that there may be: few, so that a loop is a short one.
pub(crate) const MAX_CONNECTIONS: usize = 64;

/// A controller whose ConfigMaps name ports.
async fn start(plane: Plane, tenants: &Tenants) -> Result<Sluice> {
    let flags = [
        "--configmap=sluice/settings",
        "--tcp-services-configmap=sluice/tcp",
        "--udp-services-configmap=sluice/udp",
    ];
    map(
        tenants,
        "settings",
        &json!({ "max-worker-connections": MAX_CONNECTIONS.to_string() }),
    )?;
    let open = Ingress::new(OWNER, "open")
        .host("open.test")
        .path("/", "web", 80);
    tenants.manifests.ingress(&open)?;
    let options = plane
        .options(&tenants.manifests)
        .arguments(flags.map(str::to_owned).into());
    let sluice = options.start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    Ok(sluice)
}

fn map(tenants: &Tenants, name: &str, data: &Value) -> Result<()> {
    let metadata = json!({ "name": name, "namespace": "sluice" });
    tenants.manifests.object(
        &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
    )
}

/// A Service for TCP and UDP whose pods are these.
fn service(tenants: &Tenants, name: &str, pods: &[SocketAddr]) -> Result<()> {
    let mut service = manifests::service(OWNER, name, 80, pods);
    let mut slice = manifests::endpoint_slice(OWNER, name, pods);
    let udp = |mut ports: Value| {
        let mut other = ports[0].clone();
        (other["name"], other["protocol"]) = (json!("udp"), json!("UDP"));
        ports
            .as_array_mut()
            .into_iter()
            .for_each(|ports| ports.push(other.clone()));
        ports
    };
    service["spec"]["ports"] = udp(service["spec"]["ports"].clone());
    slice["ports"] = udp(slice["ports"].clone());
    tenants.write(&format!("{name}.yaml"), &[service, slice])
}

/// This machine, as an EndpointSlice may write it.
fn own_addresses() -> BTreeSet<IpAddr> {
    let own = if_addrs::get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .map(|interface| interface.ip());
    let own = own.filter(|ip| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    own.chain(["127.0.0.1", "127.9.9.9"].map(|ip| ip.parse().unwrap()))
        .collect()
}

/// The endpoints of all backends.
async fn endpoints(sluice: &Sluice) -> Result<BTreeMap<String, Vec<SocketAddr>>> {
    let conf = http::get_unix(&sluice.admin_socket(), "/configuration/conf")
        .await?
        .json()?;
    let mut all = BTreeMap::new();
    for (id, backend) in conf["backends"].as_object().context("backends")? {
        let endpoints = backend["endpoints"].as_array().into_iter().flatten();
        let addresses =
            endpoints.map(|at| Ok(at["address"].as_str().context("address")?.parse()?));
        all.insert(id.clone(), addresses.collect::<Result<Vec<SocketAddr>>>()?);
    }
    Ok(all)
}

async fn own_ports_are_never_endpoints(plane: Plane) -> Result<()> {
    let (tenants, ports) = (
        Tenants::start().await?,
        [Port::reserve()?, Port::reserve()?],
    );
    let (early, late) = (ports[0].number(), ports[1].number());
    // Every port leads to, and every host names, this machine with each of these ports.
    let mut targets = Map::new();
    for port in [early, late] {
        let name = format!("back-{port}");
        let pods: Vec<_> = own_addresses()
            .into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect();
        service(&tenants, &name, &pods)?;
        let ingress = Ingress::new(OWNER, &name).host(&format!("{name}.test"));
        tenants.manifests.ingress(&ingress.path("/", &name, 80))?;
        targets.insert(port.to_string(), json!(format!("{OWNER}/{name}:80")));
    }
    let early_only = json!({ (early.to_string()): targets[&early.to_string()] });
    let nothing = json!({});
    for (tcp, udp) in [(&early_only, &nothing), (&nothing, &early_only)] {
        map(&tenants, "tcp", tcp)?;
        map(&tenants, "udp", udp)?;
        let sluice = start(plane, &tenants).await?;
        let is_named = async |port: u16| {
            let all = endpoints(&sluice).await.ok()?;
            Some(all.values().flatten().any(|at| at.port() == port))
        };
        ensure!(
            is_named(early).await == Some(false),
            "{:?}",
            endpoints(&sluice).await?
        );
        ensure!(
            is_named(late).await == Some(true),
            "nobody listens there yet"
        );
        // The other one comes to be ours, and is nobody's again.
        for (data, is_endpoint) in [(json!(targets), false), (early_only.clone(), true)] {
            map(&tenants, if tcp == &nothing { "udp" } else { "tcp" }, &data)?;
            let is_judged_again = async || (is_named(late).await? == is_endpoint).then_some(());
            wait::until("the other port to be judged again", is_judged_again).await?;
            ensure!(is_named(early).await == Some(false));
        }
        if tcp != &nothing {
            ensure_closed(early).await?;
        }
        let said = "a port that Sluice itself listens on";
        ensure!(
            sluice.log().lines().iter().any(|line| line.contains(said)),
            "{}",
            sluice.log().tail()
        );
        ensure!(sluice.get("open.test", "/").await?.status == 200);
        sluice.stop()?;
    }
    Ok(())
}

/// A connection to this port is closed, and nothing is heard.
async fn ensure_closed(port: u16) -> Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await?;
    connection.write_all(b"hello").await.ok();
    let heard = timeout(wait::LIMIT, connection.read(&mut [0; 16]))
        .await
        .context("it stays open")?;
    ensure!(matches!(heard, Ok(0) | Err(_)), "{heard:?}");
    Ok(())
}

/// A way back that no object tells of, as a Service's address or a load balancer would be. There is none before it is known.
pub(crate) async fn relay(
    at: SocketAddr,
    to: &Arc<OnceLock<SocketAddr>>,
) -> Result<Arc<AtomicUsize>> {
    let to = Arc::clone(to);
    let (listener, count) = (TcpListener::bind(at).await?, Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            if counted.fetch_add(1, Ordering::Relaxed) > 8 * MAX_CONNECTIONS {
                continue;
            }
            let Some(to) = to.get().copied() else {
                continue;
            };
            tokio::spawn(async move {
                let mut to = TcpStream::connect(to).await?;
                copy_bidirectional(&mut from, &mut to).await
            });
        }
    });
    Ok(count)
}

async fn looped_tcp_connection_ends(plane: Plane) -> Result<()> {
    let (tenants, network, port) = (
        Tenants::start().await?,
        Network::reserve()?,
        Port::reserve()?,
    );
    let back = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let times = relay(network.pod(0), &Arc::new(OnceLock::from(back))).await?;
    service(&tenants, "back", &[network.pod(0)])?;
    map(
        &tenants,
        "tcp",
        &json!({ (port.number().to_string()): format!("{OWNER}/back:80") }),
    )?;
    map(&tenants, "udp", &json!({}))?;
    let sluice = start(plane, &tenants).await?;
    let is_listening = async || TcpStream::connect(port.addr()).await.ok().map(drop);
    wait::until("the port to be listened on", is_listening).await?;
    ensure_closed(port.number()).await?;
    let times = times.load(Ordering::Relaxed);
    ensure!((2..=4 * MAX_CONNECTIONS).contains(&times), "{times} times");
    ensure!(sluice.get("open.test", "/").await?.status == 200);
    sluice.stop()
}

/// As a relay of the kernel would: whoever sends has an address of its own behind it.
async fn relay_datagrams(at: SocketAddr, to: u16) -> Result<Arc<AtomicUsize>> {
    let (socket, count) = (UdpSocket::bind(at).await?, Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        let (mut senders, mut datagram) = (BTreeMap::new(), [0; 64]);
        while let Ok((length, from)) = socket.recv_from(&mut datagram).await {
            if senders.len() > 8 * MAX_CONNECTIONS {
                continue;
            }
            if !senders.contains_key(&from)
                && let Ok(sender) = UdpSocket::bind("127.0.0.1:0").await
            {
                senders.insert(from, sender);
            }
            counted.store(senders.len(), Ordering::Relaxed);
            if let Some(sender) = senders.get(&from) {
                sender
                    .send_to(&datagram[..length], ("127.0.0.1", to))
                    .await
                    .ok();
            }
        }
    });
    Ok(count)
}

async fn looped_datagram_ends(plane: Plane) -> Result<()> {
    let (tenants, network, port) = (
        Tenants::start().await?,
        Network::reserve()?,
        Port::reserve()?,
    );
    let times = relay_datagrams(network.pod(0), port.number()).await?;
    service(&tenants, "back", &[network.pod(0)])?;
    map(
        &tenants,
        "udp",
        &json!({ (port.number().to_string()): format!("{OWNER}/back:80") }),
    )?;
    map(&tenants, "tcp", &json!({}))?;
    let sluice = start(plane, &tenants).await?;
    let client = UdpSocket::bind("127.0.0.1:0").await?;
    let arrived = async || {
        client.send_to(b"round", port.addr()).await.ok()?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        (times.load(Ordering::Relaxed) > 1).then_some(())
    };
    wait::until("a datagram to arrive", arrived)
        .await
        .with_context(|| sluice.log().tail())?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let senders = times.load(Ordering::Relaxed);
    ensure!(
        (2..=4 * MAX_CONNECTIONS).contains(&senders),
        "{senders} sockets"
    );
    ensure!(sluice.get("open.test", "/").await?.status == 200);
    sluice.stop()
}
