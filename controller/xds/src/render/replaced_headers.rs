//! Response headers that a route takes from pods' responses, or sets although nobody else may.
//!
//! Routes alone cannot do that. Behind their back Envoy copies the headers of a pod that refuses an upgrade
//! ([`super::hidden_headers`]), and what is hidden on all routes is removed behind what one of them sets. So a route says such
//! changes to a filter, too, which is switched on for these routes alone.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation as Mutation;
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation, HeaderMutationPerRoute, Mutations,
};
use envoy_types::pb::google::protobuf::Any;
use sluice_ir::{GlobalConfig, HeaderChange};

use super::header::{append, remove, value_of};
use super::hidden_headers;
use super::proto::any;

/// Name of the filter.
pub(super) const FILTER: &str = "sluice.headers";

/// The filter of a listener. It stands before that of hidden headers, so that it comes behind it with responses.
pub(super) fn of_all() -> HeaderMutation {
    HeaderMutation::default()
}

/// The filter on a route with these changes; `None`: the route itself makes all of them.
pub(super) fn on_route<'a>(
    changes: impl Iterator<Item = &'a HeaderChange>,
    global: &GlobalConfig,
) -> Option<Any> {
    let is_hidden = |change: &HeaderChange| {
        let mut hidden = hidden_headers::names(global);
        hidden.any(|name| name.eq_ignore_ascii_case(change.name.as_str()))
    };
    let needs_filter = |change: &&HeaderChange| {
        change.hides || (change.replaces && change.values.is_empty()) || is_hidden(change)
    };
    let response_mutations: Vec<Mutation> =
        changes.filter(needs_filter).flat_map(mutations).collect();
    if response_mutations.is_empty() {
        return None;
    }
    any(HeaderMutationPerRoute {
        mutations: Some(Mutations {
            response_mutations,
            ..Mutations::default()
        }),
    })
}

/// Envoy makes them in their order.
fn mutations(change: &HeaderChange) -> Vec<Mutation> {
    let name = change.name.as_str();
    let values = change.values.iter();
    let values = values.map(|value| append(value_of(name, value)));
    std::iter::once(remove(name)).chain(values).collect()
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use sluice_ir::{Expression, HeaderName, HeaderValue};

    use super::*;

    fn change(name: &str, (replaces, hides): (bool, bool), values: &[&str]) -> HeaderChange {
        let value = |text: &&str| HeaderValue {
            value: Expression::literal(text),
            unless_error: false,
        };
        HeaderChange {
            name: HeaderName::parse(name).unwrap(),
            replaces,
            hides,
            values: values.iter().map(value).collect(),
        }
    }

    fn count(changes: &[HeaderChange]) -> usize {
        let config = on_route(changes.iter(), &GlobalConfig::default());
        let Some(config) = config else { return 0 };
        let config = HeaderMutationPerRoute::decode(config.value.as_slice()).unwrap();
        config.mutations.unwrap().response_mutations.len()
    }

    #[test]
    fn a_filter_makes_what_routes_cannot_make() {
        let (set, added) = ((true, false), (false, false));
        let (removed, hidden) = ((true, false), (false, true));
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[change("x-a", set, &["1"])]), 0);
        assert_eq!(count(&[change("x-a", added, &["1", "2"])]), 0);
        assert_eq!(count(&[change("x-a", removed, &[])]), 1);
        assert_eq!(count(&[change("x-a", hidden, &["1"])]), 2);
        // Hidden on all routes, unless the operator says otherwise.
        assert_eq!(count(&[change("Server", set, &["x"])]), 2);
        assert_eq!(count(&[change("Server", added, &["x"])]), 2);
        let both = [
            change("x-a", removed, &[]),
            change("server", set, &["x"]),
            change("x-b", set, &["y"]),
        ];
        assert_eq!(count(&both), 3);
    }
}
