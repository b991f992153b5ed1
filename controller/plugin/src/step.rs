//! One publication of the log.

use std::collections::BTreeSet;

use sluice_filter_config::Version;

/// One publication: the version it left and the entries it touched.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) base: Version,
    pub(crate) routes: BTreeSet<String>,
    pub(crate) backends: BTreeSet<String>,
    pub(crate) hosts: BTreeSet<String>,
    pub(crate) host_table_changed: bool,
}

impl Step {
    /// True if it has changed nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let Step {
            base: _,
            routes,
            backends,
            hosts,
            host_table_changed,
        } = self;
        routes.is_empty() && backends.is_empty() && hosts.is_empty() && !host_table_changed
    }
}
