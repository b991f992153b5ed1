//! State of each Ingress in the cluster source: whether it is ours, its references, its status.
//!
//! Only Ingresses of our classes make Secrets readable, and only those get a status.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::networking::v1::IngressLoadBalancerIngress;
use serde_json::Value;
use sluice_translate::{Ingress, Kind, Object, ObjectKey, Options, RequestedClass, Resources};

use super::named::Uses;
use super::references::{self, Name};

/// The status of one Ingress as the API server has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IngressStatus {
    pub(crate) uid: String,
    pub(crate) addresses: Vec<IngressLoadBalancerIngress>,
}

/// An Ingress of ours, or one that is gone or of another class: for the writer of status.
#[derive(Clone, Debug, PartialEq)]
pub struct IngressRef {
    pub(crate) key: ObjectKey,
    /// `None`: not ours, or not any more.
    pub(crate) status: Option<IngressStatus>,
}

/// Consequences of a change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Consequences {
    pub(super) wanted: Vec<Name>,
    pub(super) unwanted: Vec<Name>,
    pub(super) changed_ingresses: Vec<IngressRef>,
    /// UID of an Ingress of ours that is new, or says something else than before.
    pub(super) synced: Option<String>,
}

/// Every Ingress in scope.
#[derive(Debug)]
pub(super) struct Ingresses {
    options: Options,
    /// Only the IngressClasses.
    classes: Resources,
    known: BTreeMap<ObjectKey, Known>,
    /// References of the controller's own ConfigMap.
    settings: BTreeSet<Name>,
    uses: Uses,
}

#[derive(Debug)]
struct Known {
    class: RequestedClass,
    is_ours: bool,
    names: BTreeSet<Name>,
    status: IngressStatus,
    /// Hash of what its owner has written.
    content: u64,
}

impl Ingresses {
    pub(super) fn new(options: Options) -> Self {
        Ingresses {
            options,
            classes: Resources::default(),
            known: BTreeMap::new(),
            settings: BTreeSet::new(),
            uses: Uses::default(),
        }
    }

    /// An Ingress was applied; `value` is its JSON, `ingress` the typed object.
    pub(super) fn see(
        &mut self,
        key: &ObjectKey,
        ingress: &Ingress,
        status: IngressStatus,
    ) -> Consequences {
        let class = RequestedClass::of(ingress);
        let is_ours = class.is_ours(&key.namespace, &self.classes, &self.options);
        let known = Known {
            class,
            is_ours,
            names: references::named_by(ingress),
            status,
            content: content(ingress),
        };
        let (uid, content) = (known.status.uid.clone(), known.content);
        let mut consequences = Consequences::default();
        let before = self.known.insert(key.clone(), known);
        let is_same = before
            .as_ref()
            .is_some_and(|before| before.content == content);
        consequences.synced = (is_ours && !is_same).then_some(uid);
        self.count(key, before.as_ref(), &mut consequences);
        consequences
    }

    /// An Ingress is gone.
    pub(super) fn forget(&mut self, key: &ObjectKey) -> Consequences {
        let mut consequences = Consequences::default();
        if let Some(before) = self.known.remove(key) {
            self.count(key, Some(&before), &mut consequences);
        }
        consequences
    }

    /// An IngressClass was applied: Ingresses may have become ours, or another controller's.
    pub(super) fn see_class(&mut self, class: Object) -> Consequences {
        self.classes.apply(class);
        self.judge_again()
    }

    /// An IngressClass is gone.
    pub(super) fn forget_class(&mut self, key: &ObjectKey) -> Consequences {
        self.classes.delete(Kind::IngressClass, key);
        self.judge_again()
    }

    /// Replaces the references of the controller's own ConfigMap.
    pub(super) fn see_settings(&mut self, names: BTreeSet<Name>) -> Consequences {
        let before = std::mem::replace(&mut self.settings, names.clone());
        let mut consequences = Consequences::default();
        self.count_uses(&before, &names, &mut consequences);
        consequences
    }

    /// IngressClasses cannot be read.
    pub(super) fn forbid_classes(&mut self) {
        self.classes.forbid_ingress_classes();
    }

    fn judge_again(&mut self) -> Consequences {
        let mut consequences = Consequences::default();
        let keys: Vec<ObjectKey> = self.known.keys().cloned().collect();
        for key in keys {
            let Some(known) = self.known.get(&key) else {
                continue;
            };
            let verdict = known
                .class
                .is_ours(&key.namespace, &self.classes, &self.options);
            if verdict == known.is_ours {
                continue;
            }
            let Some(before) = self.known.remove(&key) else {
                continue;
            };
            let names = before.names.clone();
            let (class, status) = (before.class.clone(), before.status.clone());
            self.known.insert(
                key.clone(),
                Known {
                    class,
                    is_ours: verdict,
                    names,
                    status,
                    content: before.content,
                },
            );
            self.count(&key, Some(&before), &mut consequences);
        }
        consequences
    }

