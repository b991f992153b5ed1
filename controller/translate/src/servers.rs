//! Hosts and paths: many Ingresses to one set of servers.
//!
//! Ingresses are read oldest first; the first to claim a path of a host has it. Every host that an Ingress names
//! exists, even without a path.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, Ingress, IngressBackend, IngressRule, IngressServiceBackend,
};
use sluice_ir::{Action, BackendId, Location, LocationId, PathMatch, Server, ServerName};

use crate::annotations::Annotations;
use crate::backends::{Port, Registry, Use};
use crate::claims::age;
use crate::class::{Classes, Verdict};
use crate::object::{is_dns_name, key_of, shortened};
use crate::report::Reporter;
use crate::{Kind, ObjectKey, ObjectRef, Options, Report, Resources, Severity, path};

/// More rules than this in one Ingress are refused: R5 of the security rules.
const MOST_RULES: usize = 1000;

/// The API server's own limit for the annotations of one object: keys and values together, in bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// A server while it grows.
#[derive(Debug, Default)]
struct Draft {
    paths: BTreeMap<PathMatch, Claim>,
    /// Where unmatched paths go; without one they are 404.
    default: Option<Claim>,
}

#[derive(Clone, Debug)]
struct Claim {
    action: Action,
    owner: ObjectRef,
}

/// Which Ingress each location is from. Those of flags and of the generated root are from none.
pub(crate) type Owners = BTreeMap<LocationId, ObjectKey>;

/// Collects the servers of one translation.
struct Assembly<'a> {
    drafts: BTreeMap<ServerName, Draft>,
    registry: &'a mut Registry,
    reports: &'a mut Vec<Report>,
    fallback: Option<BackendId>,
}

/// Builds the servers of these Ingresses, which are in the order in which they are read.
pub(crate) fn assemble<'a>(
    ingresses: impl IntoIterator<Item = &'a Ingress>,
    options: &Options,
    registry: &mut Registry,
    reports: &mut Vec<Report>,
) -> (BTreeMap<ServerName, Server>, Owners) {
    let fallback = default_backend(options, registry);
    let drafts = BTreeMap::from([(ServerName::CatchAll, Draft::default())]);
    let mut assembly = Assembly { drafts, registry, reports, fallback };
    for ingress in ingresses {
        assembly.add(ingress, options);
    }
    assembly.finish()
}

fn default_backend(options: &Options, registry: &mut Registry) -> Option<BackendId> {
    let service = options.default_backend_service.clone()?;
    let object = ObjectRef { kind: Kind::Service, key: service.clone() };
    Some(registry.use_of(service, Port::First, Use { object, field: "--default-backend-service".to_owned() }))
}

/// The Ingresses of our class and namespace, oldest first; of the same age by name, the last first.
pub(crate) fn ours<'a>(
    resources: &'a Resources,
    options: &Options,
    reports: &mut Vec<Report>,
) -> Vec<&'a Ingress> {
    let classes = Classes::of(resources, options);
    let mut ours = Vec::new();
    for (key, ingress) in &resources.ingresses {
        if options.watch_namespace.as_ref().is_some_and(|watched| *watched != key.namespace) {
            continue;
        }
        match classes.judge(ingress) {
            Verdict::Ours => ours.push(ingress.as_ref()),
            Verdict::Foreign { field, reason } => {
                let object = ObjectRef { kind: Kind::Ingress, key: key.clone() };
                Reporter::new(object, reports).say(Severity::Note, field, reason, "left to its controller");
            }
        }
    }
    ours.sort_by_cached_key(|ingress| age(ingress));
    ours
}

