//! Paths that are closed because of another Ingress, whose access control cannot be enforced: their owners are told, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Action, ReasonCode, ServerName};
use sluice_syntax::shortened;
use sluice_translate_engine::{ObjectRef, Report, Reporter, Severity};

use super::path_rule::{IngressContext, Origin, PathRule, RouteTarget};
use super::server_builder::ServerBuilder;
use super::server_snippet::NamespaceSnippet;
use super::snippet_locations::LocationRule;
use crate::annotations::Reach;

const CONSEQUENCE: &str = "affected paths answer 503";

/// Reason why paths are closed: the Ingress at fault, and its field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closing {
    object: ObjectRef,
    field: String,
}

impl Closing {
    pub(super) fn new(object: &ObjectRef, field: impl Into<String>) -> Self {
        Closing {
            object: object.clone(),
            field: field.into(),
        }
    }

    /// Tells the owner of a path, unless the fault is its own. `which`: the paths that are closed.
    pub(super) fn report(
        &self,
        (owner, path_field): (&ObjectRef, &str),
        which: &str,
        reports: &mut Vec<Report>,
    ) {
        let Closing { object, field } = self;
        if owner == object {
            return;
        }
        let reason = format!(
            "access control of {object} ({field}) cannot be enforced, which closes {which}"
        );
        Reporter::new(owner.clone(), reports).report(
            ReasonCode::Conflicted,
            Severity::Error,
            path_field,
            reason,
            CONSEQUENCE,
        );
    }

    /// The same where everything below a path is closed.
    pub(super) fn report_below(
        &self,
        owned: (&ObjectRef, &str),
        path: &str,
        reports: &mut Vec<Report>,
    ) {
        let which = format!("everything below {:?}", shortened(path));
        self.report(owned, &which, reports);
    }
}

/// Paths that begin so are closed.
#[derive(Debug, Default)]
pub(super) struct ClosedBeginnings(BTreeMap<String, Closing>);

impl ClosedBeginnings {
    /// None that is kept begins with another.
    pub(super) fn insert(&mut self, beginning: &str, closing: Closing) {
        if self.find(beginning).is_some() {
            return;
        }
        let beginning = beginning.to_ascii_lowercase();
        self.0.retain(|other, _| !other.starts_with(&beginning));
        self.0.insert(beginning, closing);
    }

    /// The beginning that closes a path. Between it and the path is none in the order of texts.
    pub(super) fn find(&self, path: &str) -> Option<(&str, &Closing)> {
        let path = path.to_ascii_lowercase();
        let (beginning, closing) = self.0.range(..=path.clone()).next_back()?;
        path.starts_with(beginning)
            .then_some((beginning.as_str(), closing))
    }
}

/// Namespaces of which nothing on a host is let through. Of two reasons the first is told.
#[derive(Debug, Default)]
pub(super) struct ClosedNamespaces {
    /// All of them, and requests that no Ingress takes.
    all: Option<Closing>,
    some: BTreeMap<Arc<str>, Closing>,
}

impl ClosedNamespaces {
    pub(super) fn insert(&mut self, namespace: &Arc<str>, closing: Closing) {
        self.some.entry(Arc::clone(namespace)).or_insert(closing);
    }

    pub(super) fn contains(&self, namespace: &str) -> bool {
        self.are_all() || self.some.contains_key(namespace)
    }

    pub(super) fn are_all(&self) -> bool {
        self.all.is_some()
    }

    /// The reason why nothing of a namespace is let through, and the paths that are closed for it.
    fn of(&self, namespace: &str, name: &ServerName) -> Option<(&Closing, String)> {
        let of_all = self.all.as_ref().map(|closing| (closing, None));
        let of_namespace = || Some((self.some.get(namespace)?, Some(namespace)));
        let (closing, namespace) = of_all.or_else(of_namespace)?;
        Some((closing, paths_of(namespace, name)))
    }
}

/// All paths of a host, or those that one namespace has there.
pub(super) fn paths_of(namespace: Option<&str>, name: &ServerName) -> String {
    let host = match name {
        ServerName::CatchAll => "hosts that no rule names".to_owned(),
        ServerName::Exact(_) | ServerName::Wildcard(_) => format!("host {name}"),
    };
    match namespace {
        None => format!("all paths of {host}"),
        Some(namespace) => format!("all paths of namespace {namespace} on {host}"),
    }
}

impl ServerBuilder {
    /// Lets nothing through to what an Ingress was to guard and does not: for the host as a whole only its owner says that.
    pub(super) fn close(&mut self, context: &IngressContext, reach: Reach, field: &str) {
        let closing = Closing::new(&context.object, field);
        let namespace = &context.object.key.namespace;
        if reach == Reach::Host && self.tenants.owner() == &**namespace {
            self.closed.all.get_or_insert(closing);
        } else {
            self.closed.insert(namespace, closing);
        }
    }

    /// With nothing let through to what is closed.
    pub(super) fn without_closed(mut self, name: &ServerName, reports: &mut Vec<Report>) -> Self {
        let ServerBuilder {
            paths,
            default,
            unmatched,
            snippets,
            closed,
            ..
        } = &mut self;
        let rules = paths.iter_mut().chain(default).chain(unmatched);
        let locations = snippets.values_mut();
        let locations = locations.flat_map(NamespaceSnippet::locations_mut);
        let all = rules.chain(locations.map(LocationRule::rule_mut));
        deny(all, closed, name, reports);
        self
    }
}

/// Each Ingress is told once.
fn deny<'a>(
    rules: impl Iterator<Item = &'a mut PathRule>,
    closed: &ClosedNamespaces,
    name: &ServerName,
    reports: &mut Vec<Report>,
) {
    let mut told = BTreeSet::new();
    for rule in rules {
        let Some((closing, which)) = closed.of(&rule.owner.key.namespace, name) else {
            continue;
        };
        let is_news = rule.target.action != Action::Denied && rule.origin != Origin::ConfigMap;
        if is_news && told.insert(rule.owner.clone()) {
            closing.report(rule.owned(), &which, reports);
        }
        rule.target = RouteTarget::from_action(Action::Denied);
    }
}
