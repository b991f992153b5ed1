//! Latency of a guarded host while the controller has very many Ingresses, and while all of those are translated again: once a
//! second the operator's ConfigMap gets another unknown key. Routes stay as they are, so Envoy has nothing to do with it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::tally::Tally;

use crate::Effort;
use crate::applications::application;
use crate::row::{Measured, Row};

const HOST: &str = "guarded.test";
const CONNECTIONS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_secs(1);

/// Among so many Ingresses.
pub(crate) struct ExternalAuth {
    pub(crate) ingresses: usize,
}

impl ExternalAuth {
    pub(crate) fn rows(&self) -> [Row; 3] {
        let row =
            |name: &str| Row::new(format!("external_auth_{name}_ms/{}", self.ingresses), "ms");
        [
            row("p99"),
            row("p99_while_translating"),
            row("longest_while_translating"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let manifests = Manifests::new()?;
        for n in 0..self.ingresses {
            let objects: Vec<String> = application(n).iter().map(ToString::to_string).collect();
            manifests.write(&format!("app-{n}.yaml"), &objects.join("\n---\n"))?;
        }
        let _pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
        let _service = Echo::start(network.pod(1), EchoIdentity::of("auth", "auth-0")).await?;
        manifests.service("default", "web", 80, &[network.pod(0)])?;
        manifests.service("default", "auth", 80, &[network.pod(1)])?;
        let guarded = Ingress::new("default", "guarded")
            .host(HOST)
            .path("/", "web", 80);
        manifests.ingress(&guarded.annotation("auth-url", "http://auth.default.svc/verify"))?;
        let flags = ["--configmap", "default/sluice"].map(str::to_owned);
        let sluice = Options::new(&manifests)
            .arguments(flags.into())
            .start()
            .await?;
        sluice.wait_for_status(HOST, "/", 200).await?;

        let load = || {
            let load = Load::new(sluice.http(), Request::get(HOST, "/"));
            load.connections(CONNECTIONS).pause(PAUSE).start()
        };
        let running = load();
        tokio::time::sleep(PERIOD * effort.rounds).await;
        let idle = running.stop().await?;
        let running = load();
        for n in 0..effort.rounds {
            let data = json!({ format!("no-such-key-{n}"): "1" });
            let metadata = json!({"namespace": "default", "name": "sluice"});
            manifests.object(
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
            )?;
            tokio::time::sleep(PERIOD).await;
        }
        let busy = running.stop().await?;
        ensure!(idle.failed() == 0 && busy.failed() == 0, "{idle}; {busy}");
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let p99 = |tally: &Tally| millis(tally.latencies.quantile(0.99));
        let samples = |tally: &Tally| usize::try_from(tally.total()).unwrap_or_default();
        let [of_idle, of_busy, longest] = self.rows();
        Ok(vec![
            of_idle.measured(p99(&idle), samples(&idle)),
            of_busy.measured(p99(&busy), samples(&busy)),
            longest.measured(millis(busy.latencies.max()), samples(&busy)),
        ])
    }
}