impl Assembly<'_> {
    fn add(&mut self, ingress: &Ingress, options: &Options) {
        let Some(spec) = &ingress.spec else { return };
        let object = ObjectRef { kind: Kind::Ingress, key: key_of(&ingress.metadata) };
        if options.disable_catch_all && spec.default_backend.is_some() {
            let reason = "expected no default backend (--disable-catch-all is on)";
            self.report(&object).say(Severity::Error, "spec.defaultBackend", reason, "Ingress not served");
            return;
        }
        let rules = spec.rules.as_deref().unwrap_or_default();
        if rules.len() > MOST_RULES {
            let reason = format!("expected at most {MOST_RULES} rules, got {}", rules.len());
            self.report(&object).say(Severity::Error, "spec.rules", reason, "Ingress not served");
            return;
        }
        let size = size_of_annotations(ingress);
        if size > MOST_ANNOTATIONS {
            // Something in there may guard access: what is not read is not served.
            let reason = format!("expected at most {MOST_ANNOTATIONS} bytes, got {size}");
            self.report(&object).say(Severity::Error, "metadata.annotations", reason, "Ingress not served");
            return;
        }
        if spec.tls.as_ref().is_some_and(|tls| !tls.is_empty()) {
            let reason = "expected no certificates of its own (they are not supported yet)";
            self.report(&object).say(Severity::Warning, "spec.tls", reason, "https presents the default one");
        }
        let annotations = Annotations::of(ingress, &mut self.report(&object));
        let default = spec
            .default_backend
            .as_ref()
            .and_then(|backend| self.action(backend, &object, "spec.defaultBackend".to_owned(), annotations))
            .map(|action| Claim { action, owner: object.clone() });
        if rules.is_empty() {
            self.catch_all(default.clone(), &object);
        }
        for (position, rule) in rules.iter().enumerate() {
            self.add_rule(rule, &format!("spec.rules[{position}]"), &object, annotations, default.as_ref());
        }
    }

    fn catch_all(&mut self, default: Option<Claim>, object: &ObjectRef) {
        let Some(claim) = default else { return };
        let draft = self.drafts.entry(ServerName::CatchAll).or_default();
        if draft.default.is_none() {
            draft.default = Some(claim);
        } else {
            let reason = "expected one default backend, got another of an older Ingress before";
            self.report(object).say(
                Severity::Warning,
                "spec.defaultBackend",
                reason,
                "default backend not used",
            );
        }
    }

    fn add_rule(
        &mut self,
        rule: &IngressRule,
        field: &str,
        object: &ObjectRef,
        annotations: Annotations,
        default: Option<&Claim>,
    ) {
        let host = rule.host.as_deref().unwrap_or_default();
        let Ok(name) = ServerName::parse(host) else {
            let reason = format!("expected a DNS name, got {:?}", shortened(host));
            self.report(object).say(Severity::Error, format!("{field}.host"), reason, "rule not served");
            return;
        };
        // The first Ingress of a host decides where its unmatched paths go.
        let fallback = default.cloned();
        if name != ServerName::CatchAll && !self.drafts.contains_key(&name) {
            self.drafts.insert(name.clone(), Draft { default: fallback, ..Draft::default() });
        }
        let paths = rule.http.as_ref().map(|http| http.paths.as_slice()).unwrap_or_default();
        if annotations.paths_unreadable {
            return;
        }
        for (position, path) in paths.iter().enumerate() {
            self.add_path(&name, path, &format!("{field}.http.paths[{position}]"), object, annotations);
        }
    }

    fn add_path(
        &mut self,
        name: &ServerName,
        path: &HTTPIngressPath,
        field: &str,
        object: &ObjectRef,
        annotations: Annotations,
    ) {
        let parsed = match path::parse(path.path.as_deref(), &path.path_type) {
            Ok(parsed) => parsed,
            Err(reason) => {
                self.report(object).say(Severity::Error, format!("{field}.path"), reason, "path not served");
                return;
            }
        };
        if let Some(claim) = self.drafts.get(name).and_then(|draft| draft.paths.get(&parsed)) {
            let reason = format!("expected a path of its own, got one that {} has had before", claim.owner);
            self.report(object).say(Severity::Warning, format!("{field}.path"), reason, "path not used");
            return;
        }
        if let Some(action) = self.action(&path.backend, object, format!("{field}.backend"), annotations) {
            let claim = Claim { action, owner: object.clone() };
            self.drafts.entry(name.clone()).or_default().paths.insert(parsed, claim);
        }
    }

    fn action(
        &mut self,
        backend: &IngressBackend,
        object: &ObjectRef,
        field: String,
        annotations: Annotations,
    ) -> Option<Action> {
        if annotations.denied {
            return Some(Action::Denied);
        }
        let Some(service) = &backend.service else {
            let reason = "expected a service, got a resource or nothing";
            self.report(object).say(Severity::Error, field, reason, "path not served");
            return None;
        };
        if !is_dns_name(&service.name) {
            let reason = format!("expected the name of a Service, got {:?}", shortened(&service.name));
            self.report(object).say(
                Severity::Error,
                format!("{field}.service.name"),
                reason,
                "path not served",
            );
            return None;
        }
        let Some(port) = port(service) else {
            let reason = "expected a number or a name, got neither";
            self.report(object).say(
                Severity::Error,
                format!("{field}.service.port"),
                reason,
                "path not served",
            );
            return None;
        };
        let key = ObjectKey::new(object.key.namespace.clone(), service.name.clone());
        let usage = Use { object: object.clone(), field: format!("{field}.service") };
        Some(Action::Forward(self.registry.use_of(key, port, usage)))
    }

    fn report(&mut self, object: &ObjectRef) -> Reporter<'_> {
        Reporter::new(object.clone(), self.reports)
    }

    fn finish(self) -> (BTreeMap<ServerName, Server>, Owners) {
        let fallback =
            self.fallback.map(|backend| Claim { action: Action::Forward(backend), owner: nobody() });
        let (mut servers, mut owners) = (BTreeMap::new(), Owners::new());
        for (name, draft) in self.drafts {
            let server = draft.finish(&name, fallback.as_ref(), &mut owners);
            servers.insert(name, server);
        }
        (servers, owners)
    }
}

