//! Passes on what became of nginx's configurations: to metrics, to the publisher, and as Events.

use sluice_dataplane::nginx::ReloadEvent;
use sluice_kube::News;
use tokio::sync::mpsc::UnboundedSender;

use sluice_metrics::Controller;
use sluice_quarantine::NginxVerdict;

/// The recipients.
#[derive(Clone)]
pub(crate) struct ReloadEvents {
    pub(crate) metrics: Controller,
    /// The writer of Events, in a cluster.
    pub(crate) news: Option<UnboundedSender<Vec<News>>>,
    /// The publisher.
    pub(crate) verdicts: UnboundedSender<NginxVerdict>,
}

impl ReloadEvents {
    pub(crate) fn pass_on(&self, event: ReloadEvent) {
        match event {
            ReloadEvent::Reloaded(content) => {
                self.served(content);
                if let Some(news) = &self.news {
                    // The receiver is only gone when the program ends.
                    news.send(vec![News::Reloaded]).ok();
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
        self.verdicts.send(NginxVerdict { content, refused }).ok();
    }
}
