//! One IR value to one wire value.

use sluice_filter_config as wire;
use sluice_ir as ir;

pub(crate) fn backend(id: &ir::BackendId, backend: &ir::Backend) -> wire::Backend {
    let endpoint = |endpoint: &ir::Endpoint| wire::Endpoint::at(endpoint.address.to_string());
    wire::Backend {
        // ingress-nginx joins the same parts with hyphens.
        name: id.as_str().replace('/', "-"),
        load_balance: match backend.load_balance {
            ir::LoadBalance::RoundRobin => wire::LoadBalance::RoundRobin,
        },
        affinity: None,
        slow_start: None,
        outlier: None,
        prefer_zone: false,
        attempts: backend.attempts,
        endpoints: backend.endpoints.iter().map(endpoint).collect(),
    }
}

/// The locations that the filter has a say in: those that forward.
pub(crate) fn locations(config: &ir::Config) -> impl Iterator<Item = (String, wire::Location)> + '_ {
    config.servers.values().flat_map(|server| &server.locations).filter_map(|location| {
        let ir::Action::Forward(backend) = &location.action else { return None };
        Some((location.id.as_str().to_owned(), wire::Location::to(backend.to_string())))
    })
}