fn size_of_annotations(ingress: &Ingress) -> usize {
    ingress.metadata.annotations.iter().flatten().map(|(key, value)| key.len() + value.len()).sum()
}

fn port(service: &IngressServiceBackend) -> Option<Port> {
    let port = service.port.as_ref()?;
    match (port.number, port.name.as_deref()) {
        (Some(number), _) => Some(Port::Number(number)),
        (None, Some(name)) if is_port_name(name) => Some(Port::Name(name.to_owned())),
        _ => None,
    }
}

/// A port name becomes part of a backend's id.
fn is_port_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(allowed)
}

impl Draft {
    fn finish(mut self, name: &ServerName, fallback: Option<&Claim>, owners: &mut Owners) -> Server {
        self.redirect_bare_forms();
        if let Some(claim) = self.default.as_ref().or(fallback) {
            self.paths.entry(PathMatch::Prefix("/".to_owned())).or_insert_with(|| claim.clone());
        }
        let mut locations = Vec::with_capacity(self.paths.len());
        for (path, claim) in self.paths {
            let id = LocationId::new(name, &path);
            if claim.owner.kind == Kind::Ingress {
                owners.insert(id.clone(), claim.owner.key);
            }
            locations.push(Location { id, path, action: claim.action });
        }
        locations.sort_by(|a, b| precedence(&a.path).cmp(&precedence(&b.path)));
        Server { locations }
    }

    /// A path with a trailing slash takes its bare form along, as nginx does: `/docs` leads to `/docs/`.
    fn redirect_bare_forms(&mut self) {
        let slashed = self.paths.iter().filter_map(|(path, claim)| {
            let (PathMatch::Exact(path) | PathMatch::Prefix(path)) = path;
            let bare = path.strip_suffix('/').filter(|bare| !bare.is_empty())?;
            Some((bare.to_owned(), path.clone(), claim.owner.clone()))
        });
        for (bare, path, owner) in slashed.collect::<Vec<_>>() {
            let taken = self.paths.contains_key(&PathMatch::Prefix(bare.clone()));
            if !taken {
                let claim = Claim { action: Action::MovedPermanently { path }, owner };
                self.paths.entry(PathMatch::Exact(bare)).or_insert(claim);
            }
        }
    }
}

/// The owner of what no Ingress asked for by itself.
fn nobody() -> ObjectRef {
    ObjectRef { kind: Kind::Service, key: ObjectKey::default() }
}

/// Exact paths first, then prefixes, the longest first.
fn precedence(path: &PathMatch) -> (bool, Reverse<usize>, &str) {
    match path {
        PathMatch::Exact(path) => (false, Reverse(path.len()), path),
        PathMatch::Prefix(path) => (true, Reverse(path.len()), path),
    }
}
