//! Host ownership: a host belongs to the namespace whose Ingress named it first (R12 of the security rules).
//!
//! Any Ingress may add paths to any host, as in ingress-nginx. Other than there, what holds for the host as a whole (its
//! certificate and ciphers, certificates of clients, other names, an app root, passthrough) is said in the namespace that has
//! it, so that nobody changes what the paths of others answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{ConnectionSettings, ReasonCode, ServerName};
use sluice_translate_engine::Severity;

use super::Assembly;
use super::path_rule::{IngressContext, belongs_to};
use super::server_builder::ServerBuilder;
use crate::annotations::Host;
use crate::snippet::ServerSnippet;

/// The namespaces of a host.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    owner: Option<String>,
    ranks: BTreeMap<String, usize>,
}

impl Tenants {
    /// The first to do so has the host.
    fn name(&mut self, namespace: &str) {
        self.owner.get_or_insert_with(|| namespace.to_owned());
        if !self.ranks.contains_key(namespace) {
            self.ranks.insert(namespace.to_owned(), self.ranks.len());
        }
    }

    /// The namespace that owns the host.
    pub(super) fn owner(&self) -> &str {
        self.owner.as_deref().unwrap_or_default()
    }

    /// Rank of a namespace by age on this host; 0 is the oldest.
    pub(super) fn namespace_rank(&self, namespace: &str) -> usize {
        self.ranks.get(namespace).copied().unwrap_or(usize::MAX)
    }

    pub(super) fn are_any(&self) -> bool {
        self.owner.is_some()
    }

    pub(super) fn are_shared(&self) -> bool {
        self.ranks.len() > 1
    }
}

impl Assembly<'_> {
    /// The first to name a host has it.
    pub(super) fn add_namespace(&mut self, name: &ServerName, context: &IngressContext) {
        let builder = self.builders.entry(name.clone()).or_default();
        builder.tenants.name(&context.object.key.namespace);
    }

    /// True if the host belongs to another namespace.
    pub(super) fn is_foreign(&self, name: &ServerName, context: &IngressContext) -> bool {
        self.builders
            .get(name)
            .is_some_and(|builder| builder.tenants.owner() != &*context.object.key.namespace)
    }

    /// Settings of a host that another namespace asks for, by field.
    fn unused_settings(
        &self,
        name: &ServerName,
        builder: &ServerBuilder,
        context: &IngressContext,
    ) -> [(&'static str, Option<Unused>); 8] {
        // Each by its name: a setting of hosts that is new is told here, too, or this does not compile.
        let Host {
            aliases,
            app_root,
            from_to_www,
            ciphers,
            prefer_server_ciphers,
            passthrough,
            closed: _,
            snippet,
        } = &context.annotations.host;
        let www_counterpart = builder.from_to_www.is_some().then_some(true);
        let passed_on = (!builder.passthrough.is_empty()).then_some(true);
        // A Secret of this namespace is never that of the host's.
        let lists_it = context.tls.listing(&name.to_string()).is_some();
        let tls = lists_it || (!context.tls.is_empty() && builder.tls.is_none());
        [
            (
                "spec.tls",
                tls.then_some(Unused {
                    same_as_ingress_nginx: builder.tls.is_some(),
                }),
            ),
            (
                "annotation app-root",
                unused(app_root.as_ref(), builder.app_root.as_ref()),
            ),
            (
                "annotation from-to-www-redirect",
                unused(from_to_www.then_some(&true), www_counterpart.as_ref()),
            ),
            (
                "annotation server-alias",
                unused(some(aliases), self.aliases.of_server(name)),
            ),
            (
                "annotation ssl-ciphers",
                unused(some(ciphers), some(&builder.ciphers)),
            ),
            (
                "annotation ssl-prefer-server-ciphers",
                unused(
                    prefer_server_ciphers.as_ref(),
                    builder.prefer_server_ciphers.as_ref(),
                ),
            ),
            ("annotation server-snippet", unused_room(snippet, builder)),
            (
                "annotation ssl-passthrough",
                unused(passthrough.then_some(&true), passed_on.as_ref()),
            ),
        ]
    }

    /// Reports what another namespace says about the host as a whole: nothing of it is used, unless the owner says the same.
    pub(super) fn report_foreign(&mut self, name: &ServerName, context: &IngressContext) {
        let Some(builder) = self.builders.get(name) else {
            return;
        };
        let said = self.unused_settings(name, builder, context);
        let namespace = builder.tenants.owner().to_owned();
        for (field, unused) in said {
            let Some(Unused {
                same_as_ingress_nginx,
            }) = unused
            else {
                continue;
            };
            let reason = belongs_to(name, &namespace);
            let mut reporter = self.report(&context.object);
            reporter
                .report(
                    ReasonCode::Conflicted,
                    Severity::Warning,
                    field,
                    reason,
                    "not used for this host",
                )
                .same_as_ingress_nginx = same_as_ingress_nginx;
        }
    }
}

/// A setting of another namespace's Ingress that is not used.
struct Unused {
    /// ingress-nginx would not use it either: somebody was there before.
    same_as_ingress_nginx: bool,
}

fn unused<T: PartialEq + ?Sized>(said: Option<&T>, before: Option<&T>) -> Option<Unused> {
    said.filter(|_| said != before).map(|_| Unused {
        same_as_ingress_nginx: before.is_some(),
    })
}

/// Room for headers that a snippet asks for.
fn unused_room(snippet: &Option<Arc<ServerSnippet>>, builder: &ServerBuilder) -> Option<Unused> {
    let room = snippet.as_ref().map(|snippet| &snippet.connections);
    let room = room.filter(|room| **room != ConnectionSettings::default());
    unused(room, Some(&builder.connections))
}

fn some<T>(list: &[T]) -> Option<&[T]> {
    Some(list).filter(|list| !list.is_empty())
}
