//! Leader election.

use std::sync::OnceLock;

use sluice_kube::Election;

use super::label::Label;
use super::registry::Registry;
use super::series::Series;

/// The handle is shared with the registry.
pub(super) struct Leadership {
    status: Series<1, f64>,
    /// Known once the source is a cluster.
    election: OnceLock<Election>,
}

impl Leadership {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let help = "Whether this controller leads: 1 when it does, 0 when another one does";
        let status = Series::gauge(registry, "leader_election_status", help, ["name"])?;
        Ok(Leadership {
            status,
            election: OnceLock::new(),
        })
    }

    /// From here on, this one.
    pub(super) fn follow(&self, election: Election) {
        // There is one source, and it has one election.
        self.election.set(election).ok();
    }

    pub(super) fn refresh(&self) {
        if let Some(Election { name, leads }) = self.election.get() {
            let leads = f64::from(u8::from(*leads.borrow()));
            self.status.show([([Label::of(name)], leads)]);
        }
    }
}
