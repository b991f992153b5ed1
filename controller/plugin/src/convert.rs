//! One IR value to one wire value.

use sluice_filter_config as wire;
use sluice_ir as ir;

pub(crate) fn backend(backend: &ir::Backend) -> wire::Backend {
    let endpoint = |endpoint: &ir::Endpoint| wire::Endpoint { address: endpoint.address.to_string() };
    wire::Backend {
        load_balance: match backend.load_balance {
            ir::LoadBalance::RoundRobin => wire::LoadBalance::RoundRobin,
        },
        attempts: backend.attempts,
        endpoints: backend.endpoints.iter().map(endpoint).collect(),
    }
}

/// The locations that the filter has a say in: those that forward.
pub(crate) fn locations(config: &ir::Config) -> impl Iterator<Item = (String, wire::Location)> + '_ {
    config.servers.values().flat_map(|server| &server.locations).filter_map(|location| {
        let ir::Action::Forward(backend) = &location.action else { return None };
        Some((location.id.as_str().to_owned(), wire::Location { backend: backend.to_string() }))
    })
}
