//! Response headers under conditions: the routes of an HTTP route once more for each, in front of its own.

use sluice_ir::{Condition, Filter, HttpRoute};

/// An HTTP route with other headers for some of its requests.
pub(super) struct ConditionalRoute<'a> {
    pub(super) conditions: &'a [Condition],
    pub(super) route: HttpRoute,
}

pub(super) fn conditional_routes(
    http_route: &HttpRoute,
) -> impl Iterator<Item = ConditionalRoute<'_>> {
    http_route.header_variants.iter().map(|variant| {
        let requests = http_route.filters.iter();
        let requests = requests.filter(|it| matches!(it, Filter::RequestHeaders(_)));
        let responses = Filter::ResponseHeaders(variant.headers.clone());
        let filters = requests.cloned().chain([responses]).collect();
        ConditionalRoute {
            conditions: &variant.conditions,
            route: HttpRoute {
                filters,
                direct_responses: Vec::new(),
                header_variants: Vec::new(),
                ..http_route.clone()
            },
        }
    })
}
