//! A controller, and a data plane that refuses what translation lets through.

use std::net::TcpListener;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::envoy::Envoy;
use sluice_tests::faults::Faults;
use sluice_tests::http::Request;
use sluice_tests::load::{Load, Running};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice, bootstrap};
use sluice_tests::{http, process, wait};

use crate::setup::{Plane, Tenants};

/// More than this Envoy compiles, and less than translation lets through.
pub(super) const REFUSED: &str = "[a-f]{130}";
const LIMIT: u64 = 100;

/// A controller, and a data plane that refuses what has [`REFUSED`] in it.
pub(super) struct Fixture {
    pub(super) plane: Plane,
    pub(super) tenants: Tenants,
    pub(super) faults: Faults,
    pub(super) sluice: Sluice,
    /// Those before it: the run folder is the first one's.
    pub(super) former: Vec<Sluice>,
    /// Of the test's own, so that it stays when the controller goes.
    pub(super) envoy: Option<Envoy>,
    /// Held as long as this is there.
    _taken: Option<TcpListener>,
}

impl Fixture {
    pub(super) async fn start(plane: Plane, tenants: Tenants) -> Result<Fixture> {
        Fixture::beside(plane, tenants, |_| Ok(None)).await
    }

    /// With a port that another process may have when Envoy wants it.
    pub(super) async fn beside(
        plane: Plane,
        tenants: Tenants,
        take: fn(&Sluice) -> Result<Option<TcpListener>>,
    ) -> Result<Fixture> {
        let faults = Faults::new()?;
        faults.spoil(REFUSED)?;
        let sluice = options(plane, &tenants, &faults).start().await?;
        let mut fixture = Fixture {
            _taken: take(&sluice)?,
            plane,
            tenants,
            faults,
            sluice,
            former: Vec::new(),
            envoy: None,
        };
        fixture.start_envoy().await?;
        Ok(fixture)
    }

    pub(super) async fn start_envoy(&mut self) -> Result<()> {
        if self.plane != Plane::Nginx {
            let mut bootstrap: Value =
                serde_json::from_str(&bootstrap(self.sluice.xds(), "strict")?)?;
            let runtime = &mut bootstrap["layered_runtime"]["layers"][0]["static_layer"];
            runtime["re2.max_program_size.error_level"] = LIMIT.into();
            let mut envoy = Envoy::start(&bootstrap.to_string()).await?;
            envoy.ready().await?;
            self.envoy = Some(envoy);
        }
        Ok(())
    }

    /// Kills the controller, and starts another one that finds the data plane.
    pub(super) async fn restart_controller(&mut self) -> Result<()> {
        self.sluice.kill()?;
        let options = options(self.plane, &self.tenants, &self.faults);
        let next = options.after(&self.sluice).start().await?;
        self.former.push(std::mem::replace(&mut self.sluice, next));
        Ok(())
    }

    pub(super) async fn restart_data_plane(&mut self) -> Result<()> {
        if let Some(envoy) = self.envoy.take() {
            envoy.stop()?;
            return self.start_envoy().await;
        }
        let former = self.sluice.data_plane_pid().context("no data plane")?;
        process::kill(former);
        let replacement = async || self.sluice.data_plane_pid().filter(|pid| *pid != former);
        wait::until("another data plane", replacement)
            .await
            .map(drop)
    }

    pub(super) fn write(&self, ingress: &Ingress) -> Result<()> {
        self.tenants.manifests.ingress(ingress)
    }

    /// Background traffic to others' hosts.
    pub(super) async fn traffic(&self, host: &str) -> Result<Running> {
        let request = Request::get(host, "/").header("connection", "close");
        let load = Load::new(self.sluice.http(), request)
            .pause(Duration::from_millis(2))
            .start();
        load.until("answers", |tally| tally.total() > 20).await?;
        Ok(load)
    }

    pub(super) async fn ensure_no_failures(&self, load: Running) -> Result<()> {
        let before = load.tally().total();
        load.until("more answers", |tally| tally.total() > before + 20)
            .await?;
        let tally = load.stop().await?;
        ensure!(
            tally.failed() == 0,
            "{tally}; the log ends\n{}",
            self.sluice.log().tail()
        );
        Ok(())
    }

    pub(super) async fn wait_until_served(&self, host: &str, path: &str, pod: &str) -> Result<()> {
        let served = async || {
            self.sluice
                .get(host, path)
                .await
                .ok()
                .filter(|page| page.pod() == Some(pod))
        };
        let waited = wait::until(&format!("{pod} to serve {host}{path}"), served).await;
        waited
            .map(drop)
            .with_context(|| format!("the log ends\n{}", self.sluice.log().tail()))
    }

    pub(super) async fn wait_until_closed(&self, host: &str, path: &str) -> Result<()> {
        self.sluice.wait_for_status(host, path, 503).await.map(drop)
    }

    /// Checks that metrics name the culprit, and nobody when there is none.
    pub(super) async fn wait_for_held_metric(&self, expected: bool) -> Result<()> {
        let is_held = |line: &str| {
            let labels = [r#"ingress="bad""#, r#"namespace="foreign""#];
            line.contains("refused_ingress{") && labels.iter().all(|label| line.contains(label))
        };
        let says = async || {
            let metrics = http::get(self.sluice.health(), "health", "/metrics")
                .await
                .ok()?
                .text();
            (metrics.lines().any(is_held) == expected).then_some(())
        };
        wait::until("metrics about what is held", says)
            .await
            .map(drop)
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.sluice.stop()
    }
}

fn options(plane: Plane, tenants: &Tenants, faults: &Faults) -> Options {
    let options = faults.for_controller(plane.options(&tenants.manifests));
    if plane == Plane::Nginx {
        options
    } else {
        options.without_data_plane()
    }
}
