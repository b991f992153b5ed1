//! Hosts and paths: many Ingresses to one set of servers.
//!
//! ```text
//!   Ingresses, oldest first --mod.rs--> ServerBuilder of each host --server_builder.rs--> Server
//!   (../claims.rs: age)        path rules  |-- patterns.rs, when one path of a namespace is a pattern
//!                                          \-- shared.rs, when several namespaces have paths
//! ```
//!
//! Ingresses are read oldest first; the first to claim a path of a host has it. Every host that an Ingress names exists, even
//! without a path, unless another namespace holds the name (reserved.rs) or the Ingress is unfit (unfit.rs).

mod aliases;
mod backend;
mod canary;
mod certificates;
mod host_ownership;
mod names;
mod passthrough;
mod path_rule;
mod paths;
mod patterns;
mod precedence;
mod reserved;
mod server_builder;
mod shared;
mod taken;
mod tls_entries;
mod unfit;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{Ingress, IngressRule, IngressSpec};
use sluice_ir::{BackendId, ErrorContext, HostTls, Hostname, Mirror, RouteId, Server, ServerName};

use crate::annotations::{Annotations, Context, Copied, auth_external};
use crate::backends::{
    BackendRef, Origin, Port, Precedence, PrecedenceTier, Terms, Use, Uses, service_address,
};
use crate::claims::Seniority;
use crate::global::Globals;
use crate::object_ref::key_of;
use crate::references::DependencyTracker;
use crate::report::Reporter;
use crate::report::shortened;
use crate::secrets::Secrets;
use crate::wildcards::Wildcards;
use crate::{Kind, ObjectKey, ObjectRef, Options, Report, Severity};
use aliases::Aliases;
use canary::PendingCanary;
pub(crate) use canary::{CanaryCandidate, MOST_CANARIES, resolve_canaries};
pub(crate) use names::{components, names};
use path_rule::{IngressContext, PathRule, taken};
pub(crate) use paths::MOST_PATHS;
use server_builder::ServerBuilder;
pub(crate) use tls_entries::MOST_TLS;
use tls_entries::TlsEntries;
use unfit::{LOST_GUARD, Unfit, unfit, without_annotations};
pub(crate) use unfit::{MOST_ANNOTATIONS, MOST_RULES};

/// Collects the servers of some Ingresses.
struct Assembly<'a> {
    builders: BTreeMap<ServerName, ServerBuilder>,
    aliases: Aliases,
    /// Holders of the names under wildcard hosts.
    wildcards: &'a Wildcards,
    canaries: Vec<PendingCanary>,
    /// Paths of the current Ingress, so far.
    paths: usize,
    uses: Uses,
    secrets: Secrets,
    reports: Vec<Report>,
    fallback: Option<&'a BackendId>,
    globals: &'a Globals,
    options: &'a Options,
    tracker: &'a DependencyTracker<'a>,
}

/// Every server, whose locations they are, and who is asked where pods are missing; and all that they need.
pub(crate) struct Assembled {
    pub(crate) servers: BTreeMap<ServerName, Server>,
    pub(crate) owners: Owners,
    pub(crate) error_services: BTreeMap<RouteId, ErrorService>,
    pub(crate) tls: BTreeMap<ServerName, HostTls>,
    pub(crate) passthrough: BTreeMap<Hostname, BackendId>,
    pub(crate) backend_refs: Vec<(Precedence, BackendRef)>,
    pub(crate) canary_candidates: Vec<(Precedence, CanaryCandidate)>,
    pub(crate) secrets: Secrets,
    pub(crate) reports: Vec<Report>,
}

/// Error service for when the endpoints of a location are missing, and the request that it gets.
#[derive(Clone, Debug)]
pub(crate) struct ErrorService {
    pub(crate) backend: BackendId,
    /// Fallback for when it has no endpoints itself.
    pub(crate) next: Option<BackendId>,
    pub(crate) place: ErrorContext,
}

