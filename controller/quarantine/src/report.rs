//! Reports to the owners of rejected parts.

use std::collections::BTreeSet;

use sluice_ir::{ReasonCode, SecretId, ServerName};
use sluice_translate::{Kind, ObjectKey, ObjectRef, Report, Severity, Snapshot, ids};
use sluice_xds::{DEFAULT_CERTIFICATE_FOR, ResourceType};
use sluice_xds_server::Nack;

use super::{Held, Part, Quarantine, Reason};

/// Of what a data plane says.
const LONGEST: usize = 600;

impl Quarantine {
    /// Of everything that is held.
    pub fn reports(&self, snapshot: &Snapshot) -> Vec<Report> {
        self.held
            .iter()
            .flat_map(|(part, held)| reports(part, held, snapshot))
            .collect()
    }

    /// The Ingresses of which something is held.
    pub fn culprits(&self, snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
        self.held
            .keys()
            .flat_map(|part| owners(part, snapshot))
            .collect()
    }
}

fn reports(part: &Part, held: &Held, snapshot: &Snapshot) -> Vec<Report> {
    let what = match &part.owner {
        Some(_) => "its paths on this host",
        None => "all paths of this host",
    };
    let (reason, again) = match &held.reason {
        Reason::Refused(message) => (refused(message), AGAIN),
        Reason::Namespace(namespace) => (
            format!(
                "other objects of namespace {namespace} were refused; this one is held back until it has been tried by itself"
            ),
            "nothing has to be done for it",
        ),
    };
    let consequence = match &held.before {
        Some(_) => format!("what was accepted before is served, new paths answer 503; {again}"),
        None => format!("{what} answer 503; {again}"),
    };
    let report = |owner| {
        let field = format!("spec.rules of host {}", name(&part.host));
        Report::new(
            ingress(owner),
            ReasonCode::Rejected,
            Severity::Error,
            field,
            reason.clone(),
            consequence.clone(),
        )
    };
    owners(part, snapshot).into_iter().map(report).collect()
}

const AGAIN: &str = "change what is refused, and it is tried again";

fn refused(message: &str) -> String {
    let end = message.floor_char_boundary(LONGEST);
    let words: Vec<&str> = message
        .get(..end)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    format!("refused by the data plane: {}", words.join(" "))
}

fn name(host: &ServerName) -> String {
    match host {
        ServerName::CatchAll => "\"\"".to_owned(),
        host => host.to_string(),
    }
}

fn ingress(key: ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: Kind::Ingress,
        key,
    }
}

fn owners(part: &Part, snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    match &part.owner {
        Some(owner) => [owner.clone()].into(),
        None => {
            let server = snapshot.config().servers.get(&part.host);
            let ids = server
                .into_iter()
                .flat_map(|server| &server.routes)
                .map(|route| &route.id);
            ids.filter_map(|id| snapshot.owner(id)).cloned().collect()
        }
    }
}

/// Of resources that Envoy refuses one by one: it keeps what it has of them, and everything else is as new as can be.
pub fn of_resources(refusals: &[Nack], snapshot: &Snapshot) -> Vec<Report> {
    refusals
        .iter()
        .flat_map(|refusal| of_resource(refusal, snapshot))
        .collect()
}

fn of_resource(refusal: &Nack, snapshot: &Snapshot) -> Vec<Report> {
    let name = &*refusal.name;
    let (objects, field) = match refusal.kind {
        ResourceType::Cluster | ResourceType::Endpoints => {
            (users(name, snapshot), format!("backend {name}"))
        }
        ResourceType::Secret => (secret(name), "data".to_owned()),
        // The operator's; the log has them.
        ResourceType::Listener
        | ResourceType::Extension
        | ResourceType::Route
        | ResourceType::Scope => {
            return Vec::new();
        }
    };
    let consequence = format!("what was accepted before is served, if there is something; {AGAIN}");
    let report = |object| {
        Report::new(
            object,
            ReasonCode::Rejected,
            Severity::Error,
            field.clone(),
            refused(&refusal.message),
            consequence.clone(),
        )
    };
    objects.into_iter().map(report).collect()
}

fn secret(name: &str) -> Vec<ObjectRef> {
    // A default certificate is refused for the authorities that it is beside.
    let name = name.strip_prefix(DEFAULT_CERTIFICATE_FOR).unwrap_or(name);
    let key = ids::secret_of(&SecretId::new(name));
    let object = key.map(|key| ObjectRef {
        kind: Kind::Secret,
        key,
    });
    object.into_iter().collect()
}

/// The Ingresses that lead to a backend, whatever for.
fn users(backend: &str, snapshot: &Snapshot) -> Vec<ObjectRef> {
    let routes = snapshot.config().routes();
    let leading_there = routes.filter(|route| route.backends().any(|id| id.as_str() == backend));
    let owners: BTreeSet<&ObjectKey> = leading_there
        .filter_map(|route| snapshot.owner(&route.id))
        .collect();
    owners.into_iter().cloned().map(ingress).collect()
}
