//! Hosts and paths that nginx.conf does not name. The controller writes them into files, and our module looks requests up in
//! them: a new host or path needs no reload.
//!
//! ```text
//!   NAME.json (an Index) --- names of contents ---> one file for each shard: hosts and their paths, certificates
//!        |  replaced                                    |  never changed
//!   Hosts::updated: reads the shards whose names are new
//! ```
//!
//! A change costs the shards that it is in, for whoever writes and for whoever reads. The name of a shard is the hash of its content,
//! so a file that is torn or somebody else's is noticed, and nobody has parts of two tables: who has a whole one keeps it until all shards
//! of the next can be read, and who has none closes the names that may be in a bad shard, and no others.
//!
//! A lookup finds what `server {}` and `location {}` would find: the exact name, else a wildcard of one label, else all other
//! hosts; there the exact path, else the longest prefix. Patterns are not in a table: hosts that have them stay in nginx.conf.

mod hosts;
mod index;
mod longest_prefix;
mod shard;
pub mod variables;

use std::fmt;

pub use hosts::{Closed, Found, Hosts};
pub use index::Index;
pub use shard::{PathEntry, SHARDS, Shard, content_hash, content_name, shard_of};

/// Named location of nginx.conf for requests that are for no path of the table.
pub const NOWHERE: &str = "@sluice_nowhere";

/// A text that is no table of this schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTable(String);

impl fmt::Display for InvalidTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host table: {}", self.0)
    }
}

impl std::error::Error for InvalidTable {}
