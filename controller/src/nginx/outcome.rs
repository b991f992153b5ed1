//! Who is told what nginx has made of a configuration.

use sluice_kube::News;
use tokio::sync::mpsc::UnboundedSender;

use super::Configuration;
use super::configurations::Refusal;

use crate::content::content;
use crate::metrics::Controller;

/// What nginx says of a configuration.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The hash of it.
    pub(crate) content: u128,
    /// In nginx's words; `None`: it is served.
    pub(crate) refused: Option<String>,
}

/// The listeners.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) metrics: Controller,
    /// Who writes Events, in a cluster.
    pub(crate) news: Option<UnboundedSender<Vec<News>>>,
    /// The publisher.
    pub(crate) verdicts: UnboundedSender<Verdict>,
}

impl Outcome {
    /// nginx serves it from now on.
    pub(super) fn taken(&self, configuration: &Configuration) {
        self.serves(configuration);
        if let Some(news) = &self.news {
            // Nobody listens only when the program ends.
            news.send(vec![News::Reloaded]).ok();
        }
    }

    /// nginx serves it already.
    pub(super) fn serves(&self, configuration: &Configuration) {
        let content = content(&configuration.text);
        self.metrics.published(content);
        self.tell(Verdict {
            content,
            refused: None,
        });
    }

    /// nginx cannot read it, and serves what it had before.
    pub(super) fn refused(&self, configuration: &Configuration, refusal: &Refusal) {
        self.metrics.refused();
        // Where it could not be asked, nothing is at fault.
        if let Refusal::Said(said) = refusal {
            let content = content(&configuration.text);
            self.tell(Verdict {
                content,
                refused: Some(said.clone()),
            });
        }
    }

    /// nginx can read it, and serves what it had before all the same.
    pub(super) fn not_taken(&self) {
        self.metrics.refused();
    }

    fn tell(&self, verdict: Verdict) {
        // Nobody listens only when the program ends.
        self.verdicts.send(verdict).ok();
    }
}