    /// The difference between an Ingress as it was and as it is known now.
    fn count(&mut self, key: &ObjectKey, before: Option<&Known>, consequences: &mut Consequences) {
        let ours = |known: Option<&Known>| {
            known
                .filter(|known| known.is_ours)
                .map(|known| known.names.clone())
        };
        let after = self.known.get(key);
        let (old, new) = (
            ours(before).unwrap_or_default(),
            ours(after).unwrap_or_default(),
        );
        let status = after
            .filter(|known| known.is_ours)
            .map(|known| known.status.clone());
        if status.is_some() || before.is_some_and(|known| known.is_ours) {
            consequences.changed_ingresses.push(IngressRef {
                key: key.clone(),
                status,
            });
        }
        self.count_uses(&old, &new, consequences);
    }

    fn count_uses(
        &mut self,
        old: &BTreeSet<Name>,
        new: &BTreeSet<Name>,
        consequences: &mut Consequences,
    ) {
        consequences.wanted.extend(
            new.difference(old)
                .filter(|name| self.uses.add(name))
                .cloned(),
        );
        consequences.unwanted.extend(
            old.difference(new)
                .filter(|name| self.uses.remove(name))
                .cloned(),
        );
    }
}

impl IngressStatus {
    /// Parses `metadata.uid` and `status`; malformed values are no address.
    pub(super) fn from_json(value: &Value) -> Self {
        let uid = value
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let addresses = value
            .pointer("/status/loadBalancer/ingress")
            .and_then(Value::as_array);
        let addresses = addresses.into_iter().flatten();
        let addresses =
            addresses.filter_map(|address| serde_json::from_value(address.clone()).ok());
        IngressStatus {
            uid: uid.to_owned(),
            addresses: addresses.collect(),
        }
    }
}

/// Metadata of a version and the status are not in it: those change with our own writes.
fn content(ingress: &Ingress) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Every Ingress can be written as JSON.
    serde_json::to_string(ingress)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ingress(class: &str, secret: &str) -> Ingress {
        serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "a"},
            "spec": {"ingressClassName": class, "tls": [{"secretName": secret}]},
        }))
        .unwrap()
    }

    fn class(name: &str, controller: &str) -> Object {
        Object::from_value(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name},
            "spec": {"controller": controller},
        }))
        .unwrap()
    }

    fn secret(name: &str) -> Name {
        (Kind::Secret, ObjectKey::new("n", name))
    }

    #[test]
    fn a_class_that_comes_and_goes_takes_its_ingresses_along() {
        let mut ingresses = Ingresses::new(Options::default());
        let key = ObjectKey::new("n", "a");
        let status = IngressStatus {
            uid: "1".to_owned(),
            addresses: Vec::new(),
        };
        let foreign = ingresses.see(&key, &ingress("nginx", "cert"), status.clone());
        assert_eq!(
            foreign,
            Consequences::default(),
            "somebody else's Secret is not read"
        );

        let ours = ingresses.see_class(class("nginx", "k8s.io/ingress-nginx"));
        assert_eq!(ours.wanted, [secret("cert")]);
        assert_eq!(
            ours.changed_ingresses,
            [IngressRef {
                key: key.clone(),
                status: Some(status)
            }]
        );

        let lost = ingresses.forget_class(&ObjectKey::new("", "nginx"));
        assert_eq!(lost.unwanted, [secret("cert")]);
        assert_eq!(lost.changed_ingresses, [IngressRef { key, status: None }]);
    }

    #[test]
    fn a_changed_reference_lets_go_of_the_old_name() {
        let mut ingresses = Ingresses::new(Options::default());
        ingresses.see_class(class("nginx", "k8s.io/ingress-nginx"));
        let key = ObjectKey::new("n", "a");
        ingresses.see(&key, &ingress("nginx", "old"), IngressStatus::default());
        let changed = ingresses.see(&key, &ingress("nginx", "new"), IngressStatus::default());
        assert_eq!(
            (changed.wanted, changed.unwanted),
            (vec![secret("new")], vec![secret("old")])
        );
        let forgotten = ingresses.forget(&key);
        assert_eq!(forgotten.unwanted, [secret("new")]);
    }
}
