//! Symbolic links to certificates. nginx.conf names one link for each host, whatever the host presents. It leads to the certificate of
//! the host, and as long as it has none, to the default one: a host that gets or loses a certificate needs no reload.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Changed, Config, SecretId, ServerName, SharedMap, changed};

use crate::files::names;

/// The link for every name that no host has.
const ANY: &str = "any";

/// The links of all names, and their targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertLinks {
    targets: SharedMap<String, String>,
    names: BTreeMap<ServerName, Link>,
    /// Names under a wildcard.
    by_wildcard: BTreeMap<ServerName, BTreeSet<ServerName>>,
    by_secret: BTreeMap<SecretId, BTreeSet<ServerName>>,
    used: BTreeMap<String, Target>,
}

/// A file that links lead to.
#[derive(Clone, Debug, Default)]
struct Target {
    links: usize,
    /// Its Secret; `None`: it is the default certificate.
    secret: Option<SecretId>,
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// Number of the servers and TLS settings that have the name.
    sources: usize,
    /// The certificate that it leads to, if there is one.
    wanted: Option<SecretId>,
    target: String,
}

/// The name of a link, without its extension.
pub(crate) fn link_name(name: &ServerName) -> String {
    match name {
        ServerName::CatchAll => ANY.to_owned(),
        ServerName::Exact(_) | ServerName::Wildcard(_) => {
            format!("host-{}", names::hash(&name.to_string()))
        }
    }
}

impl CertLinks {
    /// The links and their targets.
    pub(crate) fn targets(&self) -> &SharedMap<String, String> {
        &self.targets
    }

    /// True if a name has a link of its own.
    pub(crate) fn has(&self, name: &ServerName) -> bool {
        self.names.contains_key(name)
    }

    /// The names that have a link of their own, in the order of the configuration.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &ServerName> {
        let names = self.names.keys();
        names.filter(|name| **name != ServerName::CatchAll)
    }

    /// The Secret of a file that a link leads to.
    pub(crate) fn secret(&self, target: &str) -> Option<&SecretId> {
        self.used.get(target)?.secret.as_ref()
    }

    /// Follows a configuration, at the cost of what differs; returns the names that have got a link, or have lost it.
    pub(crate) fn update(&mut self, before: &Config, now: &Config) -> BTreeSet<ServerName> {
        let mut stale = BTreeSet::new();
        let mut renamed = BTreeSet::new();
        self.count(before, now, &mut renamed);
        for Changed { name, .. } in changed(&before.tls, &now.tls) {
            match name {
                ServerName::CatchAll => stale.extend(self.names.keys().cloned()),
                _ => stale.extend(self.by_wildcard.get(name).into_iter().flatten().cloned()),
            }
            stale.insert(name.clone());
        }
        let is_first = !self.names.contains_key(&ServerName::CatchAll);
        if before.default_certificate != now.default_certificate || is_first {
            let catch_all = self.names.entry(ServerName::CatchAll).or_default();
            catch_all.sources = 1;
            stale.extend(self.names.keys().cloned());
        }
        for changed in changed(&before.secrets, &now.secrets) {
            if changed.before.is_none() || changed.now.is_none() {
                stale.extend(
                    self.by_secret
                        .get(changed.name)
                        .into_iter()
                        .flatten()
                        .cloned(),
                );
            }
        }
        stale.extend(renamed.iter().cloned());
        stale.iter().for_each(|name| self.follow(name, now));
        renamed
    }

    /// Counts names of servers and of TLS settings; `renamed`: those that are new, or gone.
    fn count(&mut self, before: &Config, now: &Config, renamed: &mut BTreeSet<ServerName>) {
        let mut count = |name: &ServerName, is_more: bool| {
            if *name == ServerName::CatchAll {
                return;
            }
            let link = self.names.entry(name.clone()).or_default();
            let was_there = link.sources > 0;
            match is_more {
                true => link.sources += 1,
                false => link.sources -= 1,
            }
            if was_there != (link.sources > 0) && !renamed.remove(name) {
                renamed.insert(name.clone());
            }
        };
        for Changed { name, before, now } in changed(&before.servers, &now.servers) {
            let now = now.into_iter().flat_map(|server| server.names(name));
            now.for_each(|name| count(name, true));
            let before = before.into_iter().flat_map(|server| server.names(name));
            before.for_each(|name| count(name, false));
        }
        for Changed { name, before, now } in changed(&before.tls, &now.tls) {
            now.into_iter().for_each(|_| count(name, true));
            before.into_iter().for_each(|_| count(name, false));
        }
    }

    /// Points the link of a name to where it leads now.
    fn follow(&mut self, name: &ServerName, config: &Config) {
        let Some(link) = self.names.get(name) else {
            return;
        };
        let (former, is_gone) = (link.clone(), link.sources == 0);
        let file = names::file_name(&link_name(name));
        let wanted = certificate(name, config).filter(|_| !is_gone).cloned();
        let there = wanted.clone().filter(|id| config.secrets.contains_key(id));
        let target = names::file_name(&names::presented(there.as_ref()));
        self.count_target(&former.target, (!is_gone).then_some(&target), there);
        if let Some(wildcard) = name.wildcard_suffix().map(ServerName::Wildcard) {
            set(&mut self.by_wildcard, &wildcard, name, !is_gone);
        }
        if former.wanted != wanted {
            let former = former.wanted.iter();
            former.for_each(|id| set(&mut self.by_secret, id, name, false));
            let wanted = wanted.iter();
            wanted.for_each(|id| set(&mut self.by_secret, id, name, true));
        }
        if is_gone {
            self.names.remove(name);
            self.targets.remove(&file);
        } else if let Some(link) = self.names.get_mut(name) {
            (link.wanted, link.target) = (wanted, target.clone());
            if former.target != target {
                self.targets.insert(file, target);
            }
        }
    }

    /// Counts a link that has led to one file, and leads to another one now.
    fn count_target(&mut self, former: &str, now: Option<&String>, secret: Option<SecretId>) {
        if let Some(now) = now {
            let target = self.used.entry(now.clone()).or_default();
            (target.links, target.secret) = (target.links + 1, secret);
        }
        if let Some(target) = self.used.get_mut(former) {
            target.links -= 1;
            if target.links == 0 {
                self.used.remove(former);
            }
        }
    }
}

