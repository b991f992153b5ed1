//! One Ingress: its rules, hosts and TLS entries.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::{Ingress, IngressRule, IngressSpec};
use sluice_ir::ServerName;
use sluice_syntax::shortened;
use sluice_translate_engine::{Kind, ObjectRef, Reporter, Seniority, Severity, key_of};

use super::path_rule::{IngressContext, PathRule, taken};
use super::server_builder::{self, ServerBuilder};
use super::tls_entries::TlsEntries;
use super::unfit::{LOST_GUARD, Unfit, unfit, without_annotations};
use super::{Assembly, MOST_RULES, MOST_TLS};
use crate::annotations::{Annotations, Context};

impl Assembly<'_> {
    pub(super) fn add(&mut self, seniority: Seniority, ingress: &Ingress) {
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
        if is_lost {
            self.report_lost(&object, lost, guards);
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
        self.add_rules(spec, &context);
    }

    fn add_rules(&mut self, spec: &IngressSpec, context: &IngressContext) {
        let default = spec.default_backend.as_ref().and_then(|backend| {
            let field = "spec.defaultBackend";
            self.route_target(backend, context, field)
                .map(|target| PathRule::root(target, context, field.to_owned()))
        });
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.is_empty() && !self.options.disable_catch_all {
            self.take_catch_all(default.clone(), context);
        }
        let read = rules.len().min(MOST_RULES);
        for (position, rule) in rules[..read].iter().enumerate() {
            self.add_rule(
                rule,
                &format!("spec.rules[{position}]"),
                context,
                default.as_ref(),
            );
        }
        rules[read..]
            .iter()
            .for_each(|rule| self.close_host(rule, context));
    }

    /// Says why an Ingress is not served, and whether its paths are closed.
    fn report_lost(&mut self, object: &ObjectRef, lost: Option<Unfit>, guards: bool) {
        let (field, reason) = match lost {
            Some(Unfit { field, reason, .. }) => (field, reason),
            // The word itself is reported with its annotation.
            None if !guards => return,
            None => (
                "metadata.annotations",
                "an annotation contains a word of annotation-value-word-blocklist".into(),
            ),
        };
        let consequence = if guards {
            LOST_GUARD
        } else {
            "Ingress not served"
        };
        self.report(object)
            .say(Severity::Error, field, reason, consequence);
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
}
