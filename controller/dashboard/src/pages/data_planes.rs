//! The data planes: their versions, and how far each is.

use sluice_dataplane::nginx::Running;
use sluice_xds_server::{DataPlane, Store};

use crate::Dashboard;
use crate::time::{measured, rough};

/// A data plane as a page shows it.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) style: &'static str,
    pub(super) state: String,
    /// How far behind it is.
    pub(super) lag: String,
    /// How long it has been connected, or when it last loaded its configuration.
    pub(super) age: String,
}

/// All that are there.
pub(super) fn rows(dashboard: &Dashboard) -> Vec<Row> {
    match &dashboard.nginx {
        Some(nginx) => of_nginx(nginx).into_iter().collect(),
        None => of_envoys(&dashboard.store),
    }
}

fn of_envoys(store: &Store) -> Vec<Row> {
    let (latest, _) = store.progress();
    let refused: Vec<String> = store.refusals().into_iter().map(|it| it.node).collect();
    let all = store.data_planes().into_iter();
    all.map(|it| envoy(it, latest, &refused)).collect()
}

fn envoy(it: DataPlane, latest: u64, refused: &[String]) -> Row {
    let behind = latest.saturating_sub(it.answered);
    let (style, state) = match behind {
        _ if refused.contains(&it.node) => ("error", "rejected the configuration (NACK)"),
        0 => ("good", "up to date"),
        _ => ("warning", "waiting for ACK"),
    };
    Row {
        lag: match behind {
            0 => "none".to_owned(),
            1 => format!("1 publication behind, for {}", measured(it.behind)),
            _ => format!("{behind} publications behind, for {}", measured(it.behind)),
        },
        name: it.node,
        version: it.version,
        style,
        state: state.to_owned(),
        age: format!("connected for {}", rough(it.connected)),
    }
}

fn of_nginx(nginx: &Running) -> Option<Row> {
    let processes = nginx.processes();
    let (master, workers) = processes.split_first()?;
    let load = nginx.load();
    let (style, state) = state(load.refused.as_deref(), load.is_pending);
    let loaded = load.at.map(|at| rough(at.elapsed()));
    Some(Row {
        name: format!("nginx (pid {master}, workers: {})", workers.len()),
        version: nginx.version().to_owned(),
        style,
        state,
        lag: match load.is_pending {
            true => "1 configuration behind".to_owned(),
            false => "none".to_owned(),
        },
        age: match loaded {
            Some(ago) => {
                let reason = load.reason.map(|reason| format!(" (reload: {reason})"));
                let reason = reason.unwrap_or_default();
                format!(
                    "configuration loaded {ago} ago{reason}; loads in total: {}",
                    load.count
                )
            }
            None => "no configuration loaded yet".to_owned(),
        },
    })
}

fn state(refused: Option<&str>, is_pending: bool) -> (&'static str, String) {
    match (refused, is_pending) {
        (Some(message), _) => ("error", format!("rejected the configuration: {message}")),
        (None, true) => ("warning", "loading a configuration".to_owned()),
        (None, false) => ("good", "up to date".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_envoy_is_named_with_its_version_its_state_and_its_lag() {
        let at = |answered, refused: &[String]| {
            let known = DataPlane {
                node: "edge-1".to_owned(),
                version: "1.40.0".to_owned(),
                answered,
                behind: Duration::from_millis(70),
                connected: Duration::from_secs(7300),
            };
            envoy(known, 5, refused)
        };
        let row = at(5, &["edge-2".to_owned()]);
        assert_eq!((&*row.name, &*row.version), ("edge-1", "1.40.0"));
        assert_eq!((&*row.state, &*row.lag), ("up to date", "none"));
        assert_eq!(row.age, "connected for 2 h");
        let behind = at(3, &[]);
        let lag = "2 publications behind, for 70 ms";
        assert_eq!((behind.style, &*behind.lag), ("warning", lag));
        let refuses = at(5, &["edge-1".to_owned()]);
        assert_eq!(refuses.state, "rejected the configuration (NACK)");
    }

    #[test]
    fn nginx_is_up_to_date_unless_it_loads_or_refuses_something() {
        for (refused, is_pending, expected) in [
            (None, false, "up to date"),
            (None, true, "loading a configuration"),
            (Some("why"), false, "rejected the configuration: why"),
        ] {
            assert_eq!(state(refused, is_pending).1, expected);
        }
    }
}
