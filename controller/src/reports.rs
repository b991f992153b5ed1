//! Log of reports: one line when a report appears, and events for the writer of Kubernetes Events.

use std::collections::BTreeSet;

use sluice_kube::News;
use sluice_translate::{Report, Severity};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{error, info, warn};

/// The reports that have been told and still hold.
#[derive(Debug, Default)]
pub(crate) struct Told {
    reports: BTreeSet<Report>,
    listener: Option<UnboundedSender<Vec<News>>>,
}

impl Told {
    /// Tells not only the log.
    pub(crate) fn also_to(listener: Option<UnboundedSender<Vec<News>>>) -> Self {
        Told {
            reports: BTreeSet::new(),
            listener,
        }
    }

    /// Tells what is new, also of what the data plane has to say. A report that went away and comes back is told again.
    pub(crate) fn tell(&mut self, of_objects: &[Report], of_data_plane: &[Report]) {
        let current: BTreeSet<Report> = of_objects.iter().chain(of_data_plane).cloned().collect();
        let appeared = current.difference(&self.reports);
        appeared.clone().for_each(log);
        let news = appeared.cloned().map(News::Appeared);
        let gone = self.reports.difference(&current).cloned().map(News::Gone);
        let news: Vec<News> = gone.chain(news).collect();
        if let Some(listener) = self.listener.as_ref().filter(|_| !news.is_empty()) {
            // Nobody listens only when the program ends.
            listener.send(news).ok();
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
