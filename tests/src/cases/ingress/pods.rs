//! The pods of a case: as many as the model wants, under addresses of their own.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio_rustls::rustls::ServerConfig;

use super::certificates::Authorities;
use super::fixture;
use super::model::{Behind, Key, Model, Named, find};
use super::objects::{Place, Places};
use crate::echo::{Echo, EchoIdentity, Journal, Setup, Speaks};
use crate::ports::{Network, Port};
use crate::script::{Answer, Script};
use crate::tls;

/// The pods that run.
pub struct Pods {
    network: Network,
    used: u16,
    services: BTreeMap<Key, Running>,
    tcp: BTreeMap<String, Port>,
    /// Their response to DNS over TCP.
    dns: Option<Ipv4Addr>,
    /// All requests that they received.
    pub journal: Journal,
}

/// The pods of one service.
#[derive(Default)]
struct Running {
    pods: Vec<Echo>,
    /// How many there have been, so that a name is never used again.
    named: usize,
    /// The server outside of the cluster, or behind the service's own address.
    front: Option<(Echo, Option<Port>)>,
    certificate: Option<(Arc<ServerConfig>, Vec<u8>)>,
    script: Script,
    /// Answers of single pods instead.
    own: BTreeMap<String, BTreeMap<String, Answer>>,
    speaks: Speaks,
}

impl Pods {
    /// None yet.
    pub fn new(dns: Option<Ipv4Addr>) -> Result<Pods> {
        Ok(Pods {
            dns,
            network: Network::reserve()?,
            used: 0,
            services: BTreeMap::new(),
            tcp: BTreeMap::new(),
            journal: Journal::default(),
        })
    }

    /// Starts what the model wants and is not there; gives what it does not want any more, which still runs.
    pub async fn follow(
        &mut self,
        model: &Model,
        authorities: &mut Authorities,
    ) -> Result<Vec<Echo>> {
        let mut surplus = Vec::new();
        for (key, named) in model.services() {
            let mut running = match self.services.remove(&key) {
                Some(running) => running,
                None => Running::new(model, &key, authorities)?,
            };
            self.front(&mut running, &key, &named).await?;
            let wanted = match named.behind {
                Behind::Pods(count) => usize::from(count),
                _ => 0,
            };
            surplus.extend(running.pods.drain(wanted.min(running.pods.len())..));
            while running.pods.len() < wanted {
                let pod = format!("{}-{}", key.name, running.named);
                running.named += 1;
                let addr = self.address();
                running
                    .pods
                    .push(self.start(&running, &key, addr, &pod).await?);
            }
            self.services.insert(key, running);
        }
        for port in model
            .given
            .tcp
            .keys()
            .filter(|port| !self.tcp.contains_key(*port))
            .collect::<Vec<_>>()
        {
            self.tcp.insert(port.clone(), Port::reserve()?);
        }
        Ok(surplus)
    }

    async fn front(&mut self, running: &mut Running, key: &Key, named: &Named) -> Result<()> {
        if running.front.is_some() {
            return Ok(());
        }
        if let Behind::Outside { resolvable: true } = named.behind {
            let port = Port::reserve()?;
            let pod = self
                .start(running, key, port.addr(), &format!("{}-outside", key.name))
                .await?;
            running.front = Some((pod, Some(port)));
        } else if named.by_cluster_ip {
            let addr = self.address();
            running.front = Some((self.start(running, key, addr, "clusterIP").await?, None));
        }
        Ok(())
    }

    fn address(&mut self) -> SocketAddr {
        self.used += 1;
        self.network.pod(self.used - 1)
    }

    async fn start(
        &self,
        running: &Running,
        key: &Key,
        addr: SocketAddr,
        pod: &str,
    ) -> Result<Echo> {
        let identity = EchoIdentity {
            pod: pod.to_owned(),
            service: key.name.clone(),
            namespace: key.namespace.clone(),
        };
        let setup = Setup {
            journal: Some(self.journal.clone()),
            tls: running
                .certificate
                .as_ref()
                .map(|(config, _)| Arc::clone(config)),
            speaks: running.speaks,
            dns: self.dns,
            reflex: Some(fixture::reflex),
        };
        let echo = Echo::start_with(addr, identity, setup).await?;
        echo.script(running.script_of(pod));
        Ok(echo)
    }

