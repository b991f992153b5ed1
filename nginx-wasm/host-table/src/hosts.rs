//! A table in the form that requests are looked up in.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::longest_prefix::LongestPrefix;
use crate::{Index, InvalidTable, PathEntry, Shard, content_name, shard_of};

/// Hosts with their paths, and certificates. A copy shares what it has in common.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// By their numbers; none in a table that was not read yet. `None`: it could not be read.
    shards: Vec<Option<Loaded>>,
}

/// A name may be in a shard that could not be read: nothing may be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The place that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Named location of nginx.conf.
    pub profile: Arc<str>,
    /// Id of the route.
    pub route: Box<str>,
    /// Id of the backend.
    pub backend: Box<str>,
}

/// A shard, and the file that it was read from.
#[derive(Clone, Debug)]
struct Loaded {
    file: Box<str>,
    shard: Arc<Names>,
}

/// Names of a shard.
#[derive(Debug)]
struct Names {
    paths: ByName<Paths>,
    certificates: ByName<Box<[u8]>>,
}

/// Values by exact names and by wildcards of one label.
#[derive(Debug)]
struct ByName<T> {
    exact: HashMap<Box<[u8]>, T>,
    /// By what is behind the label, with its dot.
    wildcards: HashMap<Box<[u8]>, T>,
    /// Of all other hosts.
    others: Option<T>,
}

#[derive(Debug)]
struct Paths {
    exact: HashMap<Box<[u8]>, Found>,
    prefixes: LongestPrefix<Found>,
}

impl Hosts {
    /// The table of an index, and why shards of it could not be read: reads those that are not in this table. `load` gives the content of
    /// a file.
    ///
    /// A whole table stays as it is: a mix of two could be open where both are closed. Without one, the names of such shards are
    /// [`Closed`].
    pub fn updated(
        &self,
        index: &Index,
        mut load: impl FnMut(&str) -> io::Result<Vec<u8>>,
    ) -> (Self, Vec<InvalidTable>) {
        let mut errors = Vec::new();
        let known = self.shards.iter().map(Option::as_ref);
        let known = known.chain(std::iter::repeat(None));
        let shards = index.shards().iter().zip(known).map(|(file, known)| {
            let known = known.filter(|known| *known.file == **file);
            let read = || Loaded::read(file, load(file));
            let shard = known.cloned().map_or_else(read, Ok);
            shard.map_err(|error| errors.push(error)).ok()
        });
        let shards = shards.collect();
        let hosts = match self.is_whole() && !errors.is_empty() {
            true => self.clone(),
            false => Hosts { shards },
        };
        (hosts, errors)
    }

    /// True if all shards were read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.shards.is_empty() && self.shards.iter().all(Option::is_some)
    }

    /// The place of a request for this host (in lower case, without a port) and path (decoded and normalised).
    ///
    /// # Errors
    ///
    /// The host may be in a shard that could not be read.
    pub fn find(&self, host: &[u8], path: &[u8]) -> Result<Option<&Found>, Closed> {
        let paths = self.look_up(host, is_word, |names| &names.paths)?;
        Ok(paths.and_then(|paths| {
            let exact = paths.exact.get(path);
            exact.or_else(|| paths.prefixes.find(path))
        }))
    }

    /// The name in the table that a host (in lower case) has: its own, or a wildcard.
    ///
    /// # Errors
    ///
    /// The host may be in a shard that could not be read.
    pub fn name(&self, host: &[u8]) -> Result<Option<Vec<u8>>, Closed> {
        // No host is called so, whatever the shard has.
        if host.is_empty() {
            return Ok(None);
        }
        if self.shard(host)?.paths.exact.contains_key(host) {
            return Ok(Some(host.to_owned()));
        }
        let Some(suffix) = wildcard_suffix(host, is_word) else {
            return Ok(None);
        };
        let is_named = self.shard(suffix)?.paths.wildcards.contains_key(suffix);
        Ok(is_named.then(|| [b"*", suffix].concat()))
    }

    /// The certificate for a name that a client asks for, in lower case and without a dot at its end.
    ///
    /// # Errors
    ///
    /// The name may be in a shard that could not be read.
    pub fn certificate(&self, name: &[u8]) -> Result<Option<&[u8]>, Closed> {
        let found = self.look_up(name, |byte| byte != b'.', |names| &names.certificates);
        Ok(found?.map(|name| &**name))
    }

    /// The value of a name, or of the wildcard that it falls under, or of all others.
    fn look_up<'a, T>(
        &'a self,
        name: &[u8],
        is_of_label: fn(u8) -> bool,
        of: fn(&'a Names) -> &'a ByName<T>,
    ) -> Result<Option<&'a T>, Closed> {
        if let Some(found) = of(self.shard(name)?).exact.get(name) {
            return Ok(Some(found));
        }
        if let Some(suffix) = wildcard_suffix(name, is_of_label)
            && let Some(found) = of(self.shard(suffix)?).wildcards.get(suffix)
        {
            return Ok(Some(found));
        }
        Ok(of(self.shard(b"")?).others.as_ref())
    }

    fn shard(&self, name: &[u8]) -> Result<&Names, Closed> {
        match self.shards.get(shard_of(name)) {
            Some(Some(loaded)) => Ok(&loaded.shard),
            Some(None) | None => Err(Closed),
        }
    }
}

