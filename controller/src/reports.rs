//! One log line for each thing that is not as its owner wrote it, when it comes up and not again.

use std::collections::BTreeSet;

use sluice_translate::{Report, Severity, Translation};
use tracing::{error, info, warn};

/// The reports that have been logged and still hold.
#[derive(Debug, Default)]
pub(crate) struct Told(BTreeSet<Report>);

impl Told {
    /// Logs what is new. A report that went away and comes back is told again.
    pub(crate) fn tell(&mut self, translation: &Translation) {
        let current = translation.reports();
        for report in current.iter().filter(|report| !self.0.contains(**report)) {
            match report.severity {
                Severity::Error => error!("{report}"),
                Severity::Warning => warn!("{report}"),
                Severity::Note => info!("{report}"),
            }
        }
        self.0 = current.into_iter().cloned().collect();
    }
}
