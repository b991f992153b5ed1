//! All rows there are, and what measures each.
//!
//! A new row of a kind that exists is a line in [`all`]; a new kind is a file with `rows` and `run`, and a variant
//! here.

use std::fmt;

use anyhow::{Result, ensure};

use crate::Effort;
use crate::admission::Admission;
use crate::at_once::AtOnce;
use crate::comeback::Comeback;
use crate::compile::Compile;
use crate::cpu::{Baseline, Cpu, DataPlane, Policy};
use crate::endpoint_change::EndpointChange;
use crate::external_auth::ExternalAuth;
use crate::fleet::FleetBench;
use crate::nginx_change::NginxChange;
use crate::nginx_start::{NginxReloadStall, NginxWorkerStart};
use crate::peers::{Peers, PeersChange, PeersIdle, Protocol};
use crate::pick::{Algorithm, Pick};
use crate::route_churn::RouteChurn;
use crate::row::{Measured, Row};
use crate::scale::{Scale, SourceKind};
use crate::tls_hosts::TlsHosts;
use crate::translate::Translate;

const ROUND_ROBIN: Policy = Policy {
    name: "round_robin",
    annotations: &[],
    sessions: false,
    flags: &[],
    asked: "web.test",
};
/// The same in the filter: what it costs where nothing but a choice is asked of it.
const FILTERED: Policy = Policy {
    name: "round_robin_by_filter",
    flags: &["--native-balancing=off"],
    ..ROUND_ROBIN
};
const STICKY: Policy = Policy {
    name: "sticky",
    annotations: &[("affinity", "cookie")],
    sessions: true,
    ..ROUND_ROBIN
};
const EWMA: Policy = Policy {
    name: "ewma",
    annotations: &[("load-balance", "ewma")],
    ..ROUND_ROBIN
};
/// Round robin for hosts with scopes.
const SCOPED: Policy = Policy {
    name: "in_scopes",
    flags: &["--scopes-from", "0"],
    ..ROUND_ROBIN
};
/// The same for a host that Envoy does not find by itself.
const SECOND_LOOK: Policy = Policy {
    name: "in_scopes_by_second_look",
    asked: "WEB.test",
    ..SCOPED
};

fn nginx_change(endpoints: usize, target: Option<f64>) -> Bench {
    Bench::NginxChange(NginxChange { endpoints, target })
}

fn comeback(data_plane: &'static str) -> Bench {
    Bench::Comeback(Comeback {
        data_plane,
        hosts: 100,
    })
}

fn at_once(data_plane: &'static str) -> Bench {
    Bench::AtOnce(AtOnce {
        data_plane,
        ingresses: 1000,
    })
}

fn route_churn(data_plane: &'static str) -> Bench {
    Bench::RouteChurn(RouteChurn {
        data_plane,
        routes: 5000,
    })
}

fn fleet(clients: usize, hosts: usize) -> Bench {
    Bench::Fleet(FleetBench { clients, hosts })
}

/// CPU time of requests.
fn of_requests() -> Vec<Bench> {
    vec![
        cpu(DataPlane::Envoy, ROUND_ROBIN, Some(1.03)),
        cpu(DataPlane::Envoy, FILTERED, Some(1.1)),
        cpu(DataPlane::Envoy, STICKY, Some(1.1)),
        cpu(DataPlane::Envoy, EWMA, Some(1.12)),
        cpu(DataPlane::Envoy, SCOPED, Some(1.1)),
        cpu(DataPlane::Envoy, SECOND_LOOK, None),
        over_plain(DataPlane::Envoy, 1.2),
        cpu(DataPlane::EnvoyWasm, FILTERED, Some(1.25)),
        cpu(DataPlane::EnvoyWasm, STICKY, Some(1.3)),
        cpu(DataPlane::EnvoyWasm, EWMA, Some(1.32)),
        cpu(DataPlane::EnvoyWasm, SECOND_LOOK, None),
        cpu(DataPlane::Nginx, ROUND_ROBIN, Some(1.05)),
        cpu(DataPlane::Nginx, STICKY, Some(1.05)),
        cpu(DataPlane::Nginx, EWMA, Some(1.05)),
        over_plain(DataPlane::Nginx, 1.2),
        cpu(DataPlane::NginxWasm, ROUND_ROBIN, Some(1.15)),
        cpu(DataPlane::NginxWasm, STICKY, Some(1.22)),
        cpu(DataPlane::NginxWasm, EWMA, Some(1.25)),
    ]
}

