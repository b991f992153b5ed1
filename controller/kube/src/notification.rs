//! Notifications for the writer of Events.

use sluice_translate::{ObjectKey, Report};

/// A change of reports, of an Ingress, or of the data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// It holds from now on.
    ReportAdded(Report),
    /// It holds no longer.
    ReportRemoved(Report),
    /// An Ingress of ours was created or changed.
    IngressSynced {
        /// Its name.
        key: ObjectKey,
        /// Its UID.
        uid: String,
    },
    /// Our nginx serves another configuration.
    NginxReloaded,
}
