//! Reports on what nginx does not serve.

use std::collections::BTreeSet;

use sluice_ir::{L4Protocol, StreamPort};
use sluice_nginx::{Element, Unsupported};
use sluice_translate::{Kind, ObjectKey, ObjectRef, Report, Severity, Snapshot};
use tracing::error;

/// The operator's ConfigMaps that nginx's settings come from.
#[derive(Debug, Default)]
pub struct SettingsOwners {
    /// Settings of all hosts.
    pub global: Option<ObjectKey>,
    /// `--tcp-services-configmap`
    pub tcp: Option<ObjectKey>,
    /// `--udp-services-configmap`
    pub udp: Option<ObjectKey>,
}

/// Assigns what nginx does not serve to objects.
#[derive(Debug, Default)]
pub(crate) struct NginxReports {
    owners: SettingsOwners,
    /// Settings without an object, which have been logged.
    logged: BTreeSet<Unsupported>,
}

impl NginxReports {
    pub(crate) fn new(owners: SettingsOwners) -> Self {
        NginxReports {
            owners,
            logged: BTreeSet::new(),
        }
    }

    /// Reports for the owners. What has no owner is logged, once each time that it comes up.
    pub(crate) fn reports(
        &mut self,
        unsupported: Vec<Unsupported>,
        snapshot: &Snapshot,
    ) -> Vec<Report> {
        let mut reports = Vec::new();
        let mut without_owner = BTreeSet::new();
        for unsupported in unsupported {
            match self.owner(&unsupported.element, snapshot) {
                Some(owner) => reports.push(report(owner, &unsupported)),
                None => drop(without_owner.insert(unsupported)),
            }
        }
        for unsupported in without_owner.difference(&self.logged) {
            error!("{unsupported}");
        }
        self.logged = without_owner;
        reports
    }

    fn owner(&self, element: &Element, snapshot: &Snapshot) -> Option<ObjectRef> {
        let (kind, key) = match element {
            Element::Route(route) => (Kind::Ingress, snapshot.owner(route)),
            // No input has listeners of its own yet.
            Element::Listener(_) => return None,
            Element::Setting(_) => (Kind::ConfigMap, self.owners.global.as_ref()),
            Element::Port(StreamPort { protocol, .. }) => match protocol {
                L4Protocol::Tcp => (Kind::ConfigMap, self.owners.tcp.as_ref()),
                L4Protocol::Udp => (Kind::ConfigMap, self.owners.udp.as_ref()),
            },
        };
        Some(ObjectRef {
            kind,
            key: key?.clone(),
        })
    }
}

fn report(object: ObjectRef, unsupported: &Unsupported) -> Report {
    let severity = if unsupported.closes {
        Severity::Error
    } else {
        Severity::Warning
    };
    Report::new(
        object,
        unsupported.code(),
        severity,
        unsupported.element.to_string(),
        unsupported.reason(),
        unsupported.consequence(),
    )
}
