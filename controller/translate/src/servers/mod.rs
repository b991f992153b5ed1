//! Hosts and paths: many Ingresses to one set of servers.
//!
//! ```text
//!   Ingresses, oldest first --mod.rs--> ServerBuilder of each host --server_builder.rs--> Server
//!   (../claims.rs: age)        path rules  |-- patterns.rs, when one path of a namespace is a pattern
//!                                          |-- shared.rs, when several namespaces have paths
//!                                          |-- snippet_locations.rs, when a server-snippet has locations
//!                                          \-- server_rewrites.rs, when it rewrites to other paths
//! ```
//!
//! Ingresses are read oldest first; the first to claim a path of a host has it. Every host that an Ingress names exists, even
//! without a path, unless another namespace holds the name (reserved.rs) or the Ingress is unservable (unservable.rs).

mod aliases;
mod arrivals;
mod backend;
mod by_service;
mod canary;
mod certificates;
mod certified_names;
mod claimed_paths;
mod client_certificates;
mod closing;
mod configmap_locations;
mod foreign_snippets;
mod header_budget;
mod host_ownership;
mod ingress;
mod last_rewrites;
mod names;
mod operator_budget;
mod passthrough;
mod path_changes;
mod path_rule;
mod paths;
mod patterns;
mod precedence;
mod proxied_locations;
mod reserved;
mod server_builder;
mod server_rewrites;
mod server_snippet;
mod shared;
mod shared_variables;
mod sibling_tls;
mod snippet_budget;
mod snippet_locations;
mod snippet_rewrites;
mod step_counter;
mod tls_entries;
mod unmatched;
mod unservable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{BackendId, Mirror, ServerName};
use sluice_translate_engine::{
    Assembled, BackendRefs, BackendSettings, BackendSource, DependencyTracker, Ingress, Kind,
    ObjectRef, Owners, Port, PrecedenceTier, ReferenceSite, Report, Reporter, Secrets, Seniority,
    Traffic, Wildcards, service_address,
};

use crate::annotations::{Annotations, Context, MirrorTarget};
use crate::global::Globals;
use crate::{Options, ext_auth_url};
use aliases::Aliases;
pub(crate) use by_service::MAX_SERVICES;
use canary::PendingCanary;
use certified_names::{Certificates, CertifiedNames};
pub(crate) use header_budget::MAX_CONDITIONAL_HEADERS;
pub(crate) use names::names;
use path_rule::IngressContext;
pub(crate) use paths::MAX_PATHS;
pub(crate) use patterns::MAX_PATTERN_COST;
use server_builder::ServerBuilder;
pub(crate) use snippet_budget::MAX_SNIPPET_CONDITIONS;
pub(crate) use tls_entries::MAX_TLS_ENTRIES;
pub(crate) use unservable::{
    MAX_ANNOTATION_BYTES, MAX_ANNOTATION_BYTES_OF_ALL_PATHS, MAX_RULES, unservable_spec,
};

/// Collects the servers of some Ingresses.
struct Assembly<'a> {
    builders: BTreeMap<ServerName, ServerBuilder>,
    aliases: Aliases,
    /// Holders of the names under wildcard hosts.
    wildcards: &'a Wildcards,
    canaries: Vec<PendingCanary>,
    /// Paths of the current Ingress, so far.
    paths: usize,
    /// Its patterns, so far, and what they cost.
    patterns: BTreeSet<String>,
    pattern_cost: u64,
    backend_refs: BackendRefs,
    secrets: Secrets,
    reports: Vec<Report>,
    fallback: Option<&'a BackendId>,
    globals: &'a Globals,
    options: &'a Options,
    tracker: &'a DependencyTracker<'a>,
}

/// Builds the servers of these Ingresses, which are in the order in which they are read. The catch-all server is there
/// when somebody names it, and on demand.
pub(crate) fn assemble<'a>(
    ingresses: impl IntoIterator<Item = (Seniority, &'a Ingress)>,
    with_catch_all: bool,
    fallback: Option<&BackendId>,
    wildcards: &Wildcards,
    context: Context<'_>,
) -> Assembled {
    let Context {
        tracker,
        options,
        globals,
    } = context;
    let builders = with_catch_all
        .then(|| (ServerName::CatchAll, ServerBuilder::default()))
        .into_iter()
        .collect();
    let (aliases, canaries, reports) = (Aliases::default(), Vec::new(), Vec::new());
    let (backend_refs, secrets) = (
        BackendRefs::new(&globals.upstream.transport),
        Secrets::default(),
    );
    let mut assembly = Assembly {
        builders,
        aliases,
        wildcards,
        canaries,
        paths: 0,
        patterns: BTreeSet::new(),
        pattern_cost: 0,
        backend_refs,
        secrets,
        reports,
        fallback,
        globals,
        options,
        tracker,
    };
    for (seniority, ingress) in ingresses {
        assembly
            .backend_refs
            .set_tier(PrecedenceTier::Object(seniority.clone()));
        assembly.add(seniority, ingress);
    }
    assembly.finish()
}

