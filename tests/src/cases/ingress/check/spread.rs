//! Checks of the distribution among services and pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Observed, plain, push_once, shown};
use crate::cases::ingress::expect;
use crate::cases::ingress::then::Then;

impl Observed<'_> {
    pub(super) fn spread(&self, then: &Then, reasons: &mut Vec<String>) -> Result<(), String> {
        let by_pod = self.by_pod();
        let total: usize = by_pod.values().sum();
        let sent = self.exchanges.len() as f64;
        let mut count = |word: &str, expected: &Option<Value>, actual: usize, whole: f64| {
            if let Some(expected) = expected
                && !expect::number(expected, actual as f64, whole)?
            {
                push_once(
                    reasons,
                    format!("{word}: expected {expected}, got {actual} of {by_pod:?}"),
                );
            }
            Ok::<(), String>(())
        };
        count("total", &then.total, total, sent)?;
        count("distinct_pods", &then.distinct_pods, by_pod.len(), sent)?;
        for pod in self.pods_in_use(&by_pod) {
            count(
                "per_pod",
                &then.per_pod,
                by_pod.get(pod.as_str()).copied().unwrap_or(0),
                sent,
            )?;
        }
        for (name, expected) in &then.distribution {
            let of_service = by_pod
                .iter()
                .filter(|(pod, _)| *pod == name || self.service_of(pod) == *name);
            let times: usize = of_service.map(|(_, times)| times).sum();
            count(
                &format!("distribution {name}"),
                &Some(expected.clone()),
                times,
                sent,
            )?;
        }
        // What is expected of every pod holds of none, too.
        if then.per_pod.is_some() && by_pod.is_empty() {
            push_once(reasons, "per_pod: no pod answered".to_owned());
        }
        self.endpoints_are(then, reasons);
        self.backend(then, reasons);
        self.same_pod(then, &by_pod, reasons);
        Ok(())
    }

    fn endpoints_are(&self, then: &Then, reasons: &mut Vec<String>) {
        let Some(expected) = &then.endpoints_are else {
            return;
        };
        let name = |value: &Value| {
            let text = plain(value);
            text.split(':').next().unwrap_or_default().to_owned()
        };
        let expected: BTreeSet<String> = expected.iter().map(name).collect();
        if expected != self.endpoints {
            let got = &self.endpoints;
            push_once(
                reasons,
                format!("endpoints_are: expected {expected:?}, got {got:?}"),
            );
        }
    }

    fn by_pod(&self) -> BTreeMap<&str, usize> {
        let mut by_pod = BTreeMap::new();
        for pod in self.answers_of_pods().flatten() {
            *by_pod.entry(pod).or_default() += 1;
        }
        by_pod
    }

    /// The pod of each answer.
    fn answers_of_pods(&self) -> impl Iterator<Item = Option<&str>> {
        self.exchanges.iter().map(|exchange| {
            exchange
                .answer
                .as_ref()
                .ok()
                .and_then(|answer| answer.pod())
        })
    }

    /// All pods of the services that answered at all, so that one that was left out is counted, too.
    fn pods_in_use(&self, by_pod: &BTreeMap<&str, usize>) -> BTreeSet<String> {
        let services: BTreeSet<String> = by_pod.keys().map(|pod| self.service_of(pod)).collect();
        let pods = services.iter().flat_map(|service| self.pods.names(service));
        pods.chain(by_pod.keys().map(|pod| (*pod).to_owned()))
            .collect()
    }

    fn backend(&self, then: &Then, reasons: &mut Vec<String>) {
        let Some(expected) = &then.backend else {
            return;
        };
        for pod in self.answers_of_pods() {
            let service = pod.map(|pod| self.service_of(pod));
            if service != *expected {
                let (expected, actual) = (shown(expected.as_deref()), shown(service.as_deref()));
                push_once(
                    reasons,
                    format!("backend: expected {expected}, got {actual}"),
                );
            }
        }
    }

    fn same_pod(&self, then: &Then, by_pod: &BTreeMap<&str, usize>, reasons: &mut Vec<String>) {
        let Some(same) = then.same_pod else { return };
        let before = self.before.as_deref();
        // A single answer is compared with the pod of before; several also with each other.
        let is_same = by_pod.len() == 1 && before.is_none_or(|before| by_pod.contains_key(before));
        let compared = before.is_some() || self.exchanges.len() > 1;
        if by_pod.is_empty() || !compared || is_same != same {
            let before = shown(before);
            push_once(
                reasons,
                format!("same_pod: expected {same}, got {by_pod:?}, before it was {before}"),
            );
        }
    }
}
