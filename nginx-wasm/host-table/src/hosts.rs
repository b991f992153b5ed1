//! A table in the form that requests are looked up in.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::longest_prefix::LongestPrefix;
use crate::{Index, InvalidTable, PathEntry, Shard, content_name, shard_of};

/// Hosts with their paths, and certificates. A copy shares what it has in common.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// By their numbers; none in a table that was not read yet.
    shards: Vec<Loaded>,
}

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
    /// The table of an index: reads the shards that are not in this one. `load` gives the content of a file.
    ///
    /// # Errors
    ///
    /// A shard cannot be read, or is not the one of that name. This table is as it was.
    pub fn updated(
        &self,
        index: &Index,
        mut load: impl FnMut(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Self, InvalidTable> {
        let known = self.shards.iter().map(Some);
        let known = known.chain(std::iter::repeat(None));
        let shards = index.shards().iter().zip(known).map(|(file, known)| {
            let known = known.filter(|known| *known.file == **file);
            known
                .cloned()
                .map_or_else(|| Loaded::read(file, load(file)), Ok)
        });
        Ok(Hosts {
            shards: shards.collect::<Result<_, _>>()?,
        })
    }

    /// The place of a request for this host (in lower case, without a port) and path (decoded and normalised).
    #[must_use]
    pub fn find(&self, host: &[u8], path: &[u8]) -> Option<&Found> {
        let paths = self.look_up(host, is_word, |names| &names.paths)?;
        let exact = paths.exact.get(path);
        exact.or_else(|| paths.prefixes.find(path))
    }

    /// The name in the table that a host (in lower case) has: its own, or a wildcard.
    #[must_use]
    pub fn name(&self, host: &[u8]) -> Option<Vec<u8>> {
        let shard = |name| self.shard(name).map(|names| &names.paths);
        if shard(host)?.exact.contains_key(host) {
            return Some(host.to_owned());
        }
        let suffix = wildcard_suffix(host, is_word)?;
        let is_named = shard(suffix)?.wildcards.contains_key(suffix);
        is_named.then(|| [b"*", suffix].concat())
    }

    /// The certificate for a name that a client asks for, in lower case and without a dot at its end.
    #[must_use]
    pub fn certificate(&self, name: &[u8]) -> Option<&[u8]> {
        let found = self.look_up(name, |byte| byte != b'.', |names| &names.certificates);
        found.map(|name| &**name)
    }

    /// The value of a name, or of the wildcard that it falls under, or of all others.
    fn look_up<'a, T>(
        &'a self,
        name: &[u8],
        is_of_label: fn(u8) -> bool,
        of: fn(&'a Names) -> &'a ByName<T>,
    ) -> Option<&'a T> {
        let wildcard = || {
            let suffix = wildcard_suffix(name, is_of_label)?;
            of(self.shard(suffix)?).wildcards.get(suffix)
        };
        let named = of(self.shard(name)?).exact.get(name).or_else(wildcard);
        named.or_else(|| of(self.shard(b"")?).others.as_ref())
    }

    fn shard(&self, name: &[u8]) -> Option<&Names> {
        let loaded = self.shards.get(shard_of(name))?;
        Some(&loaded.shard)
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::SHARDS;

    fn entry(host: &str, path: &str, exact: bool) -> PathEntry {
        PathEntry {
            path: path.to_owned(),
            exact,
            profile: "p".to_owned(),
            route: format!("{host} {path}"),
            backend: String::new(),
        }
    }

    fn hosts(named: &[(&str, &[(&str, bool)])], certificates: &[&str]) -> Hosts {
        let entries = |host: &str, paths: &[(&str, bool)]| {
            let paths = paths.iter().map(|(path, exact)| entry(host, path, *exact));
            (host.to_owned(), paths.collect::<Vec<_>>())
        };
        let mut shards = vec![Shard::default(); SHARDS];
        for (host, paths) in named.iter().map(|(host, paths)| entries(host, paths)) {
            shards[shard_of(host.as_bytes())].hosts.insert(host, paths);
        }
        for name in certificates {
            let of = &mut shards[shard_of(name.as_bytes())].certificates;
            of.insert((*name).to_owned(), (*name).to_owned());
        }
        let (index, files) = written(&shards);
        let read = Hosts::default().updated(&index, |file| Ok(files[file].clone()));
        read.unwrap()
    }

    fn written(shards: &[Shard]) -> (Index, BTreeMap<String, Vec<u8>>) {
        let texts = shards.iter().map(|shard| shard.to_json().into_bytes());
        let named: Vec<_> = texts.map(|text| (content_name(&text), text)).collect();
        let index = Index::new("t", named.iter().map(|(name, _)| name.clone()));
        (index, named.into_iter().collect())
    }

    fn with_host(mut shards: Vec<Shard>, host: &str) -> Vec<Shard> {
        let shard = &mut shards[shard_of(host.as_bytes())];
        let paths = vec![entry(host, "/", false)];
        shard.hosts.insert(host.to_owned(), paths);
        shards
    }

    #[test]
    fn only_shards_that_are_new_are_read_and_all_of_them_or_none() {
        let first = with_host(vec![Shard::default(); SHARDS], "a.test");
        let (index, files) = written(&first);
        let before = Hosts::default().updated(&index, |file| Ok(files[file].clone()));
        let before = before.unwrap();
        let (index, files) = written(&with_host(with_host(first, "b.test"), "c.test"));
        let mut read = 0;
        let count = |file: &str| {
            read += 1;
            Ok(files[file].clone())
        };
        let after = before.updated(&index, count).unwrap();
        assert_eq!(read, 2);
        let has = |hosts: &Hosts, host: &str| hosts.find(host.as_bytes(), b"/").is_some();
        assert!(
            ["a.test", "b.test", "c.test"]
                .iter()
                .all(|host| has(&after, host))
        );
        type Read = fn(Vec<u8>) -> io::Result<Vec<u8>>;
        let broken: [Read; 4] = [
            |_| Err(io::ErrorKind::NotFound.into()),
            |mut text| Ok(text.drain(..text.len() / 2).collect()),
            |_| Ok(Shard::default().to_json().into()),
            |_| Ok(Vec::new()),
        ];
        for breaks in broken {
            let mut left = 1;
            let load = |file: &str| {
                left -= 1;
                let text = files[file].clone();
                if left < 0 { breaks(text) } else { Ok(text) }
            };
            before.updated(&index, load).unwrap_err();
            assert!(has(&before, "a.test") && !has(&before, "b.test"));
        }
    }

    #[test]
    fn exact_names_come_before_wildcards_and_those_before_all_others() {
        let all: &[(&str, bool)] = &[("/", false)];
        let hosts = hosts(&[("a.b.test", all), ("*.b.test", all), ("", all)], &[]);
        for (host, expected) in [
            ("a.b.test", "a.b.test /"),
            ("x-1.b.test", "*.b.test /"),
            ("x_1.b.test", "*.b.test /"),
            ("c.a.b.test", " /"),
            (".b.test", " /"),
            ("x!.b.test", " /"),
            ("b.test", " /"),
            ("", " /"),
        ] {
            let found = hosts.find(host.as_bytes(), b"/x").unwrap();
            assert_eq!(&*found.route, expected, "{host}");
            let name = hosts.name(host.as_bytes());
            let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
            assert_eq!(name.unwrap_or_default() + " /", expected, "{host}");
        }
    }

    #[test]
    fn exact_path_comes_before_the_longest_prefix() {
        let paths: &[(&str, bool)] = &[
            ("/shop", true),
            ("/shop/", false),
            ("/shop/new", true),
            ("/", true),
        ];
        let hosts = hosts(&[("a.test", paths)], &[]);
        let found = |path: &str| {
            let found = hosts.find(b"a.test", path.as_bytes());
            found.map_or("", |found| &found.route)
        };
        assert_eq!(found("/shop"), "a.test /shop");
        assert_eq!(found("/shop/new"), "a.test /shop/new");
        assert_eq!(found("/shop/new/"), "a.test /shop/");
        assert_eq!(found("/shopping"), "");
        assert_eq!(found("/"), "a.test /");
        assert!(hosts.find(b"b.test", b"/").is_none());
    }

    #[test]
    fn certificate_of_a_wildcard_is_for_one_label() {
        let hosts = hosts(&[], &["a.b.test", "*.b.test"]);
        let certificate = |name: &str| {
            let found = hosts.certificate(name.as_bytes());
            found.map(|found| String::from_utf8_lossy(found).into_owned())
        };
        assert_eq!(certificate("a.b.test").as_deref(), Some("a.b.test"));
        assert_eq!(certificate("x y.b.test").as_deref(), Some("*.b.test"));
        assert_eq!(certificate("c.a.b.test"), None);
        assert_eq!(certificate(""), None);
    }
}
