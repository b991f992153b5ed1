//! Dashboards and alerts over what a Prometheus has scraped from a controller and from an Envoy that runs apart from it.

mod expressions;
mod prometheus;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;
use sluice_tests::certificate::Pair;
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane};
use sluice_tests::echo::Echo;
use sluice_tests::http;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{self, Options, Sluice};
use sluice_tests::wait;

use crate::fixture::HOST;
use expressions::Variables;
use prometheus::Prometheus;

const CHART: &str = "controller/deploy/helm/sluice";
const BOARDS: [&str; 2] = ["ingress-nginx", "sluice"];
/// As the chart names them for the release `sluice` in the namespace `sluice-system`.
const CONTROLLER_JOB: &str = "sluice-controller";
const DATA_PLANE_JOB: &str = "sluice-system/sluice-data-plane";
/// Metrics of what does not happen here, and the tests that see each on a real page.
const SEEN_ELSEWHERE: [(&str, &str); 2] = [
    (
        "nginx_ingress_controller_leader_election_status",
        "tests/cluster/fake_apiserver/metrics.rs",
    ),
    (
        "nginx_ingress_controller_refused_ingress",
        "tests/security/r13_isolation/containment/fixture.rs",
    ),
];

/// A panel's query, or an alert's: where it stands, and the expression.
struct Shown {
    place: String,
    expression: String,
}

/// A controller and an Envoy apart from it, with an Ingress of each kind that panels are about.
struct Scene {
    _pods: Vec<Echo>,
    _network: Network,
    _manifests: Manifests,
    http: Port,
    _xds: Port,
    controller: Sluice,
    data_plane: DataPlane,
    prometheus: Prometheus,
}

impl Scene {
    async fn start() -> Result<Scene> {
        let (network, manifests) = (Network::reserve()?, Manifests::new()?);
        let pods = Echo::start_all("web", &network.pods(1)).await?;
        let failing = Answer {
            status: 500,
            ..Answer::default()
        };
        pods[0].script(Script::echo().answer("/fails", failing));
        objects(&manifests, &network)?;
        let authority = Authority::new()?;
        let (http, xds) = (Port::reserve()?, Port::reserve()?);
        let identity = authority.identity(CONTROLLER)?;
        let certificates = identity.folder().display().to_string();
        let arguments = ["--enable-metrics", "--xds-certificates", &certificates];
        let controller = Options::new(&manifests)
            .without_data_plane()
            .environment("POD_NAMESPACE", "sluice-system")
            .environment("POD_NAME", "sluice-controller-0")
            .http(http.addr())
            .xds(xds.addr().to_string())
            .arguments(arguments.map(str::to_owned).into())
            .start()
            .await?;
        let identity = authority.identity("data-plane")?;
        let data_plane = DataPlane::start(controller.xds().parse()?, &identity).await?;
        data_plane.ready().await?;
        sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;
        let jobs = [
            (CONTROLLER_JOB, controller.health()),
            (DATA_PLANE_JOB, data_plane.health()),
        ];
        Ok(Scene {
            _pods: pods,
            _network: network,
            _manifests: manifests,
            http,
            _xds: xds,
            prometheus: Prometheus::start(&jobs).await?,
            controller,
            data_plane,
        })
    }

    /// Requests that are served, that a pod fails, that are tried again, closed and not found.
    async fn requests(&self) -> Result<()> {
        for (host, path) in [
            (HOST, "/"),
            (HOST, "/fails"),
            ("flaky.test", "/"),
            ("empty.test", "/"),
            ("nobody.test", "/"),
        ] {
            http::get(self.http.addr(), host, path).await?;
        }
        Ok(())
    }

    /// Sends requests until none of these is without an answer.
    async fn wait_until_answered(&self, shown: &[Shown]) -> Result<()> {
        let mut empty: Vec<&Shown> = shown.iter().collect();
        let mut last = Vec::new();
        let answered = async || {
            self.requests().await.ok()?;
            let mut still = Vec::new();
            for shown in &empty {
                let samples = self.prometheus.query(&shown.expression).await;
                let is_number = |(_, value): &(Value, f64)| value.is_finite();
                if !samples.is_ok_and(|samples| samples.iter().any(is_number)) {
                    still.push(*shown);
                }
            }
            empty = still;
            last = empty
                .iter()
                .map(|shown| format!("{}: {}", shown.place, shown.expression))
                .collect();
            empty.is_empty().then_some(())
        };
        let waited = wait::until("every query to have an answer", answered).await;
        waited
            .map(drop)
            .with_context(|| format!("without one:\n{}", last.join("\n")))
    }

    fn stop(self) -> Result<()> {
        self.prometheus.stop()?;
        self.data_plane.stop()?;
        self.controller.stop()
    }
}

