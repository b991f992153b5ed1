//! Pods over TLS beside an Ingress with `proxy-ssl-secret`, which ingress-nginx applies to all paths of the host.

use std::collections::BTreeSet;

use sluice_ir::ReasonCode;
use sluice_translate_engine::{ObjectRef, Reporter, Severity};

use super::Assembly;
use super::path_rule::PathRule;
use super::server_builder::ServerBuilder;
use crate::annotations::ProxySslSecret;

/// Field of a sibling that its pods speak TLS by.
const FIELD: &str = "annotation backend-protocol";

/// Settings of the Secret that pods of siblings go without.
#[derive(Clone, Copy)]
struct Missing {
    code: ReasonCode,
    consequence: &'static str,
}

impl Assembly<'_> {
    /// Tells Ingresses of the same namespace what their pods would have got, unless the operator has chosen against it. A Secret of
    /// another namespace is nobody's business here.
    pub(super) fn report_siblings_without_tls(&mut self) {
        if self.globals.upstream.tls_of_own_paths {
            return;
        }
        let mut told: BTreeSet<ObjectRef> = BTreeSet::new();
        for (name, builder) in &self.builders {
            let Some((owner, missing)) = shared(builder) else {
                continue;
            };
            let siblings = builder.rules().filter(|rule| is_without(rule));
            for rule in siblings.filter(|rule| rule.owner.key.namespace == owner.key.namespace) {
                if !told.insert(rule.owner.clone()) {
                    continue;
                }
                let reason = format!(
                    "{owner} has proxy-ssl-secret on host {name}, which ingress-nginx applies to all paths of the host; here it is for its own: \
                     set it on this Ingress, too, or proxy-ssl-location-only in the ConfigMap"
                );
                Reporter::new(rule.owner.clone(), &mut self.reports).report(
                    missing.code,
                    Severity::Warning,
                    FIELD,
                    reason,
                    missing.consequence,
                );
            }
        }
    }
}

/// The Ingress whose Secret ingress-nginx takes: the first one that names authorities.
fn shared(builder: &ServerBuilder) -> Option<(&ObjectRef, Missing)> {
    let (owner, verifies, presents) =
        builder
            .rules()
            .find_map(|rule| match rule.annotations.backend.proxy_ssl_secret {
                ProxySslSecret::OfHosts { verifies, presents } => {
                    Some((&rule.owner, verifies, presents))
                }
                ProxySslSecret::Unset | ProxySslSecret::OfPaths => None,
            })?;
    let (code, consequence) = match (verifies, presents) {
        (true, true) => (
            ReasonCode::Insecure,
            "pods are not verified, and see no certificate",
        ),
        (true, false) => (ReasonCode::Insecure, "pods are not verified"),
        (false, true) => (ReasonCode::PartiallySupported, "pods see no certificate"),
        (false, false) => return None,
    };
    Some((owner, Missing { code, consequence }))
}

/// True if its pods are reached over TLS without a Secret.
fn is_without(rule: &PathRule) -> bool {
    let backend = &rule.annotations.backend;
    backend.proxy_ssl_secret == ProxySslSecret::Unset
        && (backend.transport.tls.is_some() || backend.for_https.is_some())
        && rule.target.action.destination().is_some()
}
