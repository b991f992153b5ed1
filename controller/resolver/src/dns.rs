//! Addresses of a name, from /etc/hosts and the servers of /etc/resolv.conf.
//!
//! Names are whole. The search domains of /etc/resolv.conf are those of our pod: with them a tenant's `example.com` would be the
//! Service `example` of whoever has a namespace `com`, and names of tenants would be told to whoever serves the domains of the
//! node. nginx's `resolver`, which asks for the names in annotations, has none either, and the CNAME that the cluster's DNS makes of an
//! ExternalName is absolute, so no pod reaches there what only a search domain makes of it.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use sha2::{Digest, Sha256};
use sluice_fair::{self as fair, FairCache};
use tokio::time::timeout;
use tracing::warn;

use super::gate::Gate;
use super::message::{Family, Reply};
use super::query::Servers;

/// An answer holds for at least this long, whatever its TTL: no tenant makes us ask without pause.
pub const FLOOR: Duration = Duration::from_secs(2);
/// And for no longer than this, so that a name with a TTL of days can move.
pub const CAP: Duration = Duration::from_secs(300);
/// Timeout of one lookup in all: both families, every server.
const LONGEST: Duration = Duration::from_secs(5);
/// Bytes of names that clients ask for, which are remembered until their TTLs end: some 4,000 of them. A namespace fills it with
/// its own only.
const REMEMBERED: usize = 1 << 20;
/// Looks at a time for clients that ask for names of theirs, and how many of those may wait.
const TURNS_OF_CLIENTS: usize = 64;
const WAITING_CLIENTS: usize = 4096;
/// Prefix by which a search domain of a pod tells the cluster's domain.
const SERVICES: &str = "svc.";
const RESOLV_CONF: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";

/// The addresses of a name, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsAnswer {
    pub addresses: BTreeSet<IpAddr>,
    pub ttl: Duration,
}

/// Why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// DNS says that the name does not exist, or that it has no address.
    NoAddress,
    /// No server gave a usable answer.
    NoAnswer(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAddress => f.write_str("it has no address"),
            Failure::NoAnswer(reason) => f.write_str(reason),
        }
    }
}

/// A resolver, cheap to clone.
#[derive(Clone, Debug)]
pub struct Dns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Servers that are asked instead of the system's.
    servers: Vec<SocketAddr>,
    current: RwLock<Arc<System>>,
    remembered: Mutex<Remembered>,
    turns: Gate,
}

/// Addresses of names that clients have asked for, until their TTLs end, for each namespace that lets them.
type Remembered = FairCache<(BTreeSet<IpAddr>, Instant)>;

/// Configuration from the system's files.
#[derive(Debug)]
struct System {
    /// When they were written.
    written: [Option<SystemTime>; 2],
    servers: Servers,
    /// The domain of the cluster, if we are in one.
    cluster: Option<String>,
    hosts: HashMap<String, BTreeSet<IpAddr>>,
}

impl Dns {
    /// Reads the system's files; `servers` take the place of its servers.
    pub fn new(servers: &[SocketAddr]) -> Self {
        let system = System::read(servers).unwrap_or_else(|error| {
            // What a flag names, and what /etc/hosts says, can be asked all the same.
            warn!("{error:#}: names are whole, and only --dns-server and {HOSTS} know them");
            System::without_resolv_conf(servers)
        });
        let current = RwLock::new(Arc::new(system));
        let (remembered, turns) = (
            Mutex::new(FairCache::new(REMEMBERED)),
            Gate::new(TURNS_OF_CLIENTS, WAITING_CLIENTS),
        );
        Dns(Arc::new(Inner {
            servers: servers.to_vec(),
            current,
            remembered,
            turns,
        }))
    }

    /// Reads the system's files again when they are others. Those that cannot be read change nothing.
    pub fn refresh(&self) {
        let mut current = self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if current.written == written() {
            return;
        }
        match System::read(&self.0.servers) {
            Ok(system) => *current = Arc::new(system),
            Err(error) => warn!("{error:#}: names are resolved as before"),
        }
    }

