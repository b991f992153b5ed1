//! Pods in zones, and which of them answer.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::echo::Echo;
use crate::http;
use crate::manifests::{Manifests, endpoint_slice};
use crate::sluice::Sluice;

/// Makes these pods the only endpoints of a Service, each in its zone.
pub fn place(manifests: &Manifests, service: &str, pods: &[(&Echo, &str)]) -> Result<()> {
    let addrs: Vec<SocketAddr> = pods.iter().map(|(pod, _)| pod.addr()).collect();
    let mut slice = endpoint_slice("default", service, &addrs);
    let endpoints = slice["endpoints"].as_array_mut().into_iter().flatten();
    for (endpoint, (pod, zone)) in endpoints.zip(pods) {
        endpoint["zone"] = (*zone).into();
        endpoint["targetRef"] =
            json!({ "kind": "Pod", "namespace": "default", "name": pod.name() });
    }
    manifests.object(&slice)
}

/// The pods that answer requests for different paths of a host.
pub async fn answering(sluice: &Sluice, host: &str) -> Result<Vec<String>> {
    let mut pods = Vec::new();
    for n in 0..30 {
        let page = http::get(sluice.http(), host, &format!("/{n}")).await?;
        ensure!(page.status == 200, "{}", page.text());
        pods.extend(page.pod().map(str::to_owned));
    }
    pods.sort();
    pods.dedup();
    Ok(pods)
}
