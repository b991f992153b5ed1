//! The objects, their versions, and what happened to them: everything that a list or a watch is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::kinds::Kind;
use super::patch::{self, Owners};
use super::reply::Refusal;

/// One object: plural with its group, namespace, name.
type Place = (&'static Kind, String, String);

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) kind: &'static Kind,
    pub(super) namespace: String,
    pub(super) before: Option<Arc<Value>>,
    pub(super) after: Option<Arc<Value>>,
}

/// The part of an object that a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything but the status, for kinds that have one.
    Main,
    Status,
}

/// Everything there is.
#[derive(Debug)]
pub(super) struct Store {
    revision: u64,
    /// Before this, nobody remembers what happened.
    oldest: u64,
    objects: BTreeMap<Place, Arc<Value>>,
    owners: BTreeMap<Place, Owners>,
    history: Vec<Change>,
    changes: watch::Sender<u64>,
}

impl Store {
    pub(super) fn new() -> Self {
        Store {
            revision: 1,
            oldest: 1,
            objects: BTreeMap::new(),
            owners: BTreeMap::new(),
            history: Vec::new(),
            changes: watch::Sender::new(1),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Tells when the revision moves on.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn get(
        &self,
        kind: &'static Kind,
        namespace: &str,
        name: &str,
    ) -> Option<Arc<Value>> {
        self.objects
            .get(&(kind, namespace.to_owned(), name.to_owned()))
            .cloned()
    }

    /// In the order of their names; of one namespace or of all.
    pub(super) fn list<'a>(
        &'a self,
        kind: &'static Kind,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Arc<Value>)> {
        let from = (
            kind,
            namespace.unwrap_or_default().to_owned(),
            String::new(),
        );
        let objects = self
            .objects
            .range(from..)
            .take_while(move |((other, _, _), _)| *other == kind);
        let objects = objects
            .take_while(move |((_, space, _), _)| namespace.is_none_or(|wanted| wanted == space));
        objects.map(|((_, namespace, name), object)| (namespace.as_str(), name.as_str(), object))
    }

    /// Changes after a revision.
    pub(super) fn since(&self, revision: u64) -> &[Change] {
        let from = self
            .history
            .partition_point(|change| change.revision <= revision);
        &self.history[from..]
    }

    /// Forgets what happened: who watches from before must list again.
    pub(super) fn compact(&mut self) {
        self.history.clear();
        self.oldest = self.revision;
    }

    pub(super) fn create(
        &mut self,
        kind: &'static Kind,
        mut object: Value,
    ) -> Result<Arc<Value>, Refusal> {
        let place = place(kind, &object)?;
        if self.objects.contains_key(&place) {
            return Err(Refusal::already_exists(kind, &place.2));
        }
        if kind.is_namespaced
            && !self
                .objects
                .keys()
                .any(|(k, _, name)| k.name == "Namespace" && *name == place.1)
        {
            return Err(Refusal::not_found("namespaces", &place.1));
        }
        object["metadata"]["uid"] =
            format!("00000000-0000-4000-8000-{:012x}", self.revision + 1).into();
        // A real API server has a clock; here who needs an age says so.
        if object["metadata"]["creationTimestamp"].is_null() {
            object["metadata"]["creationTimestamp"] = "2024-01-01T00:00:00Z".into();
        }
        object["metadata"]["generation"] = 1.into();
        Ok(self.put(place, object))
    }

    pub(super) fn replace(
        &mut self,
        kind: &'static Kind,
        object: Value,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let place = place(kind, &object)?;
        let known = self.known(&place)?;
        let version = object
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str);
        if version
            .is_some_and(|version| Some(version) != known["metadata"]["resourceVersion"].as_str())
        {
            return Err(Refusal::conflict(
                kind,
                &place.2,
                "the object has been modified",
            ));
        }
        Ok(self.update(place, &known, object, part))
    }

    pub(super) fn merge(
        &mut self,
        place: Place,
        patch: &Value,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let known = self.known(&place)?;
        let mut object = (*known).clone();
        patch::merge(&mut object, patch);
        Ok(self.update(place, &known, object, part))
    }

