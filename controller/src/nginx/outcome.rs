//! Who is told what nginx has made of a configuration.

use tokio::sync::mpsc::UnboundedSender;

use super::{Configuration, reload};
use crate::metrics::Controller;
use crate::reports::News;

/// The listeners.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) metrics: Controller,
    /// Who writes Events, in a cluster.
    pub(crate) news: Option<UnboundedSender<Vec<News>>>,
}

impl Outcome {
    /// nginx serves it.
    pub(super) fn taken(&self, configuration: &Configuration) {
        self.metrics.published(reload::content(&configuration.text));
        if let Some(news) = &self.news {
            // Nobody listens only when the program ends.
            news.send(vec![News::Reloaded]).ok();
        }
    }

    /// nginx does not, and serves what it had before.
    pub(super) fn refused(&self) {
        self.metrics.refused();
    }
}
