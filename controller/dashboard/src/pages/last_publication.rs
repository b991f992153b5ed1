//! How long the last publication took.

use sluice_dataplane::nginx::Load;
use sluice_xds_server::Acknowledged;

use crate::Dashboard;
use crate::time::measured;

/// How long the last publication took; empty if there is none.
pub(super) fn took(dashboard: &Dashboard) -> String {
    let Some(last) = dashboard.view.progress().last() else {
        return String::new();
    };
    let published = format!(
        "published {} after the change",
        measured(last.done - last.begun)
    );
    let acknowledged = match &dashboard.nginx {
        Some(nginx) => loaded(&nginx.load(), last.begun),
        None => {
            let during = last.begun.into_std()..=last.done.into_std();
            match dashboard.store.acknowledged(&during) {
                Acknowledged::Unchanged => "no change for Envoy".to_owned(),
                Acknowledged::Waiting => "not acknowledged by all Envoys".to_owned(),
                Acknowledged::After(time) => {
                    format!("acknowledged by all Envoys after {}", measured(time))
                }
            }
        }
    };
    format!("{published}, {acknowledged}")
}

fn loaded(load: &Load, begun: tokio::time::Instant) -> String {
    match load.at.filter(|at| *at >= begun) {
        _ if load.is_pending => "not loaded by nginx yet".to_owned(),
        Some(at) => format!("loaded by nginx after {}", measured(at - begun)),
        None => "without a reload".to_owned(),
    }
}
