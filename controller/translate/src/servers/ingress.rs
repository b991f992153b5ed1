//! One Ingress: its rules, hosts and TLS entries.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::{IngressRule, IngressSpec};
use sluice_ir::{ConnectionSettings, ReasonCode, ServerName};
use sluice_syntax::shortened;
use sluice_translate_engine::{Ingress, Kind, ObjectRef, Reporter, Seniority, Severity};

use super::by_service;
use super::path_rule::{IngressContext, PathRule, already_claimed};
use super::server_builder::{self, ServerBuilder};
use super::server_snippet::FIELD as SERVER_SNIPPET;
use super::tls_entries::TlsEntries;
use super::unservable::{NOT_SERVED_AND_CLOSED, Unservable, unservable, without_annotations};
use super::{Assembly, MAX_RULES, MAX_TLS_ENTRIES};
use crate::annotations::{Annotations, Context, HostClosing, is_canary};

pub(super) const DEFAULT_BACKEND: &str = "spec.defaultBackend";

impl Assembly<'_> {
    pub(super) fn add(&mut self, seniority: Seniority, ingress: &Ingress) {
        let Some(spec) = &ingress.spec else { return };
        let object = ObjectRef {
            kind: Kind::Ingress,
            key: ingress.key(),
        };
        let unservable = unservable(ingress, self.options);
        // Annotations of this size are not read, and there may be access control among them.
        let unread = unservable
            .as_ref()
            .filter(|unservable| unservable.may_restrict_access)
            .map(|_| without_annotations(ingress));
        let read = unread.as_ref().unwrap_or(ingress);
        let by_service = by_service::ingresses(read);
        let first = by_service.first().map_or(read, |(_, it)| it);
        let before = self.reports.len();
        let mut annotations = self.annotations(first, &object);
        if unread.is_some() {
            let prefix = &self.options.annotations_prefix;
            annotations.host.closed = HostClosing::of_unread(ingress, prefix);
        }
        let is_unservable = unservable.is_some() || annotations.refused;
        let is_known = unread.is_none() && by_service.is_empty();
        // A canary makes no path, so there is none to close.
        let is_canary =
            annotations.canary.is_some() || is_canary(ingress, &self.options.annotations_prefix);
        let restricts = !is_canary && (annotations.restricts_clients() || !is_known);
        if is_unservable {
            self.report_unservable(&object, unservable, restricts);
        }
        if is_unservable && !restricts {
            return;
        }
        let tls = self.tls_entries(spec, &object);
        self.paths = 0;
        self.patterns.clear();
        self.pattern_cost = 0;
        let mut context = IngressContext {
            object,
            seniority,
            annotations: Arc::new(annotations),
            by_service: Arc::default(),
            tls,
        };
        if is_unservable {
            context = context.closed();
        } else {
            self.add_mirror(&mut context);
            self.add_ext_auth_backend(&context.object, &mut context.annotations);
        }
        if let Some(rules) = context.annotations.canary.clone() {
            self.add_canary(ingress, &context, &rules);
            return;
        }
        if !is_unservable {
            self.read_by_service(&by_service, &mut context, before);
        }
        self.add_rules(spec, &context);
    }

    fn annotations(&mut self, ingress: &Ingress, object: &ObjectRef) -> Annotations {
        let reporter = Reporter::new(object.clone(), &mut self.reports);
        let context = Context {
            tracker: self.tracker,
            options: self.options,
            globals: self.globals,
        };
        Annotations::read(ingress, context, &mut self.secrets, reporter)
    }

    fn add_rules(&mut self, spec: &IngressSpec, context: &IngressContext) {
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.is_empty() {
            return self.claim_catch_all(spec, context);
        }
        let default = self.default_rule(spec, context);
        let read = rules.len().min(MAX_RULES);
        for (position, rule) in rules[..read].iter().enumerate() {
            self.add_rule(
                rule,
                &format!("spec.rules[{position}]"),
                context,
                default.as_ref(),
            );
        }
        for (position, rule) in rules.iter().enumerate().skip(read) {
            self.close_host(rule, &format!("spec.rules[{position}]"), context);
        }
    }

    fn default_rule(&mut self, spec: &IngressSpec, context: &IngressContext) -> Option<PathRule> {
        let backend = spec.default_backend.as_ref()?;
        let field = DEFAULT_BACKEND.to_owned();
        let context = context.for_backend(backend);
        let target = self.route_target(backend, &context, &field)?;
        Some(PathRule::root(target, &context, field))
    }

    /// Reports why an Ingress is not served, and whether its paths are closed.
    fn report_unservable(
        &mut self,
        object: &ObjectRef,
        unservable: Option<Unservable>,
        restricts: bool,
    ) {
        let (code, field, reason) = match unservable {
            Some(Unservable {
                code,
                field,
                reason,
                ..
            }) => (code, field, reason),
            // The word itself is reported with its annotation.
            None if !restricts => return,
            None => (
                ReasonCode::NotPermitted,
                "metadata.annotations",
                "an annotation contains a word of annotation-value-word-blocklist".into(),
            ),
        };
        let consequence = if restricts {
            NOT_SERVED_AND_CLOSED
        } else {
            "Ingress not served"
        };
        self.report(object)
            .report(code, Severity::Error, field, reason, consequence);
    }

    fn tls_entries(&mut self, spec: &IngressSpec, object: &ObjectRef) -> Arc<TlsEntries> {
        let entries = spec.tls.as_deref().unwrap_or_default();
        if entries.len() > MAX_TLS_ENTRIES {
            let reason = format!(
                "expected at most {MAX_TLS_ENTRIES} entries, got {}",
                entries.len()
            );
            let consequence = "this entry and those after it are not used";
            self.report(object).report(
                ReasonCode::LimitExceeded,
                Severity::Error,
                format!("spec.tls[{MAX_TLS_ENTRIES}]"),
                reason,
                consequence,
            );
        }
        Arc::new(TlsEntries::new(entries))
    }

    /// An Ingress without rules guards as one with a rule without a host does.
    fn claim_catch_all(&mut self, spec: &IngressSpec, context: &IngressContext) {
        if self.options.disable_catch_all {
            return;
        }
        // Nobody is asked for a certificate there.
        let closed = context.annotations.clients.is_some();
        let closed = closed.then(|| context.closed());
        let Some(default) = self.default_rule(spec, closed.as_ref().unwrap_or(context)) else {
            return;
        };
        let name = ServerName::CatchAll;
        self.apply_guards(&name, context);
        self.apply_client_certificates(&name, context);
        self.apply_connections(&name, context);
        let builder = self.builders.entry(name).or_default();
        match &builder.default {
            None => builder.default = Some(default),
            Some(rule) => {
                let reason = already_claimed("default backend", &rule.owner, &context.object);
                self.report(&context.object).warn_unchanged(
                    ReasonCode::Conflicted,
                    DEFAULT_BACKEND,
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
            self.report(&context.object).report(
                ReasonCode::InvalidValue,
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
            let context = context.for_unmatched();
            let target = self.unmatched_target(&context);
            let unmatched = PathRule::root(target, &context, format!("{field}.host"));
            self.builders.insert(
                name.clone(),
                ServerBuilder {
                    default: default.cloned(),
                    unmatched: Some(unmatched),
                    ..ServerBuilder::default()
                },
            );
        }
        self.apply_host_settings(&name, context);
        let is_honoured = self.apply_client_certificates(&name, context);
        let annotations = &context.annotations;
        if annotations.paths_unreadable && !annotations.restricts_access() && is_honoured {
            return;
        }
        let closed;
        let context = if is_honoured && !annotations.paths_unreadable {
            context
        } else {
            closed = context.closed();
            &closed
        };
        self.report_missing_paths(rule, field, context);
        let paths = self.paths_within_limit(rule, Some(&name), field, context);
        for (position, path) in paths.iter().enumerate() {
            self.add_path(
                &name,
                path,
                &format!("{field}.http.paths[{position}]"),
                &context.for_backend(&path.backend),
            );
        }
    }

    /// A rule that is not read, of an Ingress that guards: it is not known what it was meant to guard of its host.
    fn close_host(&mut self, rule: &IngressRule, field: &str, context: &IngressContext) {
        let Ok(name) = ServerName::parse(rule.host.as_deref().unwrap_or_default()) else {
            return;
        };
        let host_field = format!("{field}.host");
        if self.yield_reserved_name(&name, context, &host_field, "rule not served") {
            return;
        }
        self.add_namespace(&name, context);
        let builder = self.builders.entry(name).or_default();
        builder.close(context, context.annotations.reach(), "spec.rules");
    }

    /// Takes what the namespace of an Ingress guards beyond its paths, and closes what it guards and cannot.
    fn apply_guards(&mut self, name: &ServerName, context: &IngressContext) {
        self.add_namespace(name, context);
        if let Some(HostClosing { reach, field }) = &context.annotations.host.closed {
            let builder = self.builders.entry(name.clone()).or_default();
            builder.close(context, *reach, field);
        }
        self.apply_server_snippet(name, context);
    }

    /// Takes settings of the host as a whole; the first Ingress of the host's own namespace that sets one decides.
    fn apply_host_settings(&mut self, name: &ServerName, context: &IngressContext) {
        self.apply_guards(name, context);
        if self.is_foreign(name, context) {
            return self.report_foreign(name, context);
        }
        self.take_tls(name, context);
        self.apply_passthrough(name, context);
        self.apply_ciphers(name, context);
        self.apply_www_redirect(name, context);
        self.apply_aliases(name, context);
        self.apply_connections(name, context);
        let annotations = &context.annotations;
        let builder = self.builders.entry(name.clone()).or_default();
        if builder.app_root.is_none() {
            builder.app_root.clone_from(&annotations.host.app_root);
        }
        builder.prefer_server_ciphers = builder
            .prefer_server_ciphers
            .or(annotations.host.prefer_server_ciphers);
    }

    fn apply_connections(&mut self, name: &ServerName, context: &IngressContext) {
        let room = context.annotations.host.snippet.as_ref();
        let room = room.map_or_else(ConnectionSettings::default, |snippet| snippet.connections);
        // With that of the default server nginx reads requests for every host, until it knows which.
        let is_of_all = *name == ServerName::CatchAll && room != ConnectionSettings::default();
        let builder = self.builders.entry(name.clone()).or_default();
        if builder.connections == ConnectionSettings::default() && !is_of_all {
            builder.connections = room;
        }
        if is_of_all {
            self.report(&context.object).report(
                ReasonCode::Unsupported,
                Severity::Warning,
                SERVER_SNIPPET,
                "settings of connections (client_header_buffer_size, keepalive_timeout ...) of an Ingress without a host: nginx reads \
                 requests for all hosts with them; set them in the ConfigMap",
                "not used",
            );
        }
    }

    /// The name with `www.` leads to the one without, or the other way round.
    fn apply_www_redirect(&mut self, name: &ServerName, context: &IngressContext) {
        const FIELD: &str = "annotation from-to-www-redirect";
        if !context.annotations.host.from_to_www {
            return;
        }
        let Some(other) = server_builder::www_counterpart(name) else {
            return;
        };
        if !self.yield_reserved_name(&other, context, FIELD, "no redirect from the other name") {
            let builder = self.builders.entry(name.clone()).or_default();
            builder
                .from_to_www
                .get_or_insert_with(|| context.object.clone());
        }
    }
}
