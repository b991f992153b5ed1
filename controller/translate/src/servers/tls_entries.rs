//! The `tls` section of an Ingress: which entry is a host's, found without looking at all of them for each host.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use k8s_openapi::api::networking::v1::IngressTLS;

use super::step_counter;

/// More entries in one Ingress than this are not used.
pub(crate) const MAX_TLS_ENTRIES: usize = 1000;

/// The first entries, by the hosts that they list, and by those that their certificates are good for.
#[derive(Debug)]
pub(super) struct TlsEntries {
    entries: Vec<IngressTLS>,
    listed: BTreeMap<String, usize>,
    covered: OnceLock<BTreeMap<String, usize>>,
}

impl TlsEntries {
    pub(super) fn new(entries: &[IngressTLS]) -> Self {
        let entries: Vec<IngressTLS> = entries.iter().take(MAX_TLS_ENTRIES).cloned().collect();
        let mut listed = BTreeMap::new();
        for (position, entry) in step_counter::counted(entries.iter().enumerate()) {
            for host in entry.hosts.iter().flatten() {
                listed.entry(host.to_ascii_lowercase()).or_insert(position);
            }
        }
        TlsEntries {
            entries,
            listed,
            covered: OnceLock::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, position: usize) -> Option<&IngressTLS> {
        step_counter::step();
        self.entries.get(position)
    }

    /// The first entry that lists a host.
    pub(super) fn listing(&self, host: &str) -> Option<usize> {
        self.listed.get(&host.to_ascii_lowercase()).copied()
    }

    /// The first entry whose certificate is good for a host. `names` says which ones are.
    pub(super) fn covering<'a>(
        &self,
        host: &str,
        names: impl Fn(&IngressTLS) -> &'a [String],
    ) -> Option<usize> {
        let covered = self.covered.get_or_init(|| {
            let mut covered = BTreeMap::new();
            for (position, entry) in step_counter::counted(self.entries.iter().enumerate()) {
                for name in names(entry) {
                    covered.entry(name.clone()).or_insert(position);
                }
            }
            covered
        });
        let host = host.to_ascii_lowercase();
        let wildcard = host
            .split_once('.')
            .and_then(|(_, parent)| covered.get(&format!("*.{parent}")));
        [covered.get(&host), wildcard]
            .into_iter()
            .flatten()
            .min()
            .copied()
    }
}