/// Which Ingress each location is from. Those of flags and those that follow from others are from none.
pub(crate) type Owners = BTreeMap<RouteId, ObjectKey>;

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
    let (uses, secrets) = (Uses::new(&globals.transport), Secrets::default());
    let mut assembly = Assembly {
        builders,
        aliases,
        wildcards,
        canaries,
        paths: 0,
        uses,
        secrets,
        reports,
        fallback,
        globals,
        options,
        tracker,
    };
    for (seniority, ingress) in ingresses {
        assembly
            .uses
            .set_tier(PrecedenceTier::Ingress(seniority.clone()));
        assembly.add(seniority, ingress);
    }
    assembly.finish()
}

/// The Service that a flag names, for requests that nobody else wants.
pub(crate) fn default_backend(
    options: &Options,
    globals: &Globals,
    uses: &mut Uses,
) -> Option<BackendId> {
    let service = options.default_backend_service.clone()?;
    let object = ObjectRef {
        kind: Kind::Service,
        key: service.clone(),
    };
    let usage = Use {
        object,
        field: "--default-backend-service".to_owned(),
        as_canary: false,
    };
    let attempts = globals.retries.attempts;
    let terms = Terms {
        transport: &globals.transport,
        balance: &globals.balance,
        attempts,
        routes: true,
    };
    Some(uses.name(Origin::Service(service, Port::First), terms, usage))
}