    /// IPv4 addresses, or IPv6 addresses where there are none, as ingress-nginx asks.
    pub async fn look_up(&self, name: &str) -> Result<DnsAnswer, Failure> {
        let system = Arc::clone(
            &self
                .0
                .current
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let found = timeout(LONGEST, system.look_up(name)).await;
        found.unwrap_or_else(|_| Err(Failure::NoAnswer(format!("no answer in {LONGEST:?}"))))
    }

    /// The same for a name that a client has brought to a host of this namespace. There are many of those: some are remembered,
    /// and only so many are looked up at a time, in fair turns.
    pub async fn look_up_for_client(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<BTreeSet<IpAddr>, Failure> {
        let key: fair::Key = Sha256::digest(name).into();
        if let Some((addresses, until)) = self.remembered().get(namespace, &key)
            && Instant::now() < *until
        {
            return Ok(addresses.clone());
        }
        let busy = || Failure::NoAnswer("too many names are being looked up".to_owned());
        let _turn = self.0.turns.enter(namespace).await.ok_or_else(busy)?;
        let DnsAnswer { addresses, ttl } = self.look_up(name).await?;
        // A tree keeps some room in its nodes.
        let size = 2 * addresses.len() * size_of::<IpAddr>();
        let kept = (addresses.clone(), Instant::now() + ttl);
        self.remembered().insert(namespace, key, kept, size);
        Ok(addresses)
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl System {
    fn read(servers: &[SocketAddr]) -> anyhow::Result<Self> {
        let text = std::fs::read(RESOLV_CONF).context(RESOLV_CONF)?;
        Ok(System::parse(&text, servers))
    }

    fn parse(resolv_conf: &[u8], servers: &[SocketAddr]) -> Self {
        let system = System::without_resolv_conf(servers);
        // What cannot be understood of it is left out, as everywhere else.
        let (config, _) = resolv_conf::Config::parse_with_errors(resolv_conf);
        let addresses = if servers.is_empty() {
            config
                .nameservers
                .iter()
                .map(|server| SocketAddr::new(server.into(), 53))
                .collect()
        } else {
            servers.to_vec()
        };
        let patience = Duration::from_secs(config.timeout.into()).min(Duration::from_secs(2));
        System {
            servers: Servers {
                addresses,
                patience,
                attempts: config.attempts.clamp(1, 2),
            },
            cluster: cluster_of(config.get_last_search_or_domain().map(String::as_str)),
            ..system
        }
    }

    fn without_resolv_conf(servers: &[SocketAddr]) -> Self {
        let hosts = hosts(&std::fs::read_to_string(HOSTS).unwrap_or_default());
        let (addresses, patience) = (servers.to_vec(), Duration::from_secs(2));
        let servers = Servers {
            addresses,
            patience,
            attempts: 2,
        };
        System {
            written: written(),
            servers,
            cluster: None,
            hosts,
        }
    }

    /// IPv4 first. A server that knows no answer is one, too.
    async fn look_up(&self, name: &str) -> Result<DnsAnswer, Failure> {
        if let Some(addresses) = self.hosts.get(name) {
            return Ok(DnsAnswer {
                addresses: addresses.clone(),
                ttl: CAP,
            });
        }
        let whole = whole(name, self.cluster.as_deref());
        for family in [Family::V4, Family::V6] {
            match self.servers.ask(&whole, family).await {
                Ok(Reply::Addresses(addresses, ttl)) => {
                    let ttl = Duration::from_secs(ttl.into()).clamp(FLOOR, CAP);
                    return Ok(DnsAnswer { addresses, ttl });
                }
                Ok(Reply::NoAddress | Reply::Truncated) => {}
                Ok(Reply::Error(code)) => {
                    return Err(Failure::NoAnswer(format!("DNS error {code}")));
                }
                Err(silence) => return Err(Failure::NoAnswer(silence)),
            }
        }
        Err(Failure::NoAddress)
    }
}

/// A name is what it says; only one that ends in `.svc`, which is no domain of the internet, is one of the cluster.
fn whole(name: &str, cluster: Option<&str>) -> String {
    match cluster {
        Some(cluster) if name.ends_with(".svc") => format!("{name}.{cluster}."),
        _ => format!("{name}."),
    }
}

/// The domain of the cluster, as the search domains of one of its pods tell.
fn cluster_of<'a>(search: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut domains =
        search.filter_map(|domain| domain.trim_end_matches('.').strip_prefix(SERVICES));
    domains.next().map(str::to_owned)
}

/// The addresses of each name; those of IPv6 only where there are no others.
fn hosts(text: &str) -> HashMap<String, BTreeSet<IpAddr>> {
    let mut all: HashMap<String, BTreeSet<IpAddr>> = HashMap::new();
    for line in text.lines() {
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse) else {
            continue;
        };
        for name in words {
            all.entry(name.to_ascii_lowercase())
                .or_default()
                .insert(address);
        }
    }
    for addresses in all.values_mut() {
        if addresses.iter().any(IpAddr::is_ipv4) {
            addresses.retain(IpAddr::is_ipv4);
        }
    }
    all
}

fn written() -> [Option<SystemTime>; 2] {
    [RESOLV_CONF, HOSTS].map(|file| {
        std::fs::metadata(file)
            .and_then(|file| file.modified())
            .ok()
    })
}

#[cfg(test)]
mod tests;
