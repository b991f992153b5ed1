//! The ConfigMap's `location-snippet`, which is in every location of an Ingress and in that of the default backend.

use std::sync::Arc;

use sluice_ir::{DirectResponse, HeaderVariant, HttpRoute};

use crate::snippet::budget::{SnippetShare, access_size, header_programs, header_size};
use crate::snippet::compiled::Compiled;
use crate::snippet::policies::access;

/// A snippet that can be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocationSnippet {
    /// It is compiled again behind the snippet of each Ingress, whose settings decide about it, too.
    pub(crate) text: String,
    /// Its name in reports.
    pub(crate) name: String,
    /// Its effect where there are no other settings.
    compiled: Compiled,
}

impl LocationSnippet {
    pub(crate) fn new(text: &str, name: String, compiled: Compiled) -> Self {
        LocationSnippet {
            text: text.to_owned(),
            name,
            compiled,
        }
    }

    pub(crate) fn share(&self) -> SnippetShare {
        let Compiled {
            filters,
            direct_responses,
            header_variants,
            access,
            ..
        } = &self.compiled;
        let responses: usize = direct_responses.iter().map(DirectResponse::size).sum();
        let variants: usize = header_variants.iter().map(HeaderVariant::size).sum();
        SnippetShare {
            size: responses + variants + access_size(access) + header_size(filters),
            programs: header_programs(filters, header_variants),
        }
    }

    /// A route of no Ingress with it.
    pub(crate) fn within(&self, route: HttpRoute) -> HttpRoute {
        let Compiled {
            filters,
            route_headers: _,
            differences: _,
            direct_responses,
            header_variants,
            server_rewrites: _,
            path_changes: _,
            access,
            // Nobody is asked for a password there.
            satisfy: _,
            access_log_off,
            locations: _,
            named: _,
            auth_request: _,
            auth_headers: _,
            user_headers: _,
            connections: _,
            proxy: _,
            upstream,
            variables: _,
            not_needed: _,
        } = self.compiled.clone();
        let mut policy = route.policy;
        let own = Arc::make_mut(&mut policy);
        own.access_log_off |= access_log_off;
        upstream.apply_to(own);
        own.ip_access = access::behind(&own.ip_access, &access);
        HttpRoute {
            filters,
            direct_responses,
            header_variants,
            policy,
            ..route
        }
    }
}
