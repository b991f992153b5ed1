//! Results of nginx's configurations: for metrics, the publisher, and Events.

use sluice_dataplane::nginx::ReloadEvent;
use sluice_kube::Notification;
use tokio::sync::mpsc::UnboundedSender;

use crate::feedback::LoadResult;
use sluice_metrics::Controller;

/// The recipients.
#[derive(Clone)]
pub struct ReloadEvents {
    /// Counts reloads and refusals.
    pub metrics: Controller,
    /// The writer of Events, in a cluster.
    pub notifications: Option<UnboundedSender<Vec<Notification>>>,
    /// The publisher.
    pub load_results: UnboundedSender<LoadResult>,
}

impl ReloadEvents {
    /// Passes an event on.
    pub fn pass_on(&self, event: ReloadEvent) {
        match event {
            ReloadEvent::Reloaded { content, reason } => {
                if let Some(reason) = reason {
                    self.metrics.reloaded(reason.as_str());
                }
                self.served(content);
                if let Some(notifications) = &self.notifications {
                    // The receiver is only gone when the program ends.
                    notifications.send(vec![Notification::NginxReloaded]).ok();
                }
            }
            ReloadEvent::Unchanged(content) => self.served(content),
            ReloadEvent::Rejected { content, message } => {
                self.metrics.refused();
                self.send(content, Some(message));
            }
            ReloadEvent::Failed => self.metrics.refused(),
        }
    }

    fn served(&self, content: u128) {
        self.metrics.published(content);
        self.send(content, None);
    }

    fn send(&self, content: u128, refused: Option<String>) {
        // The receiver is only gone when the program ends.
        self.load_results.send(LoadResult { content, refused }).ok();
    }
}
