//! Filter chains: hosts with the same TLS settings share one.
//!
//! A name that is in no chain of its own falls to that of its wildcard, and then to the default one. Envoy's wildcards take any
//! number of labels and ours one, so hosts further below one have a chain of their own.

use std::collections::BTreeMap;

use sluice_ir::{BackendId, Config, HostTls, SecretId, Server, ServerName, Shared, changed};

use crate::digest::digest;

/// Name of the chain for hosts without settings of their own.
pub(super) const DEFAULT_CHAIN: &str = "default";

/// By the suffix.
type Wildcards<'a> = BTreeMap<&'a str, &'a HostTls>;

/// TLS settings and the hosts that have them.
pub(super) fn groups(config: &Config) -> BTreeMap<HostTls, Vec<&ServerName>> {
    let wildcards = wildcards(config);
    let mut groups: BTreeMap<HostTls, Vec<&ServerName>> = BTreeMap::new();
    for name in names(config, &wildcards) {
        if let Some(host) = own(config, &wildcards, name) {
            groups.entry(host).or_default().push(name);
        }
    }
    groups
}

/// True if two configurations with the same global settings have the same chains, found at the cost of what differs.
pub(crate) fn have_same_chains(before: &Config, now: &Config) -> bool {
    changed(&before.tls, &now.tls).next().is_none()
        && changed(&before.passthrough, &now.passthrough)
            .next()
            .is_none()
        && (are_names_same(&before.servers, &now.servers)
            || !are_all_concerned(now, &wildcards(now)))
}

fn are_names_same(before: &Shared<ServerName, Server>, now: &Shared<ServerName, Server>) -> bool {
    changed(before, now).all(|server| match (server.before, server.now) {
        (Some(before), Some(now)) => before.names(server.name).eq(now.names(server.name)),
        _ => false,
    })
}

/// Hosts whose TLS ends at the pods, by their backend.
pub(super) fn passed(config: &Config) -> BTreeMap<&BackendId, Vec<ServerName>> {
    let mut passed: BTreeMap<&BackendId, Vec<ServerName>> = BTreeMap::new();
    for (host, backend) in &config.passthrough {
        let host = ServerName::Exact(host.clone());
        passed.entry(backend).or_default().push(host);
    }
    passed
}

/// Name of the chain for hosts with these settings: other settings have another, and hosts make no difference.
pub(super) fn name(host: &HostTls) -> String {
    if *host == HostTls::default() {
        return DEFAULT_CHAIN.to_owned();
    }
    let digest = digest(format!("{host:?}"));
    let certificate = host.certificate.as_ref().map_or("-", SecretId::as_str);
    format!("tls {certificate} {digest}")
}

fn wildcards(config: &Config) -> Wildcards<'_> {
    let named = config.tls.iter().filter_map(|(name, host)| match name {
        ServerName::Wildcard(suffix) => Some((suffix.as_str(), host)),
        _ => None,
    });
    named.collect()
}

/// Those that may have a chain, but for those whose TLS ends at the pods.
fn names<'a>(config: &'a Config, wildcards: &Wildcards<'_>) -> Vec<&'a ServerName> {
    let is_passed = |name: &ServerName| matches!(name, ServerName::Exact(host) if config.passthrough.contains_key(host));
    let mut names: Vec<_> = if are_all_concerned(config, wildcards) {
        config
            .servers
            .iter()
            .flat_map(|(name, server)| server.names(name))
            .collect()
    } else {
        config.tls.keys().collect()
    };
    names.retain(|name| **name != ServerName::CatchAll && !is_passed(name));
    names.sort_unstable();
    names
}

/// True if hosts without settings of their own may have a chain, too.
fn are_all_concerned(config: &Config, wildcards: &Wildcards<'_>) -> bool {
    config.global.tls.reject_unknown_names || !wildcards.is_empty()
}

/// TLS settings of a host, unless it shares those of its wildcard, or the default ones where those are served. The certificate of its
/// wildcard is good for it.
fn own(config: &Config, wildcards: &Wildcards<'_>, name: &ServerName) -> Option<HostTls> {
    let own = config.tls.get(name);
    let over = name.wildcard_suffix();
    let over = over.as_ref().filter(|_| !wildcards.is_empty());
    let wildcard = over.and_then(|suffix| wildcards.get(suffix.as_str()));
    let is_further_below = || match name {
        ServerName::Exact(_) => over.is_some_and(|suffix| is_below(suffix.as_str(), wildcards)),
        ServerName::Wildcard(suffix) => is_below(suffix.as_str(), wildcards),
        ServerName::CatchAll => false,
    };
    let is_unlike = config.global.tls.reject_unknown_names
        || wildcard.map_or_else(is_further_below, |wildcard| has_ciphers(wildcard));
    if own.is_none() && !is_unlike {
        return None;
    }
    let own = own.cloned().unwrap_or_default();
    let inherited = || {
        wildcard
            .filter(|_| !own.no_wildcard_certificate)?
            .certificate
            .clone()
    };
    let certificate = own.certificate.clone().or_else(inherited);
    Some(HostTls {
        certificate,
        no_wildcard_certificate: false,
        ..own
    })
}