/// The Service that a flag names, for requests that no host takes.
pub(crate) fn default_backend(
    options: &Options,
    globals: &Globals,
    backend_refs: &mut BackendRefs,
) -> Option<BackendId> {
    let service = options.default_backend_service.clone()?;
    let object = ObjectRef {
        kind: Kind::Service,
        key: service.clone(),
    };
    let site = ReferenceSite {
        object,
        field: "--default-backend-service".to_owned(),
    };
    let attempts = globals.upstream.retries.attempts;
    let settings = BackendSettings {
        transport: &globals.upstream.transport,
        balance: &globals.upstream.balance,
        attempts,
        traffic: Traffic::Routes,
    };
    Some(backend_refs.add(BackendSource::Service(service, Port::First), settings, site))
}

impl Assembly<'_> {
    /// The policy of an Ingress names the backend that gets the copies.
    fn add_mirror(&mut self, context: &mut IngressContext) {
        let Some(copied) = context.annotations.mirror.clone() else {
            return;
        };
        let MirrorTarget {
            target,
            host,
            path,
            copies,
        } = copied;
        let backend = self.target(&target, &context.object, "mirror-target", Some(copies));
        let address = service_address(&target, self.tracker);
        let annotations = Arc::make_mut(&mut context.annotations);
        Arc::make_mut(&mut annotations.policy).mirrors = vec![Mirror {
            backend,
            host,
            address,
            path: Some(path),
            fraction: None,
        }];
    }

    /// An authentication service is asked at its pods, or where its name leads.
    fn add_ext_auth_backend(&mut self, object: &ObjectRef, annotations: &mut Arc<Annotations>) {
        let authentication = annotations.policy.authentication.as_ref();
        let Some(target) = authentication
            .and_then(|authentication| authentication.external.as_ref())
            .and_then(ext_auth_url::upstream)
        else {
            return;
        };
        let backend = Some(self.target(&target, object, "auth-url", None));
        let annotations = Arc::make_mut(annotations);
        let authentication = Arc::make_mut(&mut annotations.policy)
            .authentication
            .as_mut();
        if let Some(external) =
            authentication.and_then(|authentication| authentication.external.as_mut())
        {
            external.backend = backend;
        }
    }

    fn report(&mut self, object: &ObjectRef) -> Reporter<'_> {
        Reporter::new(object.clone(), &mut self.reports)
    }

    fn check_snippets(&mut self) {
        self.limit_cost_of_snippets();
        self.limit_operators_snippet();
        self.report_paths_without_snippet();
        self.report_locations_of_configmap();
        self.close_rewrites_beside_long_paths();
        self.close_paths_with_variables_of_servers();
        self.lead_locations();
    }

    fn finish(mut self) -> Assembled {
        self.check_snippets();
        self.report_siblings_without_tls();
        for (name, builder) in &mut self.builders {
            builder.yield_to_older(name, &mut self.reports);
        }
        let canary_candidates = self.canary_candidates();
        let passthrough = self.passthrough();
        let mut aliases = self.aliases.used(&self.builders, &mut self.reports);
        let taken: BTreeSet<ServerName> = aliases.values().flatten().cloned().collect();
        let mut servers = BTreeMap::new();
        let (mut counterparts, mut owner_of) = (BTreeMap::new(), BTreeMap::new());
        let (mut owners, mut error_services, mut tls) =
            (Owners::new(), BTreeMap::new(), BTreeMap::new());
        let certificates = Certificates::of(self.options, self.wildcards, self.tracker);
        for (name, builder) in self.builders {
            tls.extend(builder.tls.clone().map(|host| (name.clone(), host)));
            owner_of.insert(name.clone(), builder.tenants.owner().to_owned());
            if builder.from_to_www.is_some()
                && let Some((other, server)) = server_builder::www_redirect(&name, self.globals)
            {
                counterparts.insert(other, (server, builder.tenants.owner().to_owned()));
            }
            let aliases = aliases.remove(&name).unwrap_or_default();
            let certified = CertifiedNames::of(&name, &aliases, &builder, certificates);
            let built = builder.build(
                (&name, aliases),
                &certified,
                self.fallback,
                (self.globals, &self.options.health_check_path),
                &mut self.reports,
            );
            // Not `append`: that makes the whole map anew, for each host.
            owners.extend(built.owners);
            error_services.extend(built.error_services);
            servers.insert(name, built.server);
        }
        for (name, (server, owner)) in counterparts {
            if !taken.contains(&name) && !servers.contains_key(&name) {
                servers.insert(name.clone(), server);
                owner_of.insert(name, owner);
            }
        }
        let mut tls = certificates::by_name(tls, &servers, self.tracker);
        certificates::set_apart(&mut tls, &servers, &owner_of, self.wildcards);
        Assembled {
            servers,
            owners,
            error_services,
            tls,
            passthrough,
            backend_refs: self.backend_refs.into_refs(),
            canary_candidates,
            secrets: self.secrets,
            reports: self.reports,
        }
    }
}
