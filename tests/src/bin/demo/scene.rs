//! The processes of the demo: pods, and the controller with its data plane.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::ports;
use sluice_tests::sluice::Sluice;

use crate::stage::Stage;

/// The host of examples/hello.
pub(crate) const HOST: &str = "hello.localhost";
/// The pod that goes, and the one that comes.
pub(crate) const LEAVES: usize = 1;
pub(crate) const JOINS: usize = 3;

/// The data plane of the demo.
#[derive(Clone, Copy)]
pub(crate) enum DataPlane {
    Envoy,
    Nginx,
}

impl DataPlane {
    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DataPlane::Envoy => "Envoy",
            DataPlane::Nginx => "nginx",
        }
    }
}

/// Everything that runs.
pub(crate) struct Scene<'a> {
    pub(crate) sluice: Sluice,
    pub(crate) pods: Vec<Echo>,
    pub(crate) stage: &'a Stage,
    pub(crate) data_plane: DataPlane,
}

impl<'a> Scene<'a> {
    /// Starts it all.
    pub(crate) async fn start(
        stage: &'a Stage,
        http_port: u16,
        data_plane: DataPlane,
    ) -> Result<Self> {
        let http = SocketAddr::from((Ipv4Addr::LOCALHOST, http_port));
        let advice = "choose another one: cargo xtask demo --http-port 8081";
        ensure!(ports::is_free(http), "port {http_port} is taken; {advice}");
        let pods = stage.pods().await?;
        stage
            .set(&pods.iter().take(JOINS).map(Echo::addr).collect::<Vec<_>>())
            .await?;
        let sluice = stage
            .options()?
            .http(http)
            .data_plane(&data_plane.name().to_lowercase())
            .start()
            .await?;
        Ok(Scene {
            sluice,
            pods,
            stage,
            data_plane,
        })
    }

    /// Replaces one pod by another, as a rolling update does.
    pub(crate) async fn change_endpoints(&self) -> Result<()> {
        let stay = self.pods.iter().enumerate().filter(|(n, _)| *n != LEAVES);
        self.stage
            .endpoints(&stay.map(|(_, pod)| pod.addr()).collect::<Vec<_>>())
            .await
    }
}
