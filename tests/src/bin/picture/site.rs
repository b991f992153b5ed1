//! Pods behind several Services, one for each algorithm, and a controller with an Envoy before them.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;

/// Annotations of an Ingress.
pub(crate) type Annotations = &'static [(&'static str, &'static str)];

/// An algorithm by the name that a picture gives it.
#[derive(Clone, Copy)]
pub(crate) struct Algorithm {
    pub(crate) title: &'static str,
    pub(crate) annotations: Annotations,
}

impl Algorithm {
    /// The name of its Service.
    fn service(self) -> String {
        self.title
            .split(|c: char| !c.is_alphanumeric())
            .collect::<Vec<_>>()
            .join("")
    }

    pub(crate) fn host(self) -> String {
        format!("{}.test", self.service())
    }
}

pub(crate) struct Site {
    pub(crate) pods: Vec<Echo>,
    pub(crate) sluice: Sluice,
    manifests: Manifests,
    _network: Network,
}

impl Site {
    /// So many pods, of which the first are endpoints.
    pub(crate) async fn start(pods: u16, ready: usize, algorithms: &[Algorithm]) -> Result<Site> {
        let network = Network::reserve()?;
        let pods = Echo::start_all("web", &network.pods(pods)).await?;
        let addrs: Vec<SocketAddr> = pods.iter().take(ready).map(Echo::addr).collect();
        let manifests = Manifests::new()?;
        for algorithm in algorithms {
            let service = algorithm.service();
            manifests.service("default", &service, 80, &addrs)?;
            let ingress = Ingress::new("default", &service)
                .host(&algorithm.host())
                .path("/", &service, 80);
            let with =
                |ingress: Ingress, (name, value): &(&str, &str)| ingress.annotation(name, value);
            manifests.ingress(&algorithm.annotations.iter().fold(ingress, with))?;
        }
        let sluice = Sluice::start(&manifests).await?;
        Ok(Site {
            pods,
            sluice,
            manifests,
            _network: network,
        })
    }

    /// All pods are endpoints now.
    pub(crate) fn scale_up(&self, algorithms: &[Algorithm]) -> Result<()> {
        let addrs: Vec<SocketAddr> = self.pods.iter().map(Echo::addr).collect();
        algorithms.iter().try_for_each(|algorithm| {
            self.manifests
                .endpoints("default", &algorithm.service(), &addrs)
        })
    }
}

/// Someone who comes again: with a path of their own, and the cookie that they were given.
#[derive(Clone)]
pub(crate) struct Client {
    number: usize,
    cookie: Option<String>,
}

impl Client {
    pub(crate) fn all(count: usize) -> Vec<Client> {
        (0..count)
            .map(|number| Client {
                number,
                cookie: None,
            })
            .collect()
    }

    /// The pod that answers.
    pub(crate) async fn visit(&mut self, addr: SocketAddr, algorithm: Algorithm) -> Result<usize> {
        let request = Request::get(&algorithm.host(), &format!("/{}", self.number));
        let request = self
            .cookie
            .iter()
            .fold(request, |request, cookie| request.header("cookie", cookie));
        let response = http::send(addr, &request).await?;
        ensure!(
            response.status == 200,
            "{}: {}",
            algorithm.title,
            response.text()
        );
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        let pod = response
            .pod()
            .and_then(|pod| pod.strip_prefix("web-"))
            .context("a pod answers")?;
        Ok(pod.parse()?)
    }
}
