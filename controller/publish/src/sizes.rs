//! How much is published, for the log.

use sluice_ir::{Config, ServerName};
use tracing::info;

/// Numbers that were logged last: of hosts and of backends.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Option<(usize, usize)>);

impl Sizes {
    /// Logs those of a configuration, unless they are as before: under churn there are many publications a minute.
    pub(crate) fn log(&mut self, config: &Config) {
        let Config {
            servers, backends, ..
        } = config;
        let others = usize::from(servers.get(&ServerName::CatchAll).is_some());
        let sizes = (servers.len() - others, backends.len());
        if self.0.replace(sizes) != Some(sizes) {
            let (hosts, backends) = (counted(sizes.0, "host"), counted(sizes.1, "backend"));
            info!("published {hosts}, {backends}");
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
