//! Log of reports: one line when a report appears, and events for the writer of Kubernetes Events.

use std::collections::BTreeSet;

use sluice_kube::Notification;
use sluice_translate::{Report, Severity};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{error, info, warn};

/// The reports that have been logged and still hold.
#[derive(Debug, Default)]
pub struct ReportLog {
    reports: BTreeSet<Report>,
    listener: Option<UnboundedSender<Vec<Notification>>>,
}

impl ReportLog {
    /// Also notifies the writer of Events.
    pub fn with_listener(listener: Option<UnboundedSender<Vec<Notification>>>) -> Self {
        ReportLog {
            reports: BTreeSet::new(),
            listener,
        }
    }

    /// Logs new reports, of objects and of the data plane. A report that went away and comes back is logged again.
    pub(crate) fn record(&mut self, of_objects: &[Report], of_data_plane: &[Report]) {
        let current: BTreeSet<Report> = of_objects.iter().chain(of_data_plane).cloned().collect();
        let appeared = current.difference(&self.reports);
        appeared.clone().for_each(log);
        let notifications = appeared.cloned().map(Notification::ReportAdded);
        let gone = self
            .reports
            .difference(&current)
            .cloned()
            .map(Notification::ReportRemoved);
        let notifications: Vec<Notification> = gone.chain(notifications).collect();
        if let Some(listener) = self.listener.as_ref().filter(|_| !notifications.is_empty()) {
            // The receiver is only gone when the program ends.
            listener.send(notifications).ok();
        }
        self.reports = current;
    }
}

/// One line.
fn log(report: &Report) {
    match report.severity {
        Severity::Error => error!("{report}"),
        Severity::Warning => warn!("{report}"),
        Severity::Note => info!("{report}"),
    }
}