/// Everything, in the order of the table.
fn all() -> Vec<Bench> {
    let picks = [10, 1000, 10_000].into_iter().flat_map(|endpoints| {
        Algorithm::ALL.map(|algorithm| {
            Bench::Pick(Pick {
                algorithm,
                endpoints,
            })
        })
    });
    let mut all = of_requests();
    all.extend([
        nginx_change(1000, None),
        nginx_change(10_000, Some(20.0)),
        nginx_change(50_000, None),
        Bench::NginxWorkerStart(NginxWorkerStart),
        Bench::NginxReloadStall(NginxReloadStall),
        Bench::EndpointChange(EndpointChange::Idle),
        Bench::EndpointChange(EndpointChange::Churn(100)),
        Bench::Compile(Compile { endpoints: 1000 }),
        Bench::Compile(Compile { endpoints: 10_000 }),
        Bench::Compile(Compile { endpoints: 100_000 }),
        Bench::Translate(Translate { ingresses: 1000 }),
        Bench::Translate(Translate { ingresses: 5000 }),
        Bench::Translate(Translate { ingresses: 10_000 }),
        Bench::Admission(Admission { ingresses: 10_000 }),
        scale(SourceKind::Folder, false),
        scale(SourceKind::Cluster, false),
        scale(SourceKind::Folder, true),
        at_once("envoy"),
        at_once("nginx"),
        route_churn("envoy"),
        route_churn("nginx"),
        Bench::TlsHosts(TlsHosts { hosts: 5_000 }),
        Bench::TlsHosts(TlsHosts { hosts: 40_000 }),
        Bench::ExternalAuth(ExternalAuth { ingresses: 10_000 }),
        fleet(20, 500),
        fleet(200, 10_000),
        comeback("envoy"),
        comeback("nginx"),
    ]);
    all.extend(picks);
    all.extend(Protocol::ALL.map(|protocol| Bench::Peers(Peers(protocol))));
    all.extend(
        [Protocol::Http1, Protocol::Https].map(|protocol| Bench::PeersIdle(PeersIdle(protocol))),
    );
    all.push(Bench::PeersChange(PeersChange));
    all
}

fn scale(source: SourceKind, nginx: bool) -> Bench {
    Bench::Scale(Scale {
        source,
        ingresses: 10_000,
        nginx,
    })
}

fn cpu(data_plane: DataPlane, policy: Policy, target: Option<f64>) -> Bench {
    Bench::Cpu(Cpu {
        data_plane,
        policy,
        baseline: Baseline::Native,
        target,
    })
}

fn over_plain(data_plane: DataPlane, target: f64) -> Bench {
    Bench::Cpu(Cpu {
        data_plane,
        policy: ROUND_ROBIN,
        baseline: Baseline::Plain,
        target: Some(target),
    })
}

/// A measurement; it may give several rows.
pub(crate) enum Bench {
    Cpu(Cpu),
    NginxChange(NginxChange),
    NginxWorkerStart(NginxWorkerStart),
    NginxReloadStall(NginxReloadStall),
    EndpointChange(EndpointChange),
    Pick(Pick),
    Compile(Compile),
    Translate(Translate),
    Scale(Scale),
    AtOnce(AtOnce),
    RouteChurn(RouteChurn),
    TlsHosts(TlsHosts),
    ExternalAuth(ExternalAuth),
    Fleet(FleetBench),
    Comeback(Comeback),
    Admission(Admission),
    Peers(Peers),
    PeersIdle(PeersIdle),
    PeersChange(PeersChange),
}