impl Assembly<'_> {
    fn add(&mut self, seniority: Seniority, ingress: &Ingress) {
        let Some(spec) = &ingress.spec else { return };
        let object = ObjectRef {
            kind: Kind::Ingress,
            key: key_of(&ingress.metadata),
        };
        let lost = unfit(ingress, self.options);
        // Nobody reads so much; and there may be a guard in it.
        let unread = lost
            .as_ref()
            .filter(|lost| lost.is_unreadable)
            .map(|_| without_annotations(ingress));
        let ingress = unread.as_ref().unwrap_or(ingress);
        let reporter = Reporter::new(object.clone(), &mut self.reports);
        let context = Context {
            tracker: self.tracker,
            options: self.options,
            globals: self.globals,
        };
        let annotations = Annotations::of(ingress, context, &mut self.secrets, reporter);
        let is_lost = lost.is_some() || annotations.refused;
        let guards = annotations.keeps_out() || unread.is_some();
        if let Some(Unfit { field, reason, .. }) = lost {
            let consequence = if guards {
                LOST_GUARD
            } else {
                "Ingress not served"
            };
            self.report(&object)
                .say(Severity::Error, field, reason, consequence);
        } else if is_lost && guards {
            let reason = "an annotation contains a word of annotation-value-word-blocklist";
            self.report(&object)
                .say(Severity::Error, "metadata.annotations", reason, LOST_GUARD);
        }
        if is_lost && (!guards || annotations.canary.is_some()) {
            return;
        }
        let tls = self.tls_entries(spec, &object);
        self.paths = 0;
        let mut context = IngressContext {
            object,
            seniority,
            annotations: Arc::new(annotations),
            tls,
        };
        if is_lost {
            context = context.closed();
        } else {
            self.add_mirror(&mut context);
            self.add_question(&mut context);
        }
        if let Some(rules) = context.annotations.canary.clone() {
            self.add_canary(ingress, &context, &rules);
            return;
        }
        let default = spec.default_backend.as_ref().and_then(|backend| {
            let field = "spec.defaultBackend";
            self.route_target(backend, &context, field)
                .map(|target| PathRule::root(target, &context, field.to_owned()))
        });
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.is_empty() && !self.options.disable_catch_all {
            self.take_catch_all(default.clone(), &context);
        }
        let read = rules.len().min(MOST_RULES);
        for (position, rule) in rules[..read].iter().enumerate() {
            self.add_rule(
                rule,
                &format!("spec.rules[{position}]"),
                &context,
                default.as_ref(),
            );
        }
        rules[read..]
            .iter()
            .for_each(|rule| self.close_host(rule, &context));
    }

    fn tls_entries(&mut self, spec: &IngressSpec, object: &ObjectRef) -> Arc<TlsEntries> {
        let entries = spec.tls.as_deref().unwrap_or_default();
        if entries.len() > MOST_TLS {
            let reason = format!("expected at most {MOST_TLS} entries, got {}", entries.len());
            let consequence = "this entry and those after it are not used";
            self.report(object).say(
                Severity::Error,
                format!("spec.tls[{MOST_TLS}]"),
                reason,
                consequence,
            );
        }
        Arc::new(TlsEntries::of(entries))
    }

    fn take_catch_all(&mut self, default: Option<PathRule>, context: &IngressContext) {
        let Some(default) = default else { return };
        self.take_namespace(&ServerName::CatchAll, context);
        let builder = self.builders.entry(ServerName::CatchAll).or_default();
        match &builder.default {
            None => builder.default = Some(default),
            Some(rule) => {
                let reason = taken("default backend", &rule.owner, &context.object);
                let field = "spec.defaultBackend";
                self.report(&context.object).warn_as_before(
                    field,
                    reason,
                    "default backend not used",
                );
            }
        }
    }

    fn add_rule(
        &mut self,
        rule: &IngressRule,
        field: &str,
        context: &IngressContext,
        default: Option<&PathRule>,
    ) {
        let host = rule.host.as_deref().unwrap_or_default();
        let Ok(name) = ServerName::parse(host) else {
            let reason = format!("expected a DNS name, got {:?}", shortened(host));
            self.report(&context.object).say(
                Severity::Error,
                format!("{field}.host"),
                reason,
                "rule not served",
            );
            return;
        };
        if self.yield_reserved_name(&name, context, &format!("{field}.host"), "rule not served") {
            return;
        }
        // The first Ingress of a host decides where its unmatched paths go, and its namespace has the host.
        if name != ServerName::CatchAll && !self.builders.contains_key(&name) {
            self.builders.insert(
                name.clone(),
                ServerBuilder {
                    default: default.cloned(),
                    ..ServerBuilder::default()
                },
            );
        }
        self.take_host(&name, context);
        let is_honoured = self.take_clients(&name, context);
        let annotations = &context.annotations;
        if annotations.paths_unreadable && !annotations.guards() && is_honoured {
            return;
        }
        let closed;
        let context = if is_honoured && !annotations.paths_unreadable {
            context
        } else {
            closed = context.closed();
            &closed
        };
        let paths = self.take_paths(rule, Some(&name), field, context);
        for (position, path) in paths.iter().enumerate() {
            self.add_path(
                &name,
                path,
                &format!("{field}.http.paths[{position}]"),
                context,
            );
        }
    }

    /// A rule that is not read, of an Ingress that guards: nobody knows what it was meant to guard of its host.
    fn close_host(&mut self, rule: &IngressRule, context: &IngressContext) {
        if let Ok(name) = ServerName::parse(rule.host.as_deref().unwrap_or_default()) {
            self.take_namespace(&name, context);
            let builder = self.builders.entry(name).or_default();
            builder.closed.insert(context.object.key.namespace.clone());
        }
    }

    /// Takes settings of the host as a whole; the first Ingress of the host's own namespace that sets one decides.
    fn take_host(&mut self, name: &ServerName, context: &IngressContext) {
        self.take_namespace(name, context);
        if context.annotations.host.closed {
            let builder = self.builders.entry(name.clone()).or_default();
            builder.closed.insert(context.object.key.namespace.clone());
        }
        if self.is_foreign(name, context) {
            return self.report_foreign(name, context);
        }
        self.take_tls(name, context);
        self.take_passthrough(name, context);
        self.take_ciphers(name, context);
        self.take_counterpart(name, context);
        self.take_aliases(name, context);
        let annotations = &context.annotations;
        let builder = self.builders.entry(name.clone()).or_default();
        if builder.app_root.is_none() {
            builder.app_root.clone_from(&annotations.host.app_root);
        }
        builder.prefers_its_ciphers = builder
            .prefers_its_ciphers
            .or(annotations.host.prefers_its_ciphers);
    }

    /// The name with `www.` leads to the one without, or the other way round.
    fn take_counterpart(&mut self, name: &ServerName, context: &IngressContext) {
        const FIELD: &str = "annotation from-to-www-redirect";
        if !context.annotations.host.from_to_www {
            return;
        }
        let Some(other) = server_builder::other_name(name) else {
            return;
        };
        if !self.yield_reserved_name(
            &other,
            context,
            FIELD,
            "its other name does not lead to the host",
        ) {
            let builder = self.builders.entry(name.clone()).or_default();
            builder
                .from_to_www
                .get_or_insert_with(|| context.object.clone());
        }
    }

    /// The policy of an Ingress names the backend that gets the copies.
    fn add_mirror(&mut self, context: &mut IngressContext) {
        let Some(copied) = context.annotations.mirror.clone() else {
            return;
        };
        let Copied {
            target,
            host,
            bodiless,
        } = copied;
        let backend = self.target(&target, context, "mirror-target");
        let address = service_address(&target, self.tracker, self.options);
        let annotations = Arc::make_mut(&mut context.annotations);
        Arc::make_mut(&mut annotations.policy).mirrors = vec![Mirror {
            backend,
            host,
            address,
            bodiless,
            fraction: None,
        }];
    }

    /// An authentication service is asked at its pods, or where its name leads.
    fn add_question(&mut self, context: &mut IngressContext) {
        let guard = context.annotations.policy.authentication.as_ref();
        let Some(target) = guard
            .and_then(|guard| guard.external.as_ref())
            .and_then(auth_external::target)
        else {
            return;
        };
        let backend = Some(self.target(&target, context, "auth-url"));
        let annotations = Arc::make_mut(&mut context.annotations);
        let guard = Arc::make_mut(&mut annotations.policy)
            .authentication
            .as_mut();
        if let Some(question) = guard.and_then(|guard| guard.external.as_mut()) {
            question.backend = backend;
        }
    }

    fn report(&mut self, object: &ObjectRef) -> Reporter<'_> {
        Reporter::new(object.clone(), &mut self.reports)
    }

    fn finish(mut self) -> Assembled {
        for (name, builder) in &mut self.builders {
            builder.yield_to_older(name, &mut self.reports);
        }
        let canary_candidates = self.canary_candidates();
        let passthrough = self.passthrough();
        let mut servers = BTreeMap::new();
        let (mut counterparts, mut owner_of) = (BTreeMap::new(), BTreeMap::new());
        let (mut owners, mut error_services) = (Owners::new(), BTreeMap::new());
        let mut tls = BTreeMap::new();
        for (name, builder) in self.builders {
            tls.extend(builder.tls.clone().map(|host| (name.clone(), host)));
            owner_of.insert(name.clone(), builder.tenants.owner().to_owned());
            if builder.from_to_www.is_some()
                && let Some((other, server)) = server_builder::counterpart(&name, self.globals)
            {
                counterparts.insert(other, (server, builder.tenants.owner().to_owned()));
            }
            let finished = builder.finish(&name, self.fallback, self.globals, &mut self.reports);
            // Not `append`: that makes the whole map anew, for each host.
            owners.extend(finished.owners);
            error_services.extend(finished.error_services);
            servers.insert(name, finished.server);
        }
        let aliases = self.aliases.add_to(&mut servers, &mut self.reports);
        for (name, (server, owner)) in counterparts {
            if !aliases.contains(&name) && !servers.contains_key(&name) {
                servers.insert(name.clone(), server);
                owner_of.insert(name, owner);
            }
        }
        let mut tls = certificates::by_name(tls, &servers, self.tracker);
        certificates::set_apart(&mut tls, &servers, &owner_of, self.wildcards);
        let Assembly {
            uses,
            secrets,
            reports,
            ..
        } = self;
        Assembled {
            servers,
            owners,
            error_services,
            tls,
            passthrough,
            backend_refs: uses.backend_refs,
            canary_candidates,
            secrets,
            reports,
        }
    }
}
