//! CPU per request of an Envoy with Sluice, relative to the same Envoy without ([`native`]) or to one with the smallest configuration
//! ([`plain`]).

use anyhow::Result;
use sluice_tests::envoy::Envoy;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options};

use crate::cpu::{Baseline, Cpu, DataPlane, Side, Site};
use crate::row::Measured;
use crate::{Effort, native, plain};

pub(crate) async fn run(cpu: &Cpu, effort: Effort) -> Result<Vec<Measured>> {
    let site = Site::start().await?;
    let manifests = site.manifests(cpu.policy.annotations)?;

    let native_port = Port::reserve()?;
    let bootstrap = match cpu.baseline {
        Baseline::Native => native::bootstrap(&site.manifests(&[])?, native_port.addr()).await?,
        Baseline::Plain => plain::bootstrap(native_port.addr(), &site.pods),
    };
    let native_envoy = envoy(&bootstrap).await?;

    let port = Port::reserve()?;
    let flags = cpu
        .policy
        .flags
        .iter()
        .map(|flag| (*flag).to_owned())
        .collect();
    let options = Options::new(&manifests)
        .without_data_plane()
        .http(port.addr());
    let controller = options.arguments(flags).start().await?;
    let form: &[&str] = match cpu.data_plane {
        DataPlane::Envoy => &["--envoy-filter=module"],
        _ => &["--envoy-filter=wasm"],
    };
    let bootstrap = sluice::bootstrap_with(controller.xds(), "bench", form)?;
    let our_envoy = envoy(&bootstrap).await?;

    let ours = Side {
        addr: port.addr(),
        processes: vec![our_envoy.pid()],
    };
    let native = Side {
        addr: native_port.addr(),
        processes: vec![native_envoy.pid()],
    };
    cpu.compare(&ours, &native, effort).await
}

/// Both are started alike, with one worker.
async fn envoy(bootstrap: &str) -> Result<Envoy> {
    let mut envoy = Envoy::start(bootstrap).await?;
    envoy.ready().await?;
    Ok(envoy)
}
