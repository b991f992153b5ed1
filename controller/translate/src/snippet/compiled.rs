//! A snippet as policies of the model.

use std::collections::BTreeSet;

use sluice_ir::{
    ConnectionSettings, DirectResponse, Filter, HeaderName, HeaderVariant, IpAccess,
    ResponseContent, UpstreamHeader,
};

use crate::route_names::RouteHeader;
use crate::snippet::auth_request::AuthRequest;
use crate::snippet::difference::Difference;
use crate::snippet::locations::LocationPath;
use crate::snippet::locations::named::NamedLocation;
use crate::snippet::policies::access::Satisfy;
use crate::snippet::policies::proxy_pass::ProxyPass;
use crate::snippet::policies::upstream::Upstream;
use crate::snippet::rewrite::responses::NO_RESPONSE;
use crate::snippet::rewrite::rewrites::{PathChange, ServerRewrite};
use crate::snippet::rewrite::shared_variables::SharedVariables;

/// A location of a server. Requests that no `return` answers get 404: there are no files to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: LocationPath,
    /// The directive without its block.
    pub(crate) written: String,
    pub(crate) filters: Vec<Filter>,
    pub(crate) direct_responses: Vec<DirectResponse>,
    pub(crate) access: IpAccess,
    /// Its requests are not logged.
    pub(crate) access_log_off: bool,
    /// Timeouts of its clients.
    pub(crate) clients: ConnectionSettings,
    /// Pods in place of 404.
    pub(crate) proxy: Option<ProxyPass>,
    /// nginx takes the bare form of its path along, if it ends with a slash: it leads to pods, or would if it were not `internal`.
    pub(crate) takes_bare_form: bool,
}

/// Policies that do what a snippet says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) filters: Vec<Filter>,
    /// Request headers whose values name the route.
    pub(crate) route_headers: Vec<RouteHeader>,
    /// Differences from ingress-nginx that are served.
    pub(crate) differences: BTreeSet<Difference>,
    pub(crate) direct_responses: Vec<DirectResponse>,
    /// Headers of responses under conditions.
    pub(crate) header_variants: Vec<HeaderVariant>,
    /// Paths that pods see in place of those that clients asked for.
    pub(crate) path_changes: Vec<PathChange>,
    /// Paths that a server looks for in place of those that clients asked for.
    pub(crate) server_rewrites: Vec<ServerRewrite>,
    pub(crate) access: IpAccess,
    /// Of a location alone.
    pub(crate) satisfy: Option<Satisfy>,
    /// Requests are not logged.
    pub(crate) access_log_off: bool,
    pub(crate) locations: Vec<Location>,
    /// Locations that no path leads to.
    pub(crate) named: Vec<NamedLocation>,
    /// Of an `auth-snippet` alone.
    pub(crate) auth_request: AuthRequest,
    /// Request headers from the response of its authentication service.
    pub(crate) auth_headers: Vec<UpstreamHeader>,
    /// Request headers with the name of the user whose password was right.
    pub(crate) user_headers: Vec<HeaderName>,
    /// Of a server, or the timeouts that a location has, too.
    pub(crate) connections: ConnectionSettings,
    /// Pods of a location of a server.
    pub(crate) proxy: Option<ProxyPass>,
    /// In place of annotations.
    pub(crate) upstream: Upstream,
    /// Variables that others may see.
    pub(crate) variables: SharedVariables,
    /// Lines that this data plane has nothing to do for, and why.
    pub(crate) not_needed: Vec<String>,
}

impl Compiled {
    /// True if it changes nothing by itself.
    pub(crate) fn has_no_effect(&self) -> bool {
        let nothing = Compiled {
            variables: self.variables.clone(),
            ..Compiled::default()
        };
        *self == nothing
    }

    /// The location of a server that has this block; `None`: there is more in it than such a location can have.
    pub(super) fn into_location(self, path: LocationPath, written: String) -> Option<Location> {
        // Names of a route are empty there.
        let is_whole = self.route_headers.is_empty() && self.upstream == Upstream::default();
        is_whole.then_some(Location {
            path,
            written,
            filters: self.filters,
            direct_responses: self.direct_responses,
            access: self.access,
            access_log_off: self.access_log_off,
            clients: self.connections,
            proxy: self.proxy,
            takes_bare_form: false,
        })
    }

    /// The named location that has this block; `None`: it does more than to answer every request, or would be too long.
    pub(super) fn into_named_location(self, name: &str) -> Option<NamedLocation> {
        let [response] = <[DirectResponse; 1]>::try_from(self.direct_responses).ok()?;
        let answers_all = response.conditions.is_empty()
            && self.access == IpAccess::default()
            && !self.access_log_off
            && self.connections == ConnectionSettings::default()
            && response.status != NO_RESPONSE
            && !matches!(
                response.content,
                ResponseContent::Rewritten { .. } | ResponseContent::Captured(_)
            );
        let named = NamedLocation {
            name: name.to_owned(),
            response,
        };
        let named = answers_all.then_some(named)?;
        named.within(&self.filters)
    }

    /// Without changes of response headers that settings of the Ingress replace behind the snippet.
    pub(crate) fn without_responses_of(&mut self, is_replaced: &dyn Fn(&HeaderName) -> bool) {
        let filters = self.filters.iter_mut();
        let filters = filters.filter_map(Filter::response_headers_mut);
        let variants = self.header_variants.iter_mut().map(|it| &mut it.headers);
        let responses = self.direct_responses.iter_mut();
        let responses = responses.filter_map(|it| it.headers.as_mut());
        for all in filters.chain(variants).chain(responses) {
            all.set.retain(|it| !is_replaced(&it.name));
            all.add.retain(|it| !is_replaced(&it.header.name));
            all.remove.retain(|name| !is_replaced(name));
        }
    }
}
