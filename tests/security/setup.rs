//! Set-up of every rule: each data plane, and pods of two namespaces that do not trust each other.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;

/// A data plane in one of its modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plane {
    /// Envoy, all hosts in one route table.
    EnvoyTable,
    /// Envoy, each host in a route scope of its own.
    EnvoyScopes,
    /// nginx with our module.
    Nginx,
}

impl Plane {
    /// A controller with a data plane of this kind as its child.
    pub(crate) fn options(self, manifests: &Manifests) -> Options {
        self.on(Options::new(manifests))
    }

    /// The same for a controller that is described already.
    pub(crate) fn on(self, options: Options) -> Options {
        match self {
            Plane::EnvoyTable => options,
            Plane::EnvoyScopes => {
                options.arguments(vec!["--scopes-from".to_owned(), "0".to_owned()])
            }
            Plane::Nginx => options.data_plane("nginx"),
        }
    }
}

/// Makes a test of each plane from an `async fn(Plane) -> Result<()>`: the module has its name.
macro_rules! on_every_plane {
    ($($(#[$attribute:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$attribute])*
        mod $name {
            use crate::setup::Plane;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn envoy_table() -> anyhow::Result<()> {
                super::$name(Plane::EnvoyTable).await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn envoy_scopes() -> anyhow::Result<()> {
                super::$name(Plane::EnvoyScopes).await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn nginx() -> anyhow::Result<()> {
                super::$name(Plane::Nginx).await
            }
        }
    )+};
}
pub(crate) use on_every_plane;

/// The ConfigMap of an operator who permits snippets.
pub(crate) fn snippets_permitted() -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    })
}

/// The flags that name it.
pub(crate) fn snippet_flags() -> Vec<String> {
    ["--configmap", "sluice/sluice"].map(str::to_owned).into()
}

/// The namespace that was there first.
pub(crate) const OWNER: &str = "owner";
/// The other one.
pub(crate) const FOREIGN: &str = "foreign";

/// A Service `web` with one pod in each of two namespaces. The pods are called after their namespaces.
pub(crate) struct Tenants {
    pub(crate) manifests: Manifests,
    pub(crate) owner: Echo,
    pub(crate) foreign: Echo,
    /// Everything that the pods received.
    pub(crate) received: Journal,
    network: Network,
}

impl Tenants {
    pub(crate) async fn start() -> Result<Tenants> {
        let network = Network::reserve()?;
        let manifests = Manifests::new()?;
        let received = Journal::default();
        let owner = pod(&manifests, OWNER, network.pod(0), &received).await?;
        let foreign = pod(&manifests, FOREIGN, network.pod(1), &received).await?;
        Ok(Tenants {
            manifests,
            owner,
            foreign,
            received,
            network,
        })
    }

    /// The Service `auth` of the owner, which lets everybody in and notes who asks.
    pub(crate) async fn auth_service(&self) -> Result<(Echo, Journal)> {
        let asked = Journal::default();
        let setup = Setup {
            journal: Some(asked.clone()),
            ..Setup::default()
        };
        let identity = EchoIdentity {
            namespace: OWNER.to_owned(),
            ..EchoIdentity::of("auth", "auth-0")
        };
        let service = Echo::start_with(self.network.pod(2), identity, setup).await?;
        self.manifests
            .service(OWNER, "auth", 80, &[service.addr()])?;
        Ok((service, asked))
    }

    /// Writes objects into the folder at once, as one file.
    pub(crate) fn write(&self, file: &str, objects: &[serde_json::Value]) -> Result<()> {
        let documents: Vec<String> = objects
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()
            .context("objects")?;
        self.manifests.write(file, &documents.join("\n---\n"))
    }
}

async fn pod(
    manifests: &Manifests,
    namespace: &str,
    addr: SocketAddr,
    received: &Journal,
) -> Result<Echo> {
    manifests.service(namespace, "web", 80, &[addr])?;
    let (pod, service) = (namespace.to_owned(), "web".to_owned());
    let identity = EchoIdentity {
        pod,
        service,
        namespace: namespace.to_owned(),
    };
    let setup = Setup {
        journal: Some(received.clone()),
        ..Setup::default()
    };
    Echo::start_with(addr, identity, setup).await
}