    /// Addresses of all services.
    pub fn places(&self) -> Places {
        let place = |running: &Running| {
            let addr = running.front.as_ref().map(|(front, _)| front.addr());
            let is_outside = running
                .front
                .as_ref()
                .is_some_and(|(_, port)| port.is_some());
            Place {
                pods: running.pods.iter().map(|pod| pod.addr().ip()).collect(),
                port: addr.unwrap_or(self.network.pod(0)).port(),
                cluster_ip: addr.filter(|_| !is_outside).map(|addr| addr.ip()),
                fixed: addr.is_some(),
            }
        };
        let services = self
            .services
            .iter()
            .map(|(key, running)| (key.clone(), place(running)))
            .collect();
        let tcp = self
            .tcp
            .iter()
            .map(|(port, reserved)| (port.clone(), reserved.number()))
            .collect();
        Places { services, tcp }
    }

    /// The listener of a TCP port.
    pub fn tcp(&self, port: u16) -> Result<SocketAddr> {
        let reserved = self
            .tcp
            .get(&port.to_string())
            .with_context(|| format!("no TCP service on {port}"))?;
        Ok(SocketAddr::new(
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            reserved.number(),
        ))
    }

    /// The first requests of a check fail again.
    pub fn begin_check(&self) {
        for running in self.services.values() {
            running
                .pods
                .iter()
                .for_each(|pod| pod.script(running.script_of(pod.name())));
        }
    }

    /// The service that shows this certificate (in DER).
    pub fn owner_of(&self, certificate: &[u8]) -> Option<&str> {
        let shows = |running: &Running| {
            running
                .certificate
                .as_ref()
                .is_some_and(|(_, shown)| shown.as_slice() == certificate)
        };
        self.services
            .iter()
            .find(|(_, running)| shows(running))
            .map(|(key, _)| key.name.as_str())
    }

    /// The names of a service's pods.
    pub fn names(&self, service: &str) -> Vec<String> {
        let services = self.services.iter().filter(|(key, _)| key.name == service);
        services
            .flat_map(|(_, running)| running.pods.iter().map(|pod| pod.name().to_owned()))
            .collect()
    }

    /// The name of the pod at an address.
    pub fn at(&self, addr: SocketAddr) -> Option<&str> {
        let fronts = self
            .services
            .values()
            .filter_map(|running| running.front.as_ref().map(|(pod, _)| pod));
        let pods = self.services.values().flat_map(|running| &running.pods);
        pods.chain(fronts)
            .find(|pod| pod.addr() == addr)
            .map(Echo::name)
    }
}

impl Running {
    fn new(model: &Model, key: &Key, authorities: &mut Authorities) -> Result<Running> {
        let backend = find(&model.given.backends, key)
            .cloned()
            .unwrap_or_default();
        let host = backend
            .cert
            .unwrap_or_else(|| format!("{}.{}.svc", key.name, key.namespace));
        let identity = authorities.described(&host)?.identity()?;
        let shown = identity
            .chain
            .first()
            .map(|certificate| certificate.to_vec())
            .unwrap_or_default();
        let speaks = match backend.scheme.as_deref() {
            None => Speaks::Either,
            Some("http") => Speaks::Plain,
            Some("https") => Speaks::Tls,
            Some(other) => {
                anyhow::bail!(
                    "backend {:?}: expected scheme http or https, got {other:?}",
                    key.name
                )
            }
        };
        Ok(Running {
            certificate: Some((tls::server_config(identity)?, shown)),
            script: backend.script,
            own: backend.pods,
            speaks,
            ..Running::default()
        })
    }

    fn script_of(&self, pod: &str) -> Script {
        let own = self.own.get(pod).into_iter().flatten();
        own.fold(self.script.clone(), |script, (path, answer)| {
            script.answer(path, answer.clone())
        })
    }
}
