//! Paths that are closed because of another Ingress, whose access control cannot be enforced: their owners are told, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Action, ReasonCode, ServerName};
use sluice_syntax::shortened;
use sluice_translate_engine::{ObjectRef, Report, Reporter, Severity};

use super::path_rule::{IngressContext, PathRule, RouteTarget};
use super::server_builder::ServerBuilder;

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

/// Namespaces of which nothing on a host is let through.
pub(super) type ClosedNamespaces = BTreeMap<Arc<str>, Closing>;

impl ServerBuilder {
    /// Lets nothing through to what the namespace of an Ingress has on the host.
    pub(super) fn close_namespace(&mut self, context: &IngressContext, field: &str) {
        let namespace = context.object.key.namespace.clone();
        let closing = || Closing::new(&context.object, field);
        self.closed.entry(namespace).or_insert_with(closing);
    }
}

/// Lets nothing through to the rules of these namespaces. Each Ingress is told once.
pub(super) fn deny<'a>(
    rules: impl Iterator<Item = &'a mut PathRule>,
    closed: &ClosedNamespaces,
    name: &ServerName,
    reports: &mut Vec<Report>,
) {
    let mut told = BTreeSet::new();
    for rule in rules {
        let namespace = &rule.owner.key.namespace;
        let Some(closing) = closed.get(namespace) else {
            continue;
        };
        if rule.target.action != Action::Denied && told.insert(rule.owner.clone()) {
            let which = format!("all paths of namespace {namespace} on host {name}");
            closing.report(rule.owned(), &which, reports);
        }
        rule.target = RouteTarget::from_action(Action::Denied);
    }
}
