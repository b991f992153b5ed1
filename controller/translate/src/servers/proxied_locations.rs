//! Locations of a `server-snippet` that lead to pods of a path of the same Ingress.
//!
//! To nginx no annotation applies to them. What the operator has set for all paths does here, access control among it.

use std::sync::Arc;

use sluice_ir::{Action, Policy, Protocol, ReasonCode, ServerName, Transport, UpstreamTls};
use sluice_syntax::shortened;
use sluice_translate_engine::{Ingress, ObjectRef, Reporter, Severity};

use super::Assembly;
use super::path_rule::{Origin, PathRule, RouteTarget};
use super::server_builder::ServerBuilder;
use super::server_snippet::FIELD;
use crate::annotations::{Annotations, Context};
use crate::snippet::{ProxyPass, ProxyUpstream};

const UNLED: &str = "the location answers 503";

/// Host of such a location, and the namespace whose snippet it is of.
type Place = (ServerName, Arc<str>);

impl Assembly<'_> {
    /// Leads each of them to pods. One that names no port of a Service that a path of its Ingress leads to stays closed.
    pub(super) fn lead_locations(&mut self) {
        let places: Vec<(Place, ObjectRef)> = self.builders.iter().flat_map(places).collect();
        for ((name, namespace), owner) in places {
            let of_all = self.policy_of_all(&owner);
            let Some(builder) = self.builders.get_mut(&name) else {
                continue;
            };
            let is_closed = builder.closed.contains(&namespace);
            let rules: Vec<&PathRule> = builder
                .rules()
                .filter(|rule| rule.owner == owner && rule.origin == Origin::Ingress)
                .collect();
            let has_closed = rules
                .iter()
                .any(|rule| rule.target.action == Action::Denied);
            let targets: Vec<(RouteTarget, Transport)> = rules
                .into_iter()
                .map(|rule| {
                    let transport = rule.annotations.backend.transport.clone();
                    (rule.target.clone(), transport)
                })
                .collect();
            // A closed path has no Service any more.
            let advice = match has_closed {
                true => "paths that are closed lead nowhere: mend what closes them",
                false => "add such a path",
            };
            let mut without = Vec::new();
            let locations = builder.snippets.get_mut(&namespace);
            for location in locations.into_iter().flat_map(|it| it.locations_mut()) {
                let Some(proxy) = location.proxy.as_ref().filter(|_| !is_closed) else {
                    continue;
                };
                let mut targets = targets.iter();
                let target = targets.find(|(target, transport)| {
                    leads_to(target, &proxy.upstream) && is_spoken(transport, proxy)
                });
                match (target.map(|it| it.0.clone()), &of_all) {
                    (Some(target), Some(of_all)) => location.lead_to(target, of_all),
                    (Some(_), None) => {}
                    (None, _) => without.push(location.text().to_owned()),
                }
            }
            for text in without {
                let reason = format!(
                    "location {:?}: expected proxy_pass to a Service and a port that a path of this Ingress on host {name} leads to, in \
                     the same scheme and without a certificate or a name for TLS; {advice}",
                    shortened(&text)
                );
                let code = ReasonCode::Unsupported;
                self.report(&owner)
                    .report(code, Severity::Error, FIELD, reason, UNLED);
            }
        }
    }

    /// The policy of a path without annotations; `None`: the operator closes all of them.
    fn policy_of_all(&mut self, owner: &ObjectRef) -> Option<Policy> {
        let ingress = Ingress::named(&owner.key);
        let context = Context {
            tracker: self.tracker,
            options: self.options,
            globals: self.globals,
        };
        // What the ConfigMap says is reported elsewhere.
        let mut reports = Vec::new();
        let reporter = Reporter::new(owner.clone(), &mut reports);
        let annotations = Annotations::read(&ingress, context, &mut self.secrets, reporter);
        if annotations.denied {
            return None;
        }
        let mut annotations = Arc::new(annotations);
        self.add_ext_auth_backend(owner, &mut annotations);
        Some(Policy::clone(&annotations.policy))
    }
}

fn places((name, builder): (&ServerName, &ServerBuilder)) -> Vec<(Place, ObjectRef)> {
    let snippets = builder.snippets.iter();
    let snippets =
        snippets.filter(|(_, snippet)| snippet.locations().iter().any(|it| it.proxy.is_some()));
    snippets
        .map(|(namespace, snippet)| ((name.clone(), namespace.clone()), snippet.owner().clone()))
        .collect()
}

/// True if pods are spoken to as nginx would in the location, which has none of the annotations for TLS.
fn is_spoken(transport: &Transport, proxy: &ProxyPass) -> bool {
    let is_plain = |tls: &UpstreamTls| {
        tls.certificate.is_none() && tls.verify.is_none() && tls.server_name.is_none()
    };
    let tls = transport.tls.as_ref();
    transport.protocol == Protocol::Http1
        && tls.is_some() == proxy.is_tls
        && tls.is_none_or(is_plain)
}

fn leads_to(target: &RouteTarget, upstream: &ProxyUpstream) -> bool {
    let names = target.names.as_ref();
    names.is_some_and(|names| match upstream {
        ProxyUpstream::Service(service, port) => names.are_of(service, port),
        ProxyUpstream::Named(name) => names.upstream() == *name,
    })
}