    pub(super) fn apply(
        &mut self,
        place: Place,
        applied: &Value,
        manager: &str,
        force: bool,
        part: Part,
    ) -> Result<Arc<Value>, Refusal> {
        let Ok(known) = self.known(&place) else {
            if part == Part::Status {
                return Err(Refusal::not_found(place.0.plural, &place.2));
            }
            return self.create(place.0, applied.clone());
        };
        let uid = applied.pointer("/metadata/uid");
        if uid.is_some_and(|uid| *uid != known["metadata"]["uid"]) {
            return Err(Refusal::conflict(
                place.0,
                &place.2,
                "the UID in the precondition does not match",
            ));
        }
        let mut object = (*known).clone();
        // What names the object is not applied to it.
        let mut fields = applied.clone();
        for name in ["apiVersion", "kind"] {
            fields.as_object_mut().map(|fields| fields.remove(name));
        }
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| matches!(name.as_str(), "labels" | "annotations"));
        }
        let owners = self.owners.entry(place.clone()).or_default();
        patch::apply(&mut object, &fields, manager, force, owners).map_err(|fields| {
            Refusal::conflict(place.0, &place.2, &format!("conflicts with {fields:?}"))
        })?;
        Ok(self.update(place, &known, object, part))
    }

    /// Deletes the object of the same name.
    pub(super) fn remove(
        &mut self,
        kind: &'static Kind,
        object: &Value,
    ) -> Result<Arc<Value>, Refusal> {
        self.delete(&place(kind, object)?)
    }

    pub(super) fn delete(&mut self, place: &Place) -> Result<Arc<Value>, Refusal> {
        let known = self.known(place)?;
        self.objects.remove(place);
        self.owners.remove(place);
        self.happened(place, Some(Arc::clone(&known)), None);
        if place.0.name == "Namespace" {
            let inside: Vec<Place> = self
                .objects
                .keys()
                .filter(|(_, space, _)| *space == place.2)
                .cloned()
                .collect();
            for place in inside {
                self.delete(&place)?;
            }
        }
        Ok(known)
    }

    fn known(&self, place: &Place) -> Result<Arc<Value>, Refusal> {
        let known = self.objects.get(place).cloned();
        known.ok_or_else(|| Refusal::not_found(place.0.plural, &place.2))
    }

    /// Takes the part that is written, and leaves alone what only the server writes.
    fn update(
        &mut self,
        place: Place,
        known: &Arc<Value>,
        mut object: Value,
        part: Part,
    ) -> Arc<Value> {
        if part == Part::Status {
            let status = object.get("status").cloned().unwrap_or(json!({}));
            object = (**known).clone();
            object["status"] = status;
        } else if place.0.has_status {
            match known.get("status") {
                Some(status) => object["status"] = status.clone(),
                None => drop(object.as_object_mut().map(|object| object.remove("status"))),
            }
        }
        for field in ["uid", "creationTimestamp", "generation", "resourceVersion"] {
            object["metadata"][field] = known["metadata"][field].clone();
        }
        if object == **known {
            return Arc::clone(known);
        }
        if object.get("spec") != known.get("spec") {
            let generation = known["metadata"]["generation"].as_u64().unwrap_or(1);
            object["metadata"]["generation"] = (generation + 1).into();
        }
        self.put(place, object)
    }

    fn put(&mut self, place: Place, mut object: Value) -> Arc<Value> {
        object["apiVersion"] = place.0.api_version.into();
        object["kind"] = place.0.name.into();
        object["metadata"]["resourceVersion"] = (self.revision + 1).to_string().into();
        let object = Arc::new(object);
        let before = self.objects.insert(place.clone(), Arc::clone(&object));
        self.happened(&place, before, Some(Arc::clone(&object)));
        object
    }

    fn happened(&mut self, place: &Place, before: Option<Arc<Value>>, after: Option<Arc<Value>>) {
        self.revision += 1;
        let (kind, namespace) = (place.0, place.1.clone());
        self.history.push(Change {
            revision: self.revision,
            kind,
            namespace,
            before,
            after,
        });
        self.changes.send_replace(self.revision);
    }
}

fn place(kind: &'static Kind, object: &Value) -> Result<Place, Refusal> {
    let part = |name: &str| {
        object
            .pointer(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let name = part("/metadata/name");
    if name.is_empty() {
        return Err(Refusal::invalid(kind, "metadata.name: required"));
    }
    let namespace = if kind.is_namespaced {
        part("/metadata/namespace")
    } else {
        String::new()
    };
    Ok((kind, namespace, name))
}