impl Bench {
    /// The rows of the measurement.
    fn rows(&self) -> Vec<Row> {
        match self {
            Bench::Cpu(bench) => bench.rows(),
            Bench::NginxChange(bench) => bench.rows(),
            Bench::NginxWorkerStart(bench) => bench.rows(),
            Bench::NginxReloadStall(bench) => bench.rows(),
            Bench::EndpointChange(bench) => bench.rows().into(),
            Bench::Pick(bench) => bench.rows(),
            Bench::Compile(bench) => bench.rows(),
            Bench::Translate(bench) => bench.rows(),
            Bench::Scale(bench) => bench.rows(),
            Bench::AtOnce(bench) => bench.rows(),
            Bench::RouteChurn(bench) => bench.rows(),
            Bench::TlsHosts(bench) => bench.rows(),
            Bench::ExternalAuth(bench) => bench.rows().into(),
            Bench::Fleet(bench) => bench.rows(),
            Bench::Comeback(bench) => bench.rows().into(),
            Bench::Admission(bench) => bench.rows(),
            Bench::Peers(bench) => bench.rows(),
            Bench::PeersIdle(bench) => bench.rows(),
            Bench::PeersChange(bench) => bench.rows(),
        }
    }

    /// Measures its rows.
    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        match self {
            Bench::Cpu(bench) => bench.run(effort).await,
            Bench::NginxChange(bench) => bench.run(effort).await,
            Bench::NginxWorkerStart(bench) => bench.run().await,
            Bench::NginxReloadStall(bench) => bench.run(effort).await,
            Bench::EndpointChange(bench) => bench.run(effort).await,
            Bench::Pick(bench) => bench.run(effort),
            Bench::Compile(bench) => bench.run(effort),
            Bench::Translate(bench) => bench.run(effort),
            Bench::Scale(bench) => bench.run(effort).await,
            Bench::AtOnce(bench) => bench.run().await,
            Bench::RouteChurn(bench) => bench.run(effort).await,
            Bench::TlsHosts(bench) => bench.run(effort).await,
            Bench::ExternalAuth(bench) => bench.run(effort).await,
            Bench::Fleet(bench) => bench.run(effort).await,
            Bench::Comeback(bench) => bench.run(effort).await,
            Bench::Admission(bench) => bench.run(effort),
            Bench::Peers(bench) => bench.run(effort).await,
            Bench::PeersIdle(bench) => bench.run().await,
            Bench::PeersChange(bench) => bench.run(effort).await,
        }
    }
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &self
                .rows()
                .iter()
                .map(|row| row.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        )
    }
}

/// The names of all rows, in the order of the table.
pub(crate) fn names() -> Vec<String> {
    all()
        .iter()
        .flat_map(Bench::rows)
        .map(|row| row.name)
        .collect()
}

/// The measurements of rows with one of these names, or else of rows that begin with one. No names are all.
pub(crate) fn chosen(wanted: &[String]) -> Result<Vec<Bench>> {
    let names = names();
    let mut chosen: Vec<&String> = Vec::new();
    for wanted in wanted {
        let exact = names.iter().filter(|name| *name == wanted);
        let before = chosen.len();
        chosen.extend(exact);
        if chosen.len() == before {
            chosen.extend(
                names
                    .iter()
                    .filter(|name| name.starts_with(wanted.as_str())),
            );
        }
        ensure!(
            chosen.len() > before,
            "there is no row {wanted:?}; there are\n  {}",
            names.join("\n  ")
        );
    }
    let is_chosen = |bench: &Bench| bench.rows().iter().any(|row| chosen.contains(&&row.name));
    Ok(all()
        .into_iter()
        .filter(|bench| wanted.is_empty() || is_chosen(bench))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_names(wanted: &[&str]) -> Result<Vec<String>> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        Ok(chosen(&wanted)?.iter().map(Bench::to_string).collect())
    }

    #[test]
    fn a_name_is_chosen_once() {
        let mut names = names();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn a_prefix_chooses_all_that_begin_with_it_and_nothing_chooses_all() {
        assert_eq!(chosen_names(&["endpoint_change"]).unwrap().len(), 2);
        assert_eq!(
            chosen_names(&["endpoint_change_p99_ms/idle"])
                .unwrap()
                .len(),
            1
        );
        assert_eq!(chosen_names(&[]).unwrap().len(), all().len());
    }

    #[test]
    fn a_name_that_there_is_not_is_an_error_with_those_that_there_are() {
        let error = chosen_names(&["endpoint_change", "nonsense"])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"nonsense\"") && error.contains("envoy_cpu_ratio/round_robin"),
            "{error}"
        );
    }
}
