//! A table in the form that requests are looked up in.

use std::collections::HashMap;
use std::sync::Arc;

use crate::longest_prefix::LongestPrefix;
use crate::{HostTable, InvalidTable, PathEntry};

/// Hosts with their paths, and certificates.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    paths: ByName<Paths>,
    certificates: ByName<Box<[u8]>>,
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

/// Values by exact names and by wildcards of one label.
#[derive(Clone, Debug)]
struct ByName<T> {
    exact: HashMap<Box<[u8]>, T>,
    /// By what is behind the label, with its dot.
    wildcards: HashMap<Box<[u8]>, T>,
    /// Of all other hosts.
    others: Option<T>,
}

#[derive(Clone, Debug)]
struct Paths {
    exact: HashMap<Box<[u8]>, Found>,
    prefixes: LongestPrefix<Found>,
}

impl Hosts {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It is no table of this schema.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidTable> {
        HostTable::parse(text).map(Hosts::from)
    }

    /// The place of a request for this host (in lower case, without a port) and path (decoded and normalised).
    #[must_use]
    pub fn find(&self, host: &[u8], path: &[u8]) -> Option<&Found> {
        let paths = self.paths.find(host, is_word)?;
        let exact = paths.exact.get(path);
        exact.or_else(|| paths.prefixes.find(path))
    }

    /// The name in the table that a host (in lower case) has: its own, or a wildcard.
    #[must_use]
    pub fn name(&self, host: &[u8]) -> Option<Vec<u8>> {
        if self.paths.exact.contains_key(host) {
            return Some(host.to_owned());
        }
        let suffix = wildcard_suffix(host, is_word)?;
        let is_named = self.paths.wildcards.contains_key(suffix);
        is_named.then(|| [b"*", suffix].concat())
    }

    /// The certificate for a name that a client asks for, in lower case and without a dot at its end.
    #[must_use]
    pub fn certificate(&self, name: &[u8]) -> Option<&[u8]> {
        let found = self.certificates.find(name, |byte| byte != b'.');
        found.map(|name| &**name)
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

impl<T> ByName<T> {
    fn find(&self, name: &[u8], is_of_label: fn(u8) -> bool) -> Option<&T> {
        let wildcard = || self.wildcards.get(wildcard_suffix(name, is_of_label)?);
        let named = self.exact.get(name).or_else(wildcard);
        named.or(self.others.as_ref())
    }
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

impl From<HostTable> for Hosts {
    fn from(table: HostTable) -> Self {
        let mut profiles = HashMap::new();
        let hosts = table.hosts.into_iter();
        let certificates = table.certificates.into_iter();
        Hosts {
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
            // A table of ten thousand paths has a few profiles.
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
        let hosts = named.iter().map(|(host, paths)| entries(host, paths));
        let certificates = certificates
            .iter()
            .map(|name| ((*name).to_owned(), (*name).to_owned()));
        HostTable::new(hosts.collect(), certificates.collect::<BTreeMap<_, _>>()).into()
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
