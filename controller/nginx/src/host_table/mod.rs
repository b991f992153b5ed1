//! Hosts that nginx.conf does not name. Its catch-all server has a named location for each profile, and our module finds hosts and
//! paths in a table (`nginx-wasm/host-table`): a new one needs no reload unless its profile is new, too.
//!
//! A host is in the table if nginx.conf would have nothing of it but locations for exact paths and prefixes. What stands
//! beside locations (client certificates, mirrors, error services ...) keeps a host in nginx.conf, and so does a pattern.
//! If the catch-all host cannot be in the table, none is.

pub(crate) mod profiles;
mod shards;

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use sluice_host_table::{Index, NOWHERE};

use crate::conf::{Word, word};
use crate::files::names::hash;
use crate::settings::Settings;
use profiles::Profiles;

pub use shards::ShardFile;
pub(crate) use shards::Shards;

/// A table, for its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedTable {
    /// The configuration that it goes with.
    pub identity: TableIdentity,
    /// Its shards, in the order of their numbers. Those that did not change are those of before.
    pub shards: Vec<Arc<ShardFile>>,
}

/// The configuration that a table goes with. Workers of an nginx.conf with other profiles or hosts read another index, so that none
/// finds a location that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIdentity {
    /// The table. Its index is in [`Settings::hosts`](crate::Settings::hosts).
    pub name: String,
    /// Named locations of nginx.conf that it leads to.
    pub profiles: BTreeSet<Arc<str>>,
    /// Hash of nginx.conf without profiles.
    pub beside_profiles: String,
}

impl TableIdentity {
    /// True if an nginx that has loaded the configuration of that table can serve this one: it has all profiles, and more at most.
    #[must_use]
    pub fn is_served_with(&self, loaded: &TableIdentity) -> bool {
        self.beside_profiles == loaded.beside_profiles && self.profiles.is_subset(&loaded.profiles)
    }
}

impl RenderedTable {
    /// The name of the index of the table with this name.
    #[must_use]
    pub fn index_file(name: &str) -> String {
        Index::file_name(name)
    }

    /// The hash of an index, by which workers know it.
    #[must_use]
    pub fn index_hash(index: &str) -> u128 {
        sluice_host_table::content_hash(index.as_bytes())
    }

    /// The index, for an nginx that has loaded the configuration of the table with this name.
    #[must_use]
    pub fn index(&self, name: &str) -> String {
        let shards = self.shards.iter();
        Index::new(name, shards.map(|shard| shard.name.clone())).to_json()
    }
}

/// The part of the catch-all server that serves the hosts of a table.
#[derive(Template)]
#[template(path = "server/profiles.conf")]
struct ProfilesConf<'a> {
    file: Word,
    nowhere: &'static str,
    /// Named locations: their names, and the directives between their braces.
    locations: Vec<(Word, &'a str)>,
}

/// The name of a table, and the part of nginx.conf that leads to it.
pub(crate) struct TableConf {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl TableConf {
    /// `hosts`: hash of the names of the hosts that nginx.conf has.
    pub(crate) fn new(profiles: &Profiles, hosts: &str, settings: &Settings) -> Self {
        let names = profiles.used().map(|(name, _)| &**name);
        let told_apart: Vec<&str> = names.chain([hosts]).collect();
        let name = hash(&told_apart.join(" "));
        let locations = profiles.used();
        let conf = ProfilesConf {
            file: word(settings.hosts().join(Index::file_name(&name)).display()),
            nowhere: NOWHERE,
            locations: locations.map(|(name, text)| (word(name), text)).collect(),
        };
        TableConf {
            // Nothing in the templates can fail, and a String takes everything.
            text: conf.render().unwrap_or_default(),
            name,
        }
    }
}
