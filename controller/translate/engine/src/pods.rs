//! Weights that pods set for themselves: their share of the requests.
//!
//! Only pods with the annotation are kept. A cluster may hold a hundred thousand others.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use sluice_ir::ReasonCode;
use sluice_syntax::shortened;

use crate::report::Reporter;
use crate::slices::Endpoint;
use crate::{Kind, ObjectKey, ObjectRef, Report, Severity};

/// The annotation of a pod with its weight.
const WEIGHT: &str = "sluice.dev/weight";
/// The largest: a ring of hashes has 160 points for each unit of the mean, and shares beyond this are a mistake.
const MAX_WEIGHT: u16 = 1000;

/// A Pod without what runs in it: a watch asks for its metadata only.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Pod {
    /// Its name and annotations.
    pub metadata: ObjectMeta,
}

/// Share of the traffic of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// So much, relative to the others.
    Weight(NonZeroU16),
    /// Nothing new; the sessions that it has stay with it.
    Sessions,
}

/// The pods that say their weight, and what they wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pods {
    weights: BTreeMap<ObjectKey, String>,
}

impl Pods {
    /// `true`: its weight is another one now.
    pub(crate) fn apply(&mut self, key: &ObjectKey, pod: &Pod) -> bool {
        let annotations = pod.metadata.annotations.as_ref();
        match annotations.and_then(|annotations| annotations.get(WEIGHT)) {
            Some(weight) => {
                self.weights.insert(key.clone(), weight.clone()).as_ref() != Some(weight)
            }
            None => self.delete(key),
        }
    }

    /// `true`: it had a weight.
    pub(crate) fn delete(&mut self, key: &ObjectKey) -> bool {
        self.weights.remove(key).is_some()
    }

    /// The share of the pod behind an endpoint of a slice in this namespace.
    pub(crate) fn share(
        &self,
        endpoint: &Endpoint,
        namespace: &str,
        reports: &mut Vec<Report>,
    ) -> Share {
        let Some(key) = pod_of(endpoint, namespace) else {
            return Share::ONE;
        };
        let Some(text) = self.weights.get(&key) else {
            return Share::ONE;
        };
        Share::parse(text).unwrap_or_else(|| {
            let field = format!("annotation {WEIGHT}");
            let got = shortened(text);
            let reason = format!("expected an integer from 0 to {MAX_WEIGHT}, got {got:?}");
            let mut reporter = Reporter::new(
                ObjectRef {
                    kind: Kind::Pod,
                    key,
                },
                reports,
            );
            reporter.report(
                ReasonCode::InvalidValue,
                Severity::Warning,
                field,
                reason,
                "weight 1 used",
            );
            Share::ONE
        })
    }
}

impl Share {
    const ONE: Share = Share::Weight(NonZeroU16::MIN);

    fn parse(text: &str) -> Option<Self> {
        let weight: u16 = text
            .trim()
            .parse()
            .ok()
            .filter(|weight| *weight <= MAX_WEIGHT)?;
        Some(NonZeroU16::new(weight).map_or(Share::Sessions, Share::Weight))
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
