//! Notifications for the writer of Events.

use sluice_translate::Report;

/// A change of reports, or of the data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// It holds from now on.
    ReportAdded(Report),
    /// It holds no longer.
    ReportRemoved(Report),
    /// Our nginx serves another configuration.
    NginxReloaded,
}
