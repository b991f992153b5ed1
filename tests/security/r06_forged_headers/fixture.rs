//! Pods, an authentication service, and who heard what.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::{Value, json};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Options;

use crate::setup::Plane;

/// Pods, an error service and a receiver of copies, which all write down what they hear; and an authentication service.
pub(super) struct Fixture {
    pub(super) manifests: Manifests,
    pub(super) received: Journal,
    /// Requests to the authentication service.
    pub(super) asked: Journal,
    pub(super) auth: Echo,
    pub(super) _pods: Vec<Echo>,
    pub(super) _network: Network,
}

impl Fixture {
    pub(super) async fn start() -> Result<Fixture> {
        let (network, manifests, received) =
            (Network::reserve()?, Manifests::new()?, Journal::default());
        let listens = || Setup {
            journal: Some(received.clone()),
            ..Setup::default()
        };
        let mut pods = Vec::new();
        for (place, name) in ["web", "canary", "errors", "copies"]
            .into_iter()
            .enumerate()
        {
            let addr = network.pod(u16::try_from(place)?);
            let port = if name == "copies" { addr.port() } else { 80 };
            manifests.object(&service(name, port, addr))?;
            manifests.endpoints("default", name, &[addr])?;
            pods.push(Echo::start_with(addr, EchoIdentity::of(name, name), listens()).await?);
        }
        pods[0].script(Script::echo().answer(
            "/fails",
            Answer {
                status: 500,
                ..Answer::default()
            },
        ));
        let addr = network.pod(9);
        manifests.service("default", "auth", 80, &[addr])?;
        let asked = Journal::default();
        let setup = Setup {
            journal: Some(asked.clone()),
            ..Setup::default()
        };
        let auth = Echo::start_with(addr, EchoIdentity::of("auth", "auth"), setup).await?;
        manifests.object(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"},
            "stringData": {"auth": "ada:{PLAIN}secret\n"},
        }))?;
        Ok(Fixture {
            manifests,
            received,
            asked,
            auth,
            _pods: pods,
            _network: network,
        })
    }

    /// An Ingress of a host of the same name, with a path.
    pub(super) fn ingress(
        &self,
        name: &str,
        path: &str,
        annotations: &[(&str, &str)],
    ) -> Result<()> {
        let ingress = Ingress::new("default", name)
            .host(&host(name))
            .path(path, "web", 80);
        let all = annotations.iter();
        let ingress = all.fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        self.manifests.ingress(&ingress)
    }

    /// Values of a header that pods received since a position of the journal, in every spelling that is the same for CGI.
    pub(super) fn received(&self, since: usize, header: &str) -> Vec<String> {
        let all = self.received.since(since).into_iter().flat_map(|request| {
            let headers = request
                .headers
                .into_iter()
                .filter(|(name, _)| name.replace('_', "-") == header);
            headers
                .map(|(_, values)| format!("{}: {}", request.service, values.join(", ")))
                .collect::<Vec<_>>()
        });
        all.collect()
    }
}

pub(super) fn host(name: &str) -> String {
    format!("{name}.test")
}

/// One with an address of its own, which nginx sends copies to.
pub(super) fn service(name: &str, port: u16, pod: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name},
        "spec": {"clusterIP": pod.ip(), "ports": [{"name": "http", "port": port, "targetPort": pod.port()}]},
    })
}

pub(super) fn with_configmap(plane: Plane, fixture: &Fixture, data: &Value) -> Result<Options> {
    let metadata = json!({"namespace": "sluice", "name": "sluice"});
    fixture.manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )?;
    Ok(plane
        .options(&fixture.manifests)
        .arguments(vec!["--configmap".to_owned(), "sluice/sluice".to_owned()]))
}