/// One with a certificate and a setting that nobody can read, one with a pod that nobody reaches, one whose pod fails its health
/// checks, one without a pod.
fn objects(manifests: &Manifests, network: &Network) -> Result<()> {
    let (served, nobody) = (network.pod(0), network.pod(1));
    Pair::of(&[HOST])?.store(manifests, "web")?;
    manifests.service("default", "web", 80, &[served])?;
    let web = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let mut web = web.annotation("proxy-read-timeout", "soon").to_json();
    web["spec"]["tls"] = json!([{"hosts": [HOST], "secretName": "web"}]);
    // Requests without TLS are served, too.
    web["metadata"]["annotations"]["nginx.ingress.kubernetes.io/ssl-redirect"] = json!("false");
    manifests.object(&web)?;
    for (name, pods) in [
        ("flaky", vec![served, nobody]),
        ("checked", vec![nobody]),
        ("empty", vec![]),
    ] {
        manifests.service("default", name, 80, &pods)?;
        let ingress = Ingress::new("default", name).host(&format!("{name}.test"));
        let ingress = ingress.path("/", name, 80);
        let checks = ingress
            .clone()
            .annotation("sluice.dev/health-check-path", "/healthz")
            .annotation("sluice.dev/health-check-interval", "1s");
        manifests.ingress(if name == "checked" { &checks } else { &ingress })?;
    }
    Ok(())
}

fn read(path: &str) -> Result<String> {
    let path = Path::new(CHART).join(path);
    fs::read_to_string(repository().join(&path)).with_context(|| path.display().to_string())
}

/// Queries of panels and of variables.
fn boards() -> Result<Vec<Shown>> {
    let mut shown = Vec::new();
    for name in BOARDS {
        let board: Value = serde_json::from_str(&read(&format!("dashboards/{name}.json"))?)?;
        let variables = Variables::of(&board)?;
        for variable in board["templating"]["list"].as_array().into_iter().flatten() {
            if let Some(query) = variable["query"]["query"].as_str() {
                shown.push(Shown {
                    place: format!("{name}: {}", variable["name"]),
                    expression: variables.fill(&expressions::values(query)?),
                });
            }
        }
        for panel in board["panels"].as_array().context("no panels")? {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let expression = target["expr"].as_str().context("no expr")?;
                shown.push(Shown {
                    place: format!("{name}: {}", panel["title"]),
                    expression: variables.fill(expression),
                });
            }
        }
    }
    Ok(shown)
}

fn alerts() -> Result<Vec<Shown>> {
    let text = read("alerts/sluice.yaml")?;
    let text = text
        .replace("DATA_PLANE_JOB", DATA_PLANE_JOB)
        .replace("CONTROLLER_JOB", CONTROLLER_JOB);
    let alerts: Vec<Value> = serde_saphyr::from_str(&text)?;
    let shown = alerts.iter().map(|alert| {
        Some(Shown {
            place: alert["alert"].as_str()?.to_owned(),
            expression: alert["expr"].as_str()?.to_owned(),
        })
    });
    shown
        .collect::<Option<_>>()
        .context("an alert without expr")
}

/// Each series on its own: `or vector(0)` and comparisons hide a metric, a label or a job that does not exist.
fn selected(shown: &[Shown]) -> Result<Vec<Shown>> {
    let mut all = Vec::new();
    for Shown { place, expression } in shown {
        for selector in expressions::selectors(expression) {
            let elsewhere = SEEN_ELSEWHERE
                .iter()
                .find(|(metric, _)| *metric == selector.metric);
            if let Some((metric, test)) = elsewhere {
                let short = metric.trim_start_matches("nginx_ingress_controller_");
                let text = fs::read_to_string(repository().join(test))?;
                ensure!(text.contains(short), "{test} does not see {metric}");
                continue;
            }
            all.push(Shown {
                place: place.clone(),
                expression: selector.whole.to_owned(),
            });
        }
    }
    Ok(all)
}

/// A graph that is empty, and an alert that cannot fire, are noticed when they are needed.
#[tokio::test(flavor = "multi_thread")]
async fn every_panel_variable_and_alert_has_series_of_a_real_controller_and_envoy() -> Result<()> {
    let (boards, alerts) = (boards()?, alerts()?);
    ensure!(boards.len() > 50 && alerts.len() > 8, "{}", boards.len());
    let mut shown = selected(&boards)?;
    shown.extend(selected(&alerts)?);
    ensure!(shown.len() > 80, "{} series", shown.len());
    shown.extend(boards);
    let scene = Scene::start().await?;
    scene.wait_until_answered(&shown).await?;
    scene.stop()
}
