//! Policies of a `server-snippet`, for all that its namespace has of a host.

use std::sync::Arc;

use sluice_ir::{DirectResponse, Filter, HeaderVariant, HttpRoute, IpAccess};

use crate::snippet::Location;

/// Policies of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSnippet {
    /// Changes of response headers, for routes that change none themselves.
    pub(crate) filters: Vec<Filter>,
    /// Before those of routes.
    pub(crate) direct_responses: Vec<DirectResponse>,
    /// For routes without lists of their own.
    pub(crate) access: IpAccess,
    /// Requests are not logged.
    pub(crate) access_log_off: bool,
    /// Routes of its own.
    pub(crate) locations: Vec<Location>,
}

impl ServerSnippet {
    /// A route with what nginx lets its location inherit.
    pub(crate) fn inherited_by(&self, mut route: HttpRoute) -> HttpRoute {
        let has_access = route.policy.ip_access != IpAccess::default();
        if (!has_access && self.access != IpAccess::default()) || self.access_log_off {
            let policy = Arc::make_mut(&mut route.policy);
            policy.access_log_off |= self.access_log_off;
            if !has_access {
                policy.ip_access = self.access.clone();
            }
        }
        if !sets_response_headers(&route) {
            route.filters.extend(self.filters.iter().cloned());
            let variants = route.header_variants.iter_mut();
            variants.for_each(|variant| self.inherited_under(variant));
        }
        let own = std::mem::take(&mut route.direct_responses);
        route.direct_responses = [self.direct_responses.clone(), own].concat();
        route
    }
}

impl ServerSnippet {
    /// A block of a location that sets none inherits as the location does: no `add_header` beside its own.
    fn inherited_under(&self, variant: &mut HeaderVariant) {
        let headers = &mut variant.headers;
        for filter in &self.filters {
            let Filter::ResponseHeaders(outer) = filter else {
                continue;
            };
            headers.set = [outer.set.clone(), std::mem::take(&mut headers.set)].concat();
            headers.remove.extend(outer.remove.iter().cloned());
            if headers.add.is_empty() {
                headers.add.clone_from(&outer.add);
            }
        }
    }
}

/// nginx inherits no header into a location that sets one.
fn sets_response_headers(route: &HttpRoute) -> bool {
    let mut filters = route.filters.iter();
    filters.any(|filter| matches!(filter, Filter::ResponseHeaders(_)))
        || route.policy.cors.is_some()
        || !route.policy.response_headers.is_empty()
}
