//! One IR value to one wire value.

use sluice_filter_config as wire;
use sluice_ir as ir;

pub(crate) fn backend(id: &ir::BackendId, backend: &ir::Backend) -> wire::Backend {
    let endpoint = |endpoint: &ir::Endpoint| wire::Endpoint::at(endpoint.address.to_string());
    wire::Backend {
        // ingress-nginx joins the same parts with hyphens.
        name: id.as_str().replace('/', "-"),
        load_balance: match backend.load_balance {
            // The others are reported as not supported until the filter knows them.
            ir::LoadBalance::RoundRobin | ir::LoadBalance::Ewma | ir::LoadBalance::Hash { .. } => {
                wire::LoadBalance::RoundRobin
            }
        },
        affinity: None,
        slow_start: None,
        outlier: None,
        prefer_zone: false,
        attempts: backend.attempts,
        endpoints: backend.endpoints.iter().map(endpoint).collect(),
    }
}

/// The backends that the filter chooses for: a host outside of the cluster is chosen by DNS.
pub(crate) fn backends(config: &ir::Config) -> impl Iterator<Item = (String, wire::Backend)> + '_ {
    let inside = config.backends.iter().filter(|(_, backend)| backend.outside.is_none());
    inside.map(|(id, inside)| (id.to_string(), backend(id, inside)))
}

/// The locations that the filter has a say in: those that forward to one of [`backends`].
pub(crate) fn locations(config: &ir::Config) -> impl Iterator<Item = (String, wire::Location)> + '_ {
    config.servers.values().flat_map(|server| &server.locations).filter_map(|location| {
        let ir::Action::Forward(id) = &location.action else { return None };
        let outside = config.backends.get(id).is_some_and(|backend| backend.outside.is_some());
        let forwards = || (location.id.as_str().to_owned(), wire::Location::to(id.to_string()));
        (!outside).then(forwards)
    })
}
