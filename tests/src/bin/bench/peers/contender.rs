//! A proxy of the comparison: how it is called, found and started.

use anyhow::Result;

use super::packages::Package;
use super::plan::Plan;
use super::proxy::Running;
use super::site::Site;
use super::{Protocol, caddy, envoy, haproxy, nginx, sluice};

/// A proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    SluiceOnNginx,
    /// As it is by default: Envoy balances where it does the same.
    SluiceOnEnvoy,
    /// The module chooses for each request.
    SluiceByModule,
    /// The filter as wasm chooses for each request, as in an Envoy that somebody else runs.
    SluiceByWasm,
    Nginx,
    Envoy,
    Haproxy,
    Caddy,
}

impl Contender {
    pub(crate) const ALL: [Contender; 8] = [
        Contender::SluiceOnNginx,
        Contender::SluiceOnEnvoy,
        Contender::SluiceByModule,
        Contender::SluiceByWasm,
        Contender::Nginx,
        Contender::Envoy,
        Contender::Haproxy,
        Contender::Caddy,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Contender::SluiceOnNginx => "sluice_on_nginx",
            Contender::SluiceOnEnvoy => "sluice_on_envoy",
            Contender::SluiceByModule => "sluice_on_envoy_by_module",
            Contender::SluiceByWasm => "sluice_on_envoy_by_wasm",
            Contender::Nginx => "nginx",
            Contender::Envoy => "envoy",
            Contender::Haproxy => "haproxy",
            Contender::Caddy => "caddy",
        }
    }

    /// As it stands in a table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Contender::SluiceOnNginx => "**Sluice on nginx**",
            Contender::SluiceOnEnvoy => "**Sluice on Envoy**",
            Contender::SluiceByModule => "**Sluice on Envoy**, by our module",
            Contender::SluiceByWasm => "**Sluice on Envoy**, by wasm",
            Contender::Nginx => "nginx, minimal",
            Contender::Envoy => "Envoy, minimal",
            Contender::Haproxy => "HAProxy, minimal",
            Contender::Caddy => "Caddy, minimal",
        }
    }

    pub(crate) async fn start(self, site: &Site, protocol: Protocol) -> Result<Running> {
        match self {
            Contender::Nginx => nginx::start(Plan::new(site, protocol)?, site).await,
            Contender::Envoy => envoy::start(Plan::new(site, protocol)?, site).await,
            Contender::Haproxy => haproxy::start(Plan::new(site, protocol)?, site).await,
            Contender::Caddy => caddy::start(Plan::new(site, protocol)?, site).await,
            ours => sluice::start(ours, site, protocol).await,
        }
    }

    /// The package that has it; `None`: every machine that runs benchmarks has it.
    fn package(self) -> Option<Package> {
        match self {
            Contender::Haproxy => Some(haproxy::PACKAGE),
            Contender::Caddy => Some(caddy::PACKAGE),
            _ => None,
        }
    }
}

/// Those that this machine has; of others there are no rows.
pub(crate) fn present() -> Result<Vec<Contender>> {
    let mut present = Vec::new();
    for contender in Contender::ALL {
        match contender.package() {
            Some(package) if package.program().is_none() => {
                let Package { variable, path } = package;
                let name = contender.name();
                crate::report(&format!(
                    "  without {name}: there is no {path}, and {variable} names none"
                ))?;
            }
            _ => present.push(contender),
        }
    }
    Ok(present)
}