impl Loaded {
    fn read(file: &str, content: io::Result<Vec<u8>>) -> Result<Self, InvalidTable> {
        let content = content.map_err(|error| InvalidTable(format!("{file}: {error}")))?;
        if content_name(&content) != file {
            let reason = "not its content: torn, or somebody else's";
            return Err(InvalidTable(format!("{file}: {reason}")));
        }
        Ok(Loaded {
            file: file.into(),
            shard: Arc::new(Shard::parse(&content)?.into()),
        })
    }
}

/// Letters of a label, as nginx.conf's pattern for wildcards has them: `[\w-]`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The rest of a name behind its first label.
fn wildcard_suffix(name: &[u8], is_of_label: fn(u8) -> bool) -> Option<&[u8]> {
    let end = name.iter().position(|byte| *byte == b'.')?;
    let (label, suffix) = name.split_at(end);
    let is_label = !label.is_empty() && label.iter().all(|byte| is_of_label(*byte));
    is_label.then_some(suffix)
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        ByName {
            exact: HashMap::new(),
            wildcards: HashMap::new(),
            others: None,
        }
    }
}

impl<T> FromIterator<(String, T)> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        let mut all = ByName::default();
        for (name, value) in values {
            if name.is_empty() {
                all.others = Some(value);
            } else if let Some(suffix) = name.strip_prefix('*') {
                all.wildcards.insert(suffix.as_bytes().into(), value);
            } else {
                all.exact.insert(name.into_bytes().into(), value);
            }
        }
        all
    }
}

impl From<Shard> for Names {
    fn from(shard: Shard) -> Self {
        let mut profiles = HashMap::new();
        let hosts = shard.hosts.into_iter();
        let certificates = shard.certificates.into_iter();
        Names {
            paths: hosts
                .map(|(name, paths)| (name, Paths::new(paths, &mut profiles)))
                .collect(),
            certificates: certificates
                .map(|(name, file)| (name, file.into_bytes().into()))
                .collect(),
        }
    }
}

impl Paths {
    fn new(entries: Vec<PathEntry>, profiles: &mut HashMap<String, Arc<str>>) -> Self {
        let (mut exact, mut prefixes) = (HashMap::new(), Vec::new());
        for entry in entries {
            let path = entry.path.into_bytes().into_boxed_slice();
            // Hosts of a shard share a few profiles.
            let profile = profiles
                .entry(entry.profile)
                .or_insert_with_key(|name| name.as_str().into());
            let found = Found {
                profile: Arc::clone(profile),
                route: entry.route.into(),
                backend: entry.backend.into(),
            };
            if entry.exact {
                exact.insert(path, found);
            } else {
                prefixes.push((path, found));
            }
        }
        Paths {
            exact,
            prefixes: LongestPrefix::new(prefixes),
        }
    }
}

#[cfg(test)]
mod tests;
