//! Changes of the input of a translation.

use std::collections::BTreeSet;

use sluice_ir::BackendId;
use sluice_syntax::DnsName;

use crate::{Kind, ObjectKey, ObjectRef};

/// Effect of a change of the cache on a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that matters.
    Nothing,
    /// Only the endpoints of these Services.
    Endpoints(BTreeSet<ObjectKey>),
    /// Only where a name leads.
    Name(DnsName),
    /// Only the health of the endpoints of a backend.
    Health(BackendId),
    /// Only which machines run Sluice.
    Machines,
    /// Whatever follows from one object.
    Object(ObjectRef),
    /// Anything.
    Everything,
}

/// Changes of a while, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    everything: bool,
    objects: BTreeSet<ObjectRef>,
    endpoints: BTreeSet<ObjectKey>,
    names: BTreeSet<DnsName>,
    health: BTreeSet<BackendId>,
    machines: bool,
}

impl Change {
    /// The change of one object, if it has changed.
    #[must_use]
    pub fn of_object(kind: Kind, key: &ObjectKey, has_changed: bool) -> Self {
        if !has_changed {
            return Change::Nothing;
        }
        let key = key.clone();
        Change::Object(ObjectRef { kind, key })
    }

    pub(crate) fn of_endpoints(services: BTreeSet<ObjectKey>) -> Self {
        if services.is_empty() {
            Change::Nothing
        } else {
            Change::Endpoints(services)
        }
    }
}

impl Changes {
    /// Whatever there is may have changed.
    #[must_use]
    pub fn everything() -> Self {
        Changes {
            everything: true,
            ..Changes::default()
        }
    }

    /// One more.
    pub fn add(&mut self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Endpoints(services) => self.endpoints.extend(services),
            Change::Name(name) => drop(self.names.insert(name)),
            Change::Health(backend) => drop(self.health.insert(backend)),
            Change::Machines => self.machines = true,
            Change::Object(object) => drop(self.objects.insert(object)),
            Change::Everything => self.everything = true,
        }
    }

    /// True if nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// True if only endpoints have changed.
    #[must_use]
    pub fn is_of_endpoints(&self) -> bool {
        !self.everything && self.objects.is_empty()
    }

    /// True if anything may have changed.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// True if other machines run Sluice.
    #[must_use]
    pub fn include_machines(&self) -> bool {
        self.machines
    }

    /// The objects that have changed.
    #[must_use]
    pub fn objects(&self) -> &BTreeSet<ObjectRef> {
        &self.objects
    }

    /// The names whose resolution has changed.
    #[must_use]
    pub fn names(&self) -> &BTreeSet<DnsName> {
        &self.names
    }

    /// The backends whose endpoints have another health.
    #[must_use]
    pub fn health(&self) -> &BTreeSet<BackendId> {
        &self.health
    }

    /// The Services whose endpoints have changed.
    #[must_use]
    pub fn endpoints(&self) -> &BTreeSet<ObjectKey> {
        &self.endpoints
    }
}
