//! The source of the objects: a folder of manifests, or a namespace of a cluster.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::artifacts;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::{Manifests, endpoint_slice};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;

const EXAMPLE: &str = "examples/hello/manifests";
const SERVICE: &str = "hello";
/// The pods; the manifest of examples/hello names the first three.
const PODS: [&str; 4] = ["hello-a", "hello-b", "hello-c", "hello-d"];
const POD_PORT: u16 = 9001;

/// The objects of examples/hello.
pub(crate) enum Stage {
    /// A copy, for the user to edit.
    Folder {
        manifests: Manifests,
        spare: Network,
    },
    Cluster(Box<Cluster>),
}

impl Stage {
    pub(crate) fn folder() -> Result<Stage> {
        let manifests = Manifests::copy_of(&artifacts::repository().join(EXAMPLE))?;
        Ok(Stage::Folder {
            manifests,
            spare: Network::reserve()?,
        })
    }

    pub(crate) async fn cluster() -> Result<Stage> {
        let cluster = Cluster::real("sluice-demo").await?;
        let cluster =
            cluster.context("--source kube: KUBECONFIG must name the cluster to play in")?;
        Ok(Stage::Cluster(Box::new(cluster)))
    }

    /// Starts the pods: where the example has them, or elsewhere when another demo is there.
    pub(crate) async fn pods(&self) -> Result<Vec<Echo>> {
        match self {
            Stage::Cluster(cluster) => cluster.pods(SERVICE, u16::try_from(PODS.len())?).await,
            Stage::Folder { spare, .. } => match start(example_address).await {
                Ok(pods) => Ok(pods),
                Err(_) => start(|n| spare.pod(n)).await,
            },
        }
    }

    /// Puts the example there. In the folder it is already, but for the addresses of pods.
    pub(crate) async fn set(&self, pods: &[SocketAddr]) -> Result<()> {
        let Stage::Cluster(cluster) = self else {
            return self.endpoints(pods).await;
        };
        for mut object in example()? {
            object["metadata"]["namespace"] = cluster.namespace().into();
            match object["kind"].as_str() {
                // A class of the demo's own: the cluster's is somebody's.
                Some("IngressClass") => continue,
                Some("EndpointSlice") => continue,
                Some("Ingress") => object["spec"]["ingressClassName"] = cluster.namespace().into(),
                _ => {}
            }
            cluster.apply(&object).await?;
        }
        self.endpoints(pods).await
    }

    /// Says which pods there are, as a rolling update does.
    pub(crate) async fn endpoints(&self, pods: &[SocketAddr]) -> Result<()> {
        match self {
            Stage::Folder { manifests, .. } => {
                let slice = endpoint_slice("default", SERVICE, pods);
                manifests.write("endpointslice.yaml", &serde_json::to_string_pretty(&slice)?)
            }
            Stage::Cluster(cluster) => cluster.endpoints(SERVICE, pods).await,
        }
    }

    /// How to start a controller on it. The filter is wasm: `cargo xtask demo` builds no module of Envoy.
    pub(crate) fn options(&self) -> Result<Options> {
        let options = match self {
            Stage::Folder { manifests, .. } => Options::new(manifests),
            Stage::Cluster(cluster) => Options::in_cluster(cluster),
        };
        Ok(options.filter(&artifacts::filter()?))
    }

    /// Tells the user what to change.
    pub(crate) fn invitation(&self) -> String {
        match self {
            Stage::Folder { manifests, .. } => {
                format!("edit  {}/endpointslice.yaml", manifests.dir().display())
            }
            Stage::Cluster(cluster) => format!(
                "edit  kubectl -n {} edit ingress hello",
                cluster.namespace()
            ),
        }
    }

    /// Name of the endpoints.
    pub(crate) fn endpoints_name(&self) -> String {
        match self {
            Stage::Folder { .. } => "endpointslice.yaml".to_owned(),
            Stage::Cluster(cluster) => {
                format!("EndpointSlices of {}/{SERVICE}", cluster.namespace())
            }
        }
    }

    /// Leaves nothing behind in the cluster.
    pub(crate) async fn clear(&self) -> Result<()> {
        match self {
            Stage::Folder { .. } => Ok(()),
            Stage::Cluster(cluster) => cluster.remove().await,
        }
    }
}

/// The address that the example has for a pod.
fn example_address(n: u16) -> SocketAddr {
    let [high, low] = (n + 1).to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(127, 10, high, low), POD_PORT))
}

async fn start(address: impl Fn(u16) -> SocketAddr) -> Result<Vec<Echo>> {
    let mut pods = Vec::new();
    for (n, name) in (0..).zip(PODS) {
        pods.push(Echo::start(address(n), EchoIdentity::of(SERVICE, name)).await?);
    }
    Ok(pods)
}

/// The objects of the example.
fn example() -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(artifacts::repository().join(EXAMPLE))? {
        let path = entry?.path();
        for document in fs::read_to_string(&path)?.split("\n---\n") {
            let object = serde_saphyr::from_str(document);
            objects.push(object.map_err(|error| anyhow!("{}: {error}", path.display()))?);
        }
    }
    Ok(objects)
}
