//! Which hosts are alike in a handshake: each kind is a filter chain.
//!
//! A name that is in no chain of its own falls to that of its wildcard, and then to the default one.

use std::collections::BTreeMap;

use sluice_ir::{Config, HostTls, ServerName};

/// By the suffix.
type Wildcards<'a> = BTreeMap<&'a str, &'a HostTls>;

/// What hosts are like, and who is. Those that are like all others, and need a chain nevertheless, are on their own, so that
/// one that is new or gone touches no other one's connections.
pub(super) fn alike(config: &Config) -> impl Iterator<Item = (HostTls, Vec<&ServerName>)> {
    let wildcards = wildcards(config);
    let mut alike: BTreeMap<HostTls, Vec<&ServerName>> = BTreeMap::new();
    let mut usual = Vec::new();
    for name in names(config, &wildcards) {
        match own(config, &wildcards, name) {
            Some(host) if host == HostTls::default() => usual.push((host, vec![name])),
            Some(host) => alike.entry(host).or_default().push(name),
            None => {}
        }
    }
    alike.into_iter().chain(usual)
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
    let is_passed =
        |name: &ServerName| matches!(name, ServerName::Exact(host) if config.passthrough.contains_key(host));
    let is_any_concerned =
        config.edge.tls.rejects_unknown || wildcards.values().any(|host| has_ciphers(host));
    let mut names: Vec<_> = if is_any_concerned {
        config.servers.iter().flat_map(|(name, server)| server.names(name)).collect()
    } else {
        config.tls.keys().collect()
    };
    names.retain(|name| **name != ServerName::CatchAll && !is_passed(name));
    names.sort_unstable();
    names
}

/// What a host is like, unless it is like its wildcard, or like all others where those are served. The certificate of its
/// wildcard is good for it.
fn own(config: &Config, wildcards: &Wildcards<'_>, name: &ServerName) -> Option<HostTls> {
    let own = config.tls.get(name);
    let wildcard = match name {
        ServerName::Exact(host) => {
            host.as_str().split_once('.').and_then(|(_, suffix)| wildcards.get(suffix))
        }
        _ => None,
    };
    let is_unlike = config.edge.tls.rejects_unknown || wildcard.is_some_and(|wildcard| has_ciphers(wildcard));
    if own.is_none() && !is_unlike {
        return None;
    }
    let own = own.cloned().unwrap_or_default();
    let certificate = own.certificate.or_else(|| wildcard?.certificate.clone());
    Some(HostTls { certificate, ..own })
}

fn has_ciphers(host: &HostTls) -> bool {
    !host.ciphers.is_empty()
}

#[cfg(test)]
mod tests {
    use sluice_ir::{SecretId, Server};

    use super::*;

    fn config(hosts: &[(&str, HostTls)]) -> Config {
        let mut config = Config::default();
        for (name, host) in hosts {
            let name = ServerName::parse(name).unwrap();
            config.servers.insert(name.clone(), Server::default().into());
            if *host != HostTls::default() {
                config.tls.insert(name, host.clone());
            }
        }
        config
    }

    fn host(certificate: &str, ciphers: &[&str]) -> HostTls {
        let certificate = (!certificate.is_empty()).then(|| SecretId::certificate("default", certificate));
        HostTls {
            certificate,
            ciphers: ciphers.iter().map(|name| (*name).to_owned()).collect(),
            clients: None,
        }
    }

    /// `names: certificate ciphers`
    fn shown(config: &Config) -> Vec<String> {
        let one = |(host, names): (HostTls, Vec<&ServerName>)| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let certificate = host.certificate.map_or_else(|| "-".to_owned(), |id| id.as_str().to_owned());
            format!("{}: {certificate} {}", names.join(","), host.ciphers.join(","))
        };
        alike(config).map(one).collect()
    }

    #[test]
    fn hosts_with_other_ciphers_are_not_alike_and_those_with_none_are_like_all_others() {
        let strict = || host("a", &["X"]);
        let hosts = [
            ("a.test", strict()),
            ("b.test", strict()),
            ("c.test", host("a", &[])),
            ("d.test", host("", &[])),
        ];
        assert_eq!(shown(&config(&hosts)), ["c.test: default/a ", "a.test,b.test: default/a X"]);
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
        let expected = ["a.w.test: default/w ", "*.w.test: default/w X", "b.w.test: default/w Y"];
        assert_eq!(shown(&config(&hosts)), expected);
    }

    #[test]
    fn where_unknown_names_are_rejected_every_host_has_a_chain() {
        let mut config = config(&[("a.test", host("", &[])), ("b.test", host("", &[]))]);
        config.servers.insert(ServerName::CatchAll, Server::default().into());
        assert_eq!(shown(&config), [""; 0]);
        config.edge.tls.rejects_unknown = true;
        assert_eq!(shown(&config), ["a.test: - ", "b.test: - "]);
    }
}
