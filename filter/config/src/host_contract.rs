//! The contract between the filter and the data planes: the names by which they exchange routes and choices.
//!
//! | | the filter reads | the filter writes |
//! |---|---|---|
//! | a drop-in Envoy | the route name | [`ENDPOINT_HEADER`], [`BACKEND_HEADER`] |
//! | an Envoy that Sluice configures | the route name | [`MANAGED_ENDPOINT_HEADER`], [`MANAGED_BACKEND_HEADER`], [`EJECTIONS_STATE`] |
//! | nginx | [`ROUTE`] | [`ENDPOINT`], [`BACKEND`], [`EJECTIONS`], [`OWNER`] |
//!
//! Drop-in configurations use these names as well, so a change of one breaks them.

use serde::Serialize;

/// Prefix of all request headers between the data plane and the filter. Clients cannot send such headers to an Envoy
/// that Sluice configures.
pub const HEADER_PREFIX: &str = "x-sluice-";

/// Request header with the endpoints to try, `ip:port,ip:port`. Envoy's `override_host` policy reads it.
pub const ENDPOINT_HEADER: &str = "x-sluice-endpoint";
/// Request header with the id of the backend, for routes with canaries.
pub const BACKEND_HEADER: &str = "x-sluice-cluster";

/// [`ENDPOINT_HEADER`] in an Envoy that Sluice configures.
///
/// The colon hides it on both sides: Envoy's codecs accept no such name from a client and write none to an HTTP/1
/// pod. Removing an ordinary header early and late costs more than the pick itself.
pub const MANAGED_ENDPOINT_HEADER: &str = ":sluice-endpoint";
/// [`BACKEND_HEADER`] in an Envoy that Sluice configures, hidden as well.
pub const MANAGED_BACKEND_HEADER: &str = ":sluice-cluster";

/// Request header of a client that is over a rate limit of its route, for the filter of Envoy that refuses it. Hidden as well.
pub const LIMITED_HEADER: &str = ":sluice-limited";

/// Request header with the route scope of a host, where each host has a scope of its own.
pub const SCOPE_HEADER: &str = "x-sluice-scope";
/// The scope of all hosts that no Ingress names exactly. No host has this name.
pub const OTHER_HOSTS: &str = "_";
/// Request header with path and query as the client sent them, of a request whose `:path` was decoded.
pub const PATH_HEADER: &str = "x-sluice-path";
/// Name of the route for paths with percent-encoded bytes. No route has this name.
pub const ENCODED_ROUTE: &str = "sluice.encoded";
/// Beginning of the name of the route of all requests to a host with paths whose patterns the filter compares; they follow, one in a line.
/// No route has such a name.
pub const PATTERNS_ROUTE: &str = "sluice.patterns";
/// Request header with the first of these patterns that matches.
pub const PATTERN_HEADER: &str = "x-sluice-pattern";
/// Beginning of the request headers with the captures of its groups; their number follows.
pub const GROUP_HEADER: &str = "x-sluice-group-";
/// Groups that have one, from `$1`.
pub const MOST_GROUPS: u8 = 9;
/// Name of the plugin, and of the HTTP filter, that chooses endpoints.
pub const FILTER: &str = "sluice";
/// Name of the plugin, and of the HTTP filter, that runs before the route lookup.
pub const LOOKUP_FILTER: &str = "sluice.lookup";

/// Name of the plugin, and of the HTTP filter, that gives copies of requests their path, behind the choice of a mirror's endpoint.
pub const MIRROR_FILTER: &str = "sluice.mirror";
/// The same for copies without bodies.
pub const BODILESS_MIRROR_FILTER: &str = "sluice.mirror.bodiless";

/// Form of the requests that are copies of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// With the bodies of their requests.
    Whole,
    /// Without bodies.
    Bodiless,
}

impl Copies {
    /// The copies that the filter of this name prepares; `None`: it is another filter.
    #[must_use]
    pub fn of_filter(name: &[u8]) -> Option<Copies> {
        let mut all = [Copies::Whole, Copies::Bodiless].into_iter();
        all.find(|copies| copies.filter().as_bytes() == name)
    }

    /// Name of the filter that prepares them.
    #[must_use]
    pub fn filter(self) -> &'static str {
        match self {
            Copies::Whole => MIRROR_FILTER,
            Copies::Bodiless => BODILESS_MIRROR_FILTER,
        }
    }

    /// True if the host has to drop bodies.
    #[must_use]
    pub fn are_bodiless(self) -> bool {
        self == Copies::Bodiless
    }
}

/// Request header of a copy with its target. Where there is a space, the path before it has the query of the target behind it.
pub const MIRROR_TARGET_HEADER: &str = "x-sluice-mirror-target";

/// Property of a request that counted for the rates of its route before access control.
pub const COUNTED: &str = "sluice.counted";

/// Property of a request whose log tells the controller of ejections.
pub const EJECTIONS_PROPERTY: &str = "sluice.ejections";
/// Filter state that Envoy keeps that property of wasm in, and that its module sets itself.
pub const EJECTIONS_STATE: &str = "wasm.sluice.ejections";

/// Counter of requests whose route the filter does not know.
pub const UNKNOWN_ROUTES: &str = "sluice.unknown_routes";

/// A variable of nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NginxVariable {
    /// Its name in nginx.conf, without the dollar sign.
    pub name: &'static str,
    /// Path of the proxy-wasm property that reads and writes it.
    pub property: &'static str,
}

macro_rules! nginx_variable {
    ($name:literal) => {
        NginxVariable {
            name: $name,
            property: concat!("ngx.", $name),
        }
    };
}

/// The id of the route, set by the configuration.
pub const ROUTE: NginxVariable = nginx_variable!("sluice_route");
/// The endpoints to try, `ip:port,ip:port`.
pub const ENDPOINT: NginxVariable = nginx_variable!("sluice_endpoint");
/// The id of the backend, for routes with canaries.
pub const BACKEND: NginxVariable = nginx_variable!("sluice_backend");
/// Ejections for the log of the request, `ip:port SECONDS,ip:port SECONDS`.
pub const EJECTIONS: NginxVariable = nginx_variable!("sluice_ejections");
/// The context that picked the endpoints of a request: ngx_wasm_module gives each retry a context of its own.
pub const OWNER: NginxVariable = nginx_variable!("sluice_ticket");
/// The outcome of a request in the nginx module of Sluice: a line for each of `$upstream_addr`, `$upstream_status`,
/// `$upstream_connect_time` and `$upstream_response_time`.
pub const OUTCOME: NginxVariable = nginx_variable!("sluice_outcome");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_prepares_copies_by_its_name() {
        let of_filter = |name: &str| Copies::of_filter(name.as_bytes());
        assert_eq!(of_filter(MIRROR_FILTER), Some(Copies::Whole));
        assert!(of_filter(BODILESS_MIRROR_FILTER).is_some_and(Copies::are_bodiless));
        for other in ["sluice", "sluice.lookup", ""] {
            assert_eq!(of_filter(other), None, "{other:?}");
        }
    }
}
