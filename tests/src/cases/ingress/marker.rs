//! Tells when a change is served: a host that is in no case, whose answer changes with every revision.
//!
//! Two pods take turns as its only endpoint. The one of this revision answers when the filter has this revision's
//! endpoints; the path of this revision leads to it when the data plane has its routes, too. A change of endpoints
//! alone leaves the path as it was, so that it stays a change of endpoints alone.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::model::{Model, NAMESPACE};
use crate::dial::Dial;
use crate::echo::{Echo, EchoIdentity};
use crate::http::Request;
use crate::ports::Network;
use crate::{connection::Connection, manifests, wait};

const NAME: &str = "sluice-cases-marker";
const HOST: &str = "marker.sluice-cases.test";
/// Annotations that would keep the marker from answering, were they set for all Ingresses.
const EXEMPTIONS: [&str; 3] = ["ssl-redirect", "force-ssl-redirect", "enable-global-auth"];

/// The marker of one world.
pub struct Marker {
    pods: Vec<Echo>,
    network: Network,
    revision: usize,
    /// The revision of the last change that was more than endpoints.
    route: usize,
}

impl Marker {
    /// At revision 0.
    pub async fn start() -> Result<Marker> {
        let network = Network::reserve()?;
        let mut pods = Vec::new();
        for (n, addr) in network.pods(2).into_iter().enumerate() {
            pods.push(Echo::start(addr, EchoIdentity::of(NAME, &format!("{NAME}-{n}"))).await?);
        }
        Ok(Marker {
            pods,
            network,
            revision: 0,
            route: 0,
        })
    }

    /// The next revision.
    pub fn advance(&mut self, only_endpoints: bool) {
        self.revision += 1;
        if !only_endpoints {
            self.route = self.revision;
        }
    }

    /// Its objects at this revision.
    pub fn objects(&self, model: &Model) -> Vec<Value> {
        let namespace = model.flag("watch-namespace").unwrap_or(NAMESPACE);
        let class = model.flag("ingress-class").unwrap_or("nginx");
        let mut annotations = json!({ "kubernetes.io/ingress.class": class });
        for name in EXEMPTIONS {
            annotations[format!("{}{name}", super::model::PREFIX)] = "false".into();
        }
        // Everybody may see it, whoever may see the rest.
        annotations[format!("{}whitelist-source-range", super::model::PREFIX)] =
            "0.0.0.0/0,::/0".into();
        // Envoy would balance turns by itself, and say nothing of the filter's tables.
        annotations[format!("{}load-balance", super::model::PREFIX)] = "ewma".into();
        let port = self.network.pod(0).port();
        let slice = manifests::endpoint_slice(namespace, NAME, &[self.pod().addr()]);
        let metadata = json!({ "name": NAME, "namespace": namespace });
        let backend = json!({ "service": { "name": NAME, "port": { "number": port } } });
        let path = json!({ "path": self.path(), "pathType": "Exact", "backend": backend });
        let mut ingress = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
            "spec": { "rules": [{ "host": HOST, "http": { "paths": [path] } }] },
        });
        ingress["metadata"]["annotations"] = annotations;
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": { "ports": [{ "name": "http", "port": port, "targetPort": port }] },
        });
        vec![service, slice, ingress]
    }

    /// Waits until this revision is served.
    pub async fn served(&self, addr: SocketAddr, proxy_line: Option<&str>) -> Result<()> {
        let dial = Dial {
            addr,
            proxy_line: proxy_line.map(str::to_owned),
            tls: None,
        };
        let request = Request::get(HOST, &self.path());
        let mut last = String::new();
        let answers = async || {
            let answer = async { Connection::dial(&dial).await?.send(&request).await }.await;
            last = match &answer {
                Ok(answer) => format!("status {} from {:?}", answer.status, answer.pod()),
                Err(error) => format!("{error:#}"),
            };
            answer
                .ok()
                .filter(|answer| answer.pod() == Some(self.pod().name()))
                .map(drop)
        };
        let served = wait::until("the change to be served", answers).await;
        served
            .map(drop)
            .with_context(|| format!("the marker's last answer: {last}"))
    }

    fn pod(&self) -> &Echo {
        &self.pods[self.revision % 2]
    }

    fn path(&self) -> String {
        format!("/revision-{}", self.route)
    }
}
