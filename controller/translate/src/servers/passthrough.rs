//! Hosts whose TLS ends at the pods: `ssl-passthrough`.
//!
//! As in ingress-nginx, connections go to the Service of the path `/`, whatever other paths and annotations say, and plain http
//! is served as ever. Other than there, only an Ingress of the host's own namespace turns it on, and the path `/` must be of that
//! namespace, too.

use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroU32};

use sluice_ir::{BackendId, Destination, Hostname, IpAccess, ReasonCode, ServerName, Transport};
use sluice_syntax::path::PathType;
use sluice_translate_engine::{
    BackendRef, BackendRefs, BackendSettings, ObjectRef, Report, Reporter, Severity, Traffic,
};

use super::Assembly;
use super::path_rule::{IngressContext, PathRule};
use super::server_builder::ServerBuilder;
use crate::annotations::Annotations;

const FIELD: &str = "annotation ssl-passthrough";
const ENDS_HERE: &str = "TLS of this host ends at the data plane";

impl Assembly<'_> {
    /// Notes that an Ingress asks for it.
    pub(super) fn apply_passthrough(&mut self, name: &ServerName, context: &IngressContext) {
        if !context.annotations.host.passthrough {
            return;
        }
        if !name.is_exact() {
            let reason = format!(
                "expected a host without a wildcard, got {:?}",
                name.to_string()
            );
            self.report(&context.object).warn_unchanged(
                ReasonCode::Unsupported,
                FIELD,
                reason,
                ENDS_HERE,
            );
            return;
        }
        self.builders
            .entry(name.clone())
            .or_default()
            .passthrough
            .push(context.object.clone());
    }

    /// Backends of hosts with TLS passthrough.
    pub(super) fn passthrough(&mut self) -> BTreeMap<Hostname, BackendId> {
        let Assembly {
            builders,
            backend_refs,
            reports,
            globals,
            ..
        } = self;
        // A loop cannot be seen in what is passed through.
        let most = NonZeroU32::new(globals.streams.connections);
        let usual = &Transport {
            max_connections: most,
            ..globals.upstream.transport.clone()
        };
        let passed: Vec<_> = builders
            .iter()
            .filter(|(_, builder)| !builder.passthrough.is_empty())
            .collect();
        let mut first_refs = FirstRefs::new();
        if !passed.is_empty() {
            for (_, reference) in backend_refs.refs() {
                first_refs
                    .entry((reference.id.clone(), reference.site.object.clone()))
                    .or_insert_with(|| reference.clone());
            }
        }
        let hosts = passed.into_iter();
        hosts
            .filter_map(|(name, builder)| {
                upstream(
                    name,
                    builder,
                    (&mut *backend_refs, usual, &first_refs),
                    reports,
                )
            })
            .collect()
    }
}

/// The first reference to each backend by each object.
type FirstRefs = BTreeMap<(BackendId, ObjectRef), BackendRef>;

/// The backend that the TLS connections of a host are passed to, if they are.
fn upstream(
    name: &ServerName,
    builder: &ServerBuilder,
    (backend_refs, transport, first_refs): (&mut BackendRefs, &Transport, &FirstRefs),
    reports: &mut Vec<Report>,
) -> Option<(Hostname, BackendId)> {
    let ServerName::Exact(host) = name else {
        return None;
    };
    if builder.passthrough.is_empty() {
        return None;
    }
    let root = builder
        .paths
        .rule("/", PathType::Prefix)
        .or_else(|| builder.paths.rule("/", PathType::Exact));
    let Some((rule, id)) = root
        .or(builder.default.as_ref())
        .and_then(|rule| Some((rule, leads(rule)?)))
    else {
        let reason = format!(
            "expected a path / of {host} that leads to a Service, got none",
            host = host.as_str()
        );
        for object in &builder.passthrough {
            Reporter::new(object.clone(), reports).warn_unchanged(
                ReasonCode::InvalidRef,
                FIELD,
                reason.clone(),
                ENDS_HERE,
            );
        }
        return None;
    };
    let owner = &rule.owner;
    let is_owner = |object: &&ObjectRef| object.key.namespace == owner.key.namespace;
    let (owners, foreign): (Vec<_>, Vec<_>) = builder.passthrough.iter().partition(is_owner);
    for object in foreign {
        let host = host.as_str();
        let reason = format!("path / of {host} belongs to {owner}, of another namespace");
        Reporter::new(object.clone(), reports).report(
            ReasonCode::Conflicted,
            Severity::Warning,
            FIELD,
            reason,
            "annotation ignored",
        );
    }
    if owners.is_empty() {
        return None;
    }
    report_bypassed_access_control(rule, reports);
    Some((
        host.clone(),
        plain(id, rule, (backend_refs, transport, first_refs))?,
    ))
}

/// Its owner should know, though it is so in ingress-nginx, too.
fn report_bypassed_access_control(rule: &PathRule, reports: &mut Vec<Report>) {
    let Annotations {
        policy, clients, ..
    } = rule.annotations.as_ref();
    if policy.ip_access != IpAccess::default()
        || policy.authentication.is_some()
        || clients.is_some()
    {
        let reason = "access control does not apply to TLS passthrough";
        let consequence = "it is enforced for plain http only";
        Reporter::new(rule.owner.clone(), reports).warn_unchanged(
            ReasonCode::Insecure,
            FIELD,
            reason,
            consequence,
        );
    }
}

fn leads(rule: &PathRule) -> Option<&BackendId> {
    rule.target.action.destination().map(Destination::primary)
}

/// Reference to the same endpoints, without TLS and HTTP of the data plane's own.
fn plain(
    id: &BackendId,
    rule: &PathRule,
    (backend_refs, transport, first_refs): (&mut BackendRefs, &Transport, &FirstRefs),
) -> Option<BackendId> {
    let backend_ref = first_refs.get(&(id.clone(), rule.owner.clone()))?.clone();
    let BackendRef {
        origin,
        balance,
        site,
        ..
    } = backend_ref;
    let settings = BackendSettings {
        transport,
        balance: &balance,
        attempts: NonZeroU8::MIN,
        traffic: Traffic::Connections,
    };
    Some(backend_refs.add(origin, settings, site))
}