fn set<K: Ord + Clone>(
    index: &mut BTreeMap<K, BTreeSet<ServerName>>,
    key: &K,
    name: &ServerName,
    is_in: bool,
) {
    if is_in {
        index.entry(key.clone()).or_default().insert(name.clone());
    } else if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}

/// The host's own, else that of the wildcard that it falls under and is not set apart from, else the one for everybody.
fn certificate<'a>(name: &ServerName, config: &'a Config) -> Option<&'a SecretId> {
    let own = |name: &ServerName| {
        config
            .tls
            .get(name)
            .and_then(|host| host.certificate.as_ref())
    };
    let all = || own(&ServerName::CatchAll).or(config.default_certificate.as_ref());
    let is_apart = config
        .tls
        .get(name)
        .is_some_and(|host| host.no_wildcard_certificate);
    let wildcard = || {
        name.wildcard_suffix()
            .filter(|_| !is_apart)
            .map(ServerName::Wildcard)
    };
    own(name).or_else(|| own(&wildcard()?)).or_else(all)
}

#[cfg(test)]
mod tests {
    use sluice_ir::{HostTls, SecretValue, Sensitive, Server};

    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    /// Serves these hosts; each of the second ones presents the Secret of its name.
    fn config(hosts: &[&str], certificates: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        for host in hosts {
            config.servers.insert(name(host), Server::default().into());
        }
        for (host, secret) in certificates {
            let id = SecretId::new(format!("default/{secret}"));
            let value = SecretValue::Certificate {
                chain: "C".into(),
                key: Sensitive::new("K".into()),
            };
            config.secrets.insert(id.clone(), value);
            config.tls.insert(
                name(host),
                HostTls {
                    certificate: Some(id),
                    ..HostTls::default()
                },
            );
        }
        config
    }

    fn targets(config: &Config) -> SharedMap<String, String> {
        let mut links = CertLinks::default();
        links.update(&Config::default(), config);
        links.targets
    }

    fn leads_to(host: &str, config: &Config) -> String {
        targets(config)[&names::file_name(&link_name(&name(host)))].clone()
    }

    fn file(secret: &str) -> String {
        names::file_name(&names::presented(Some(&SecretId::new(format!(
            "default/{secret}"
        )))))
    }

    #[test]
    fn a_link_stays_and_its_target_changes() {
        let (without, with) = (
            config(&["a.test"], &[]),
            config(&["a.test"], &[("a.test", "own")]),
        );
        assert_eq!(
            targets(&without).keys().collect::<Vec<_>>(),
            targets(&with).keys().collect::<Vec<_>>()
        );
        assert_eq!(leads_to("a.test", &without), "default.pem");
        assert_eq!(leads_to("a.test", &with), file("own"));
    }

    #[test]
    fn a_host_without_a_certificate_presents_the_wildcards() {
        let config = config(&["a.b.test", "c.a.b.test"], &[("*.b.test", "wild")]);
        assert_eq!(leads_to("a.b.test", &config), file("wild"));
        assert_eq!(leads_to("c.a.b.test", &config), "default.pem");
    }

    #[test]
    fn a_host_that_is_set_apart_presents_the_one_for_everybody() {
        let mut config = config(&["a.b.test"], &[("*.b.test", "wild")]);
        config.tls.insert(
            name("a.b.test"),
            HostTls {
                no_wildcard_certificate: true,
                ..HostTls::default()
            },
        );
        assert_eq!(leads_to("a.b.test", &config), "default.pem");
    }

    #[test]
    fn the_operators_certificate_is_for_all_others() {
        let mut config = config(&["a.test"], &[("b.test", "own")]);
        config.default_certificate = Some(SecretId::new("default/own"));
        assert_eq!(
            (leads_to("a.test", &config), leads_to("", &config)),
            (file("own"), file("own"))
        );
        config.secrets.clear();
        assert_eq!(
            leads_to("b.test", &config),
            "default.pem",
            "what is not there is not presented"
        );
    }
}
