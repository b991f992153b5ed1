//! Sluice in its four forms, each as a whole, with the settings that it has by itself.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde_json::json;
use sluice_tests::log::Log;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::{self, Options, Sluice};

use super::Protocol;
use super::contender::Contender;
use super::proxy::{Changed, Proxy, Running};
use super::site::{HOST, Site};

struct OfSluice {
    sluice: Sluice,
    manifests: Manifests,
    on_nginx: bool,
}

pub(crate) async fn start(
    contender: Contender,
    site: &Site,
    protocol: Protocol,
) -> Result<Running> {
    let manifests = manifests(site, protocol)?;
    let on_nginx = contender == Contender::SluiceOnNginx;
    let flags: &[&str] = match contender {
        Contender::SluiceByModule => &["--native-balancing=off"],
        Contender::SluiceByWasm => &["--native-balancing=off", "--envoy-filter=wasm"],
        _ => &[],
    };
    let flags = flags.iter().map(|flag| (*flag).to_owned());
    let flags = flags.chain(["--configmap=default/settings".to_owned()]);
    let options = Options::new(&manifests)
        .data_plane(if on_nginx { "nginx" } else { "envoy" })
        .arguments(flags.collect());
    let sluice = options.start().await?;
    if protocol != Protocol::WebSocket && protocol != Protocol::Grpc {
        sluice::wait_for_status(sluice.http(), HOST, "/", 200).await?;
    }
    Ok(Running {
        http: sluice.http(),
        https: sluice.https(),
        proxy: Box::new(OfSluice {
            sluice,
            manifests,
            on_nginx,
        }),
    })
}

impl Proxy for OfSluice {
    fn processes(&self) -> Result<Vec<u32>> {
        if self.on_nginx {
            return Ok(self.sluice.workers());
        }
        let envoy = self.sluice.envoy_pid();
        Ok(vec![envoy.context("the controller has no Envoy")?])
    }

    fn log(&self) -> &Log {
        self.sluice.log()
    }

    /// An EndpointSlice, as Kubernetes writes it.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a> {
        Box::pin(async { self.manifests.endpoints("default", "web", pods) })
    }
}

fn manifests(site: &Site, protocol: Protocol) -> Result<Manifests> {
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, site.pods(protocol))?;
    site.pair.store(&manifests, "web-tls")?;
    let mut ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80)
        .annotation("nginx.ingress.kubernetes.io/ssl-redirect", "false");
    if protocol == Protocol::Grpc {
        ingress = ingress.annotation("nginx.ingress.kubernetes.io/backend-protocol", "GRPC");
    }
    let mut ingress = ingress.to_json();
    ingress["spec"]["tls"] = json!([{ "hosts": [HOST], "secretName": "web-tls" }]);
    manifests.object(&ingress)?;
    // As with the others, connections stay for as long as the load wants.
    manifests.object(&json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "default", "name": "settings" },
        "data": { "keep-alive-requests": "1000000000", "keep-alive": "3600" },
    }))?;
    Ok(manifests)
}
