//! The role that pods set for themselves: their share of the requests, and if they are a backup.
//!
//! Only pods with an annotation of ours are kept. A cluster may hold a hundred thousand others.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use sluice_ir::ReasonCode;
use sluice_syntax::{shortened, value};

use crate::object_names::HasNames;
use crate::report::Reporter;
use crate::slices::Endpoint;
use crate::{Kind, ObjectKey, ObjectRef, Report, Severity};

/// The annotation of a pod with its weight.
const WEIGHT: &str = "sluice.dev/weight";
/// The annotation of a pod that is a backup.
const BACKUP: &str = "sluice.dev/backup";
/// The largest: a ring of hashes has 160 points for each unit of the mean, and shares beyond this are a mistake.
const MAX_WEIGHT: u16 = 1000;

/// A Pod without what runs in it: a watch asks for its metadata only.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Pod {
    /// Its name and annotations.
    pub metadata: ObjectMeta,
}

impl HasNames for Pod {
    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    fn name(&self) -> Option<&str> {
        self.metadata.name.as_deref()
    }

    fn set_namespace(&mut self, namespace: String) {
        self.metadata.namespace = Some(namespace);
    }
}

/// Share of the traffic of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// So much, relative to the others.
    Weight(NonZeroU16),
    /// Nothing new; the sessions that it has stay with it.
    Sessions,
}

/// Role of a pod among the endpoints of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) share: Share,
    /// It gets requests only when no other endpoint may be chosen.
    pub(crate) backup: bool,
}

/// The pods that say their role, and what they wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pods {
    written: BTreeMap<ObjectKey, Written>,
}

/// The annotations of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Written {
    weight: Option<String>,
    backup: Option<String>,
}

impl Pods {
    /// `true`: its role is another one now.
    pub(crate) fn apply(&mut self, key: &ObjectKey, pod: &Pod) -> bool {
        let annotation = |name| pod.metadata.annotations.as_ref()?.get(name).cloned();
        let written = Written {
            weight: annotation(WEIGHT),
            backup: annotation(BACKUP),
        };
        if written == Written::default() {
            return self.delete(key);
        }
        self.written.insert(key.clone(), written.clone()) != Some(written)
    }

    /// `true`: it had said its role.
    pub(crate) fn delete(&mut self, key: &ObjectKey) -> bool {
        self.written.remove(key).is_some()
    }

    /// The role of the pod behind an endpoint of a slice in this namespace.
    pub(crate) fn role(
        &self,
        endpoint: &Endpoint,
        namespace: &str,
        reports: &mut Vec<Report>,
    ) -> Role {
        let Some(key) = pod_of(endpoint, namespace) else {
            return Role::DEFAULT;
        };
        let Some(Written { weight, backup }) = self.written.get(&key) else {
            return Role::DEFAULT;
        };
        let kind = Kind::Pod;
        let mut reporter = Reporter::new(ObjectRef { kind, key }, reports);
        let mut invalid = |annotation, expected: &str, text: &str, consequence| {
            reporter.report(
                ReasonCode::InvalidValue,
                Severity::Warning,
                format!("annotation {annotation}"),
                format!("expected {expected}, got {:?}", shortened(text)),
                consequence,
            );
        };
        let mut role = Role::DEFAULT;
        if let Some(text) = weight {
            match Share::parse(text) {
                Ok(share) => role.share = share,
                Err(expected) => invalid(WEIGHT, &expected, text, "weight 1 used"),
            }
        }
        if let Some(text) = backup {
            match value::bool(text.trim()) {
                Ok(backup) => role.backup = backup,
                Err(expected) => invalid(BACKUP, &expected, text, "it is no backup"),
            }
        }
        role
    }
}

impl Role {
    const DEFAULT: Role = Role {
        share: Share::Weight(NonZeroU16::MIN),
        backup: false,
    };
}

impl Share {
    fn parse(text: &str) -> value::Parsed<Self> {
        let weight: Option<u16> = text.trim().parse().ok();
        match weight.filter(|weight| *weight <= MAX_WEIGHT) {
            Some(weight) => Ok(NonZeroU16::new(weight).map_or(Share::Sessions, Share::Weight)),
            None => Err(format!("an integer from 0 to {MAX_WEIGHT}").into()),
        }
    }
}

/// The pod that an endpoint of this namespace is, if it is one.
pub(crate) fn pod_of(endpoint: &Endpoint, namespace: &str) -> Option<ObjectKey> {
    endpoint
        .pod
        .as_deref()
        .map(|name| ObjectKey::new(namespace, name))
}

/// The Services of these endpoints that a pod stands behind.
pub(crate) fn services_of<'a>(
    pod: &ObjectKey,
    slices: impl Iterator<Item = (&'a ObjectKey, &'a [Endpoint])>,
) -> BTreeSet<ObjectKey> {
    let behind = |endpoints: &[Endpoint]| {
        endpoints
            .iter()
            .any(|endpoint| endpoint.pod.as_deref() == Some(&pod.name))
    };
    slices
        .filter(|(_, endpoints)| behind(endpoints))
        .map(|(service, _)| service.clone())
        .collect()
}
