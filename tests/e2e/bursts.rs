//! Many objects at once: every host is served soon after the last of them came, wherever they come from, whichever comes
//! first, and however hosts are told to Envoy.
//!
//! Ordinary runs play each kind of burst once. `SLUICE_BURST_SIZE` and `SLUICE_BURST_ROUNDS` play larger and more; the
//! longest wait of each round is in the output.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::certificate::{Pair, presents};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::{Ingress, Manifests, endpoint_slice, service};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{unix, wait};
use tokio::time::Instant;

/// Hosts of a burst.
const HOSTS: usize = 50;
/// How many hosts are asked at a time.
const CLIENTS: usize = 8;

/// The source of objects.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Folder,
    ApiServer,
}

/// When Secrets come.
#[derive(Clone, Copy, Debug)]
enum Secrets {
    Before,
    With,
    After,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_directory_in_one_route_table() -> Result<()> {
    run_bursts(Origin::Folder, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_directory_in_route_scopes() -> Result<()> {
    run_bursts(Origin::Folder, &["--scopes-from", "0"]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_fake_api_server_in_one_route_table() -> Result<()> {
    run_bursts(Origin::ApiServer, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_fake_api_server_in_route_scopes() -> Result<()> {
    run_bursts(Origin::ApiServer, &["--scopes-from", "0"]).await
}

async fn run_bursts(from: Origin, arguments: &[&str]) -> Result<()> {
    let (size, rounds) = (
        number_from_env("SLUICE_BURST_SIZE", HOSTS)?,
        number_from_env("SLUICE_BURST_ROUNDS", 1)?,
    );
    let environment = Environment::start(from).await?;
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let sluice = environment.options().arguments(arguments).start().await?;
    for round in 0..rounds {
        for secrets in [Secrets::Before, Secrets::With, Secrets::After] {
            let burst = Burst::new(
                &environment,
                &format!("{round}-{secrets:?}").to_lowercase(),
                size,
            )?;
            environment.apply(&burst.objects(secrets))?;
            let [some, all] = burst
                .is_served(&sluice)
                .await
                .with_context(|| format!("round {round}, {secrets:?}"))?;
            print(&format!(
                "{from:?} {secrets:?} round {round}: {} ms, {} ms to ask all",
                some.as_millis(),
                all.as_millis()
            ));
            envoy_matches_acknowledged_state(&sluice, time_limit(size)).await?;
            environment.remove(&burst.objects(secrets))?;
        }
    }
    sluice.stop()
}

/// An Envoy makes filter chains of so many hosts one after the other.
fn time_limit(hosts: usize) -> Duration {
    wait::LIMIT * u32::try_from(hosts.div_ceil(500)).unwrap_or(1)
}

#[allow(clippy::print_stdout, reason = "the measure of a hunt")]
fn print(line: &str) {
    println!("{line}");
}

fn number_from_env(variable: &str, default: usize) -> Result<usize> {
    match env::var(variable) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{variable}: expected a number, got {text:?}")),
        Err(_) => Ok(default),
    }
}

/// The environment of a burst.
struct Environment {
    source: Source,
    pod: Echo,
    _network: Network,
}

enum Source {
    Folder(Manifests),
    ApiServer(Cluster),
}

impl Environment {
    async fn start(from: Origin) -> Result<Environment> {
        let network = Network::reserve()?;
        let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
        let source = match from {
            Origin::Folder => Source::Folder(Manifests::new()?),
            Origin::ApiServer => Source::ApiServer(Cluster::fake().await?),
        };
        Ok(Environment {
            source,
            pod,
            _network: network,
        })
    }

    fn options(&self) -> Options {
        match &self.source {
            Source::Folder(manifests) => Options::new(manifests),
            Source::ApiServer(cluster) => Options::in_cluster(cluster),
        }
    }

    fn namespace(&self) -> &str {
        match &self.source {
            Source::Folder(_) => "default",
            Source::ApiServer(cluster) => cluster.namespace(),
        }
    }

    fn class(&self) -> &str {
        match &self.source {
            Source::Folder(_) => "nginx",
            Source::ApiServer(cluster) => cluster.namespace(),
        }
    }

    fn apply(&self, objects: &[Value]) -> Result<()> {
        match &self.source {
            Source::Folder(manifests) => objects
                .iter()
                .try_for_each(|object| manifests.object(object)),
            Source::ApiServer(cluster) => {
                let fake = cluster.as_fake().context("a fake")?;
                objects
                    .iter()
                    .try_for_each(|object| fake.put(object.clone()))
            }
        }
    }

    fn remove(&self, objects: &[Value]) -> Result<()> {
        match &self.source {
            Source::Folder(manifests) => objects
                .iter()
                .try_for_each(|object| manifests.remove_object(object)),
            Source::ApiServer(cluster) => {
                let fake = cluster.as_fake().context("a fake")?;
                objects.iter().try_for_each(|object| fake.remove(object))
            }
        }
    }
}

/// Hosts that come at once, each with a Service, a certificate and an Ingress of its own.
struct Burst {
    hosts: Vec<Host>,
}

struct Host {
    name: String,
    pair: Pair,
    secret: Value,
    others: Vec<Value>,
}

impl Burst {
    fn new(environment: &Environment, name: &str, size: usize) -> Result<Burst> {
        let hosts = (0..size).map(|number| Host::new(environment, &format!("b{name}-{number}")));
        Ok(Burst {
            hosts: hosts.collect::<Result<_>>()?,
        })
    }

    fn objects(&self, secrets: Secrets) -> Vec<Value> {
        let all_secrets = || self.hosts.iter().map(|host| host.secret.clone());
        let all_others = || {
            self.hosts
                .iter()
                .flat_map(|host| host.others.iter().cloned())
        };
        match secrets {
            Secrets::Before => all_secrets().chain(all_others()).collect(),
            Secrets::After => all_others().chain(all_secrets()).collect(),
            Secrets::With => {
                let each = |host: &Host| {
                    host.others
                        .iter()
                        .chain([&host.secret])
                        .cloned()
                        .collect::<Vec<_>>()
                };
                self.hosts.iter().flat_map(each).collect()
            }
        }
    }

    /// Waits until every host answers and presents its own certificate; how long some of them took, the last one among them,
    /// and how long it took to have asked all.
    async fn is_served(&self, sluice: &Sluice) -> Result<[Duration; 2]> {
        let start = Instant::now();
        let step = self.hosts.len().div_ceil(HOSTS);
        let ask = async |step: usize| -> Result<Duration> {
            let hosts = stream::iter(self.hosts.iter().rev().step_by(step));
            let waits = hosts.map(|host| host.is_served(sluice, time_limit(self.hosts.len())));
            let served: Result<Vec<()>> = waits.buffer_unordered(CLIENTS).try_collect().await;
            served.with_context(|| sluice.log().tail())?;
            Ok(start.elapsed())
        };
        Ok([ask(step).await?, ask(1).await?])
    }
}

impl Host {
    fn new(environment: &Environment, name: &str) -> Result<Host> {
        let (namespace, host) = (environment.namespace(), format!("{name}.test"));
        let pair = Pair::of(&[&host])?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "namespace": namespace, "name": name },
            "data": { "tls.crt": STANDARD.encode(&pair.pem), "tls.key": STANDARD.encode(&pair.key) },
        });
        let ingress = Ingress::new(namespace, name)
            .class(environment.class())
            .host(&host);
        let ingress = ingress
            .annotation("ssl-redirect", "false")
            .path("/", name, 80);
        let mut ingress = ingress.to_json();
        ingress["spec"]["tls"] = json!([{ "hosts": [host], "secretName": name }]);
        let pods = [environment.pod.addr()];
        let others = vec![
            service(namespace, name, 80, &pods),
            endpoint_slice(namespace, name, &pods),
            ingress,
        ];
        Ok(Host {
            name: host,
            pair,
            secret,
            others,
        })
    }

    async fn is_served(&self, sluice: &Sluice, time_limit: Duration) -> Result<()> {
        let name = &self.name;
        let is_routed = async || (sluice.get(name, "/").await.ok()?.status == 200).then_some(());
        wait::until_within(time_limit, &format!("{name} to be served"), is_routed).await?;
        presents(sluice, name, &self.pair).await
    }
}

/// Envoy comes to have everything that the controller takes for acknowledged: every resource in its latest version, none
/// refused, none waiting. Unused resources are removed later, so both are asked each time.
async fn envoy_matches_acknowledged_state(sluice: &Sluice, time_limit: Duration) -> Result<()> {
    let mut last = String::new();
    let holds = async || match differences_from_envoy(sluice).await {
        Ok(differences) => {
            last = differences;
            last.is_empty().then_some(())
        }
        Err(error) => {
            last = format!("{error:#}");
            None
        }
    };
    let held =
        wait::until_within(time_limit, "Envoy to hold what it has acknowledged", holds).await;
    held.map(drop).with_context(|| last)
}

/// The controller's account; an error while something is not answered.
async fn acknowledged_state(sluice: &Sluice) -> Result<Value> {
    let status: Value = serde_json::from_str(&unix::get(&sluice.admin_socket(), "/xds").await?)?;
    let streams = status["answered"].as_array().context("answered")?;
    let published = &status["generation"];
    ensure!(
        streams.len() == 1 && streams[0] == *published,
        "published {published}, answered {streams:?}"
    );
    Ok(status)
}

/// In which Envoy's own account differs from the controller's.
async fn differences_from_envoy(sluice: &Sluice) -> Result<String> {
    let status = acknowledged_state(sluice).await?;
    let socket = sluice.run_dir().join("envoy-admin.sock");
    let dump: Value = serde_json::from_str(&unix::get(&socket, "/config_dump").await?)?;
    let mut differences = String::new();
    if status["refused"] != json!([]) {
        writeln!(differences, "refused: {}", status["refused"])?;
    }
    for (kind, list, name) in [
        ("cluster", "dynamic_active_clusters", "/cluster/name"),
        ("route", "dynamic_route_configs", "/route_config/name"),
        ("secret", "dynamic_active_secrets", "/name"),
        ("listener", "dynamic_listeners", "/name"),
    ] {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        // A listener that only gets other filter chains keeps the version that it had first; what it presents says more.
        let version = |value: Option<&Value>| {
            if kind == "listener" {
                String::new()
            } else {
                text(value)
            }
        };
        let mut held: BTreeMap<String, String> = entries(&dump, list)
            .map(|entry| {
                (
                    text(entry.pointer(name)),
                    version(entry.get("version_info")),
                )
            })
            .collect();
        let acked = status["versions"][kind].as_object().into_iter().flatten();
        let acked: BTreeMap<String, String> = acked
            .map(|(name, acked)| (name.clone(), version(Some(acked))))
            .collect();
        // Filter chains that drain keep their certificates.
        held.retain(|name, _| kind != "secret" || acked.contains_key(name));
        if held != acked {
            writeln!(
                differences,
                "{kind}: Envoy has {held:?}, the controller takes for answered {acked:?}"
            )?;
        }
    }
    for list in ["dynamic_warming_clusters", "dynamic_warming_secrets"] {
        entries(&dump, list)
            .try_for_each(|entry| writeln!(differences, "{list}: {}", entry["name"]))?;
    }
    for listener in
        entries(&dump, "dynamic_listeners").filter(|listener| !listener["warming_state"].is_null())
    {
        writeln!(differences, "{} is warming", listener["name"])?;
    }
    Ok(differences)
}

/// The entries of one list of a config dump, whichever part it is in.
fn entries<'a>(dump: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    let parts = dump["configs"].as_array().into_iter().flatten();
    parts
        .filter_map(move |part| part[list].as_array())
        .flatten()
}