/// True if a name falls under a wildcard.
fn is_below(name: &str, wildcards: &Wildcards<'_>) -> bool {
    let parents = std::iter::successors(Some(name), |name| {
        name.split_once('.').map(|(_, parent)| parent)
    });
    parents.skip(1).any(|parent| wildcards.contains_key(parent))
}

fn has_ciphers(host: &HostTls) -> bool {
    !host.ciphers.is_empty()
}

#[cfg(test)]
mod tests {
    use sluice_ir::Server;

    use super::*;

    fn config(hosts: &[(&str, HostTls)]) -> Config {
        let mut config = Config::default();
        for (name, host) in hosts {
            let name = ServerName::parse(name).unwrap();
            config
                .servers
                .insert(name.clone(), Server::default().into());
            if *host != HostTls::default() {
                config.tls.insert(name, host.clone());
            }
        }
        config
    }

    fn host(certificate: &str, ciphers: &[&str]) -> HostTls {
        let certificate =
            (!certificate.is_empty()).then(|| SecretId::new(format!("default/{certificate}")));
        HostTls {
            certificate,
            ciphers: ciphers.iter().map(|name| (*name).to_owned()).collect(),
            client_validation: None,
            no_wildcard_certificate: false,
        }
    }

    /// `names: certificate ciphers`
    fn shown(config: &Config) -> Vec<String> {
        let one = |(host, names): (HostTls, Vec<&ServerName>)| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let certificate = host
                .certificate
                .map_or_else(|| "-".to_owned(), |id| id.as_str().to_owned());
            format!(
                "{}: {certificate} {}",
                names.join(","),
                host.ciphers.join(",")
            )
        };
        groups(config).into_iter().map(one).collect()
    }

    #[test]
    fn hosts_with_other_ciphers_are_not_in_one_group_and_those_with_none_are_in_the_default_one() {
        let strict = || host("a", &["X"]);
        let hosts = [
            ("a.test", strict()),
            ("b.test", strict()),
            ("c.test", host("a", &[])),
            ("d.test", host("", &[])),
        ];
        assert_eq!(
            shown(&config(&hosts)),
            ["c.test: default/a ", "a.test,b.test: default/a X"]
        );
    }

    #[test]
    fn ciphers_of_a_wildcard_are_not_those_of_a_host_below_it_and_its_certificate_is() {
        let plain = || host("", &[]);
        let hosts = [
            ("*.w.test", host("w", &["X"])),
            ("a.w.test", plain()),
            ("b.w.test", host("", &["Y"])),
            ("c.test", plain()),
        ];
        let expected = [
            "a.w.test: default/w ",
            "*.w.test: default/w X",
            "b.w.test: default/w Y",
        ];
        assert_eq!(shown(&config(&hosts)), expected);
    }

    #[test]
    fn what_is_not_the_wildcards_does_not_present_its_certificate() {
        let plain = || host("", &[]);
        let hosts = [
            ("*.w.test", host("w", &[])),
            ("a.w.test", plain()),
            (
                "b.w.test",
                HostTls {
                    no_wildcard_certificate: true,
                    ..plain()
                },
            ),
            ("c.b.w.test", plain()),
        ];
        assert_eq!(
            shown(&config(&hosts)),
            ["b.w.test,c.b.w.test: - ", "*.w.test: default/w "]
        );
    }

    #[test]
    fn a_wildcard_takes_nothing_from_one_above_it() {
        let hosts = [
            ("*.test", host("top", &["X"])),
            ("*.mid.test", host("", &[])),
            ("*.own.mid.test", host("own", &[])),
            ("a.mid.test", host("", &[])),
        ];
        let expected = [
            "a.mid.test,*.mid.test: - ",
            "*.own.mid.test: default/own ",
            "*.test: default/top X",
        ];
        assert_eq!(shown(&config(&hosts)), expected);
    }

    #[test]
    fn where_unknown_names_are_rejected_every_host_has_a_chain() {
        let mut config = config(&[("a.test", host("", &[])), ("b.test", host("", &[]))]);
        config
            .servers
            .insert(ServerName::CatchAll, Server::default().into());
        assert_eq!(shown(&config), [""; 0]);
        config.global.tls.reject_unknown_names = true;
        assert_eq!(shown(&config), ["a.test,b.test: - "]);
    }
}
