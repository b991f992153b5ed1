//! Who is on stage: the pods, the manifests, the controller with its Envoy.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::{Manifests, endpoint_slice};
use sluice_tests::ports;
use sluice_tests::sluice::{Options, Sluice};

/// The host of examples/hello.
pub(crate) const HOST: &str = "hello.localhost";
const SERVICE: &str = "hello";
/// The pods; the manifest of examples/hello names the first three.
const PODS: [&str; 4] = ["hello-a", "hello-b", "hello-c", "hello-d"];
const POD_PORT: u16 = 9001;
/// The pod that goes, and the one that comes.
pub(crate) const LEAVES: usize = 1;
pub(crate) const JOINS: usize = 3;

/// Everything that runs.
pub(crate) struct Scene {
    pub(crate) sluice: Sluice,
    pub(crate) pods: Vec<Echo>,
    manifests: Manifests,
}

impl Scene {
    /// Starts it all; the manifests are a copy, for the user to edit.
    pub(crate) async fn start(http_port: u16) -> Result<Scene> {
        let http = SocketAddr::from((Ipv4Addr::LOCALHOST, http_port));
        let advice = "choose another one: cargo xtask demo --http-port 8081";
        ensure!(ports::is_free(http), "port {http_port} is taken; {advice}");
        let mut pods = Vec::new();
        for (n, name) in PODS.iter().enumerate() {
            let pod = Echo::start(address(n), EchoIdentity::of(SERVICE, name)).await;
            pods.push(pod.with_context(|| {
                format!("{} is taken; another demo may be running, end that one first", address(n))
            })?);
        }
        let manifests = Manifests::copy_of(&artifacts::repository().join("examples/hello/manifests"))?;
        let sluice = Options::new(&manifests).http(http).start().await?;
        Ok(Scene { sluice, pods, manifests })
    }

    /// Replaces one pod of the EndpointSlice by another, as a rolling update does.
    pub(crate) fn change_endpoints(&self) -> Result<()> {
        let stay = (0..PODS.len()).filter(|pod| *pod != LEAVES).map(address).collect::<Vec<_>>();
        let slice = endpoint_slice("default", SERVICE, &stay);
        self.manifests.write("endpointslice.yaml", &serde_json::to_string_pretty(&slice)?)
    }

    /// The folder that the controller watches.
    pub(crate) fn manifests(&self) -> String {
        self.manifests.dir().display().to_string()
    }
}

fn address(pod: usize) -> SocketAddr {
    let last = u8::try_from(pod + 1).unwrap_or(u8::MAX);
    SocketAddr::from((Ipv4Addr::new(127, 10, 0, last), POD_PORT))
}
