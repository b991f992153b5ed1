//! The files of a table, which are written again where something in them has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use sluice_host_table::{PathEntry, SHARDS, Shard, content_name, shard_of};
use sluice_ir::ServerName;

use crate::files::cert_links;

/// A file, which never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardFile {
    /// Hash of its text.
    pub name: String,
    /// [`Shard`], as JSON.
    pub text: String,
}

/// All shards of a table.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    all: Vec<Members>,
    files: Vec<Arc<ShardFile>>,
    stale: BTreeSet<usize>,
}

/// Names in a shard.
#[derive(Clone, Debug, Default)]
struct Members {
    hosts: BTreeSet<ServerName>,
    certificates: BTreeSet<ServerName>,
}

static EMPTY: LazyLock<Arc<ShardFile>> =
    LazyLock::new(|| Arc::new(ShardFile::new(&Shard::default())));

impl ShardFile {
    fn new(shard: &Shard) -> Self {
        let text = shard.to_json();
        ShardFile {
            name: content_name(text.as_bytes()),
            text,
        }
    }
}

impl Default for Shards {
    fn default() -> Self {
        let mut shards = Shards {
            all: vec![Members::default(); SHARDS],
            files: vec![Arc::clone(&EMPTY); SHARDS],
            stale: BTreeSet::new(),
        };
        // That of handshakes for all other names.
        shards.set_certificate(&ServerName::CatchAll, true);
        shards
    }
}

impl Shards {
    /// A host is in the table, perhaps with other paths than before, or is not.
    pub(crate) fn set_host(&mut self, name: &ServerName, is_in: bool) {
        set(&mut self.members(name).hosts, name, is_in);
    }

    /// A name has a certificate link, or has none.
    pub(crate) fn set_certificate(&mut self, name: &ServerName, is_in: bool) {
        set(&mut self.members(name).certificates, name, is_in);
    }

    fn members(&mut self, name: &ServerName) -> &mut Members {
        let number = shard_of(key(name).as_bytes());
        self.stale.insert(number);
        // As many as there are numbers.
        &mut self.all[number]
    }

    /// The files, of which the stale ones are made again.
    pub(crate) fn files<'a>(
        &mut self,
        entries: impl Fn(&ServerName) -> Option<&'a [PathEntry]>,
    ) -> Vec<Arc<ShardFile>> {
        for number in std::mem::take(&mut self.stale) {
            let members = &self.all[number];
            let hosts = members.hosts.iter();
            let hosts = hosts.filter_map(|name| Some((key(name), entries(name)?.to_vec())));
            let certificates = members.certificates.iter();
            let certificates: BTreeMap<_, _> = certificates
                .map(|name| (key(name), cert_links::link_name(name)))
                .collect();
            self.files[number] = Arc::new(ShardFile::new(&Shard {
                hosts: hosts.collect(),
                certificates,
            }));
        }
        self.files.clone()
    }
}

fn set(names: &mut BTreeSet<ServerName>, name: &ServerName, is_in: bool) {
    if is_in {
        names.insert(name.clone());
    } else {
        names.remove(name);
    }
}

/// A name, as tables have it.
fn key(name: &ServerName) -> String {
    match name {
        ServerName::CatchAll => String::new(),
        name => name.to_string(),
    }
}
