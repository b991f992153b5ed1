//! Symbolic links to certificates. nginx.conf names one link for each host, whatever the host presents. It leads to the certificate of
//! the host, and as long as it has none, to the default one: a host that gets or loses a certificate needs no reload.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Config, SecretId, ServerName};

use crate::files::names;

/// The link for every name that no host has.
const ANY: &str = "any";

/// The names that have a link of their own, in the order of the configuration.
pub(crate) fn hosts(config: &Config) -> BTreeSet<&ServerName> {
    let served = config
        .servers
        .iter()
        .flat_map(|(name, server)| server.names(name));
    served
        .chain(config.tls.keys())
        .filter(|name| **name != ServerName::CatchAll)
        .collect()
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

/// The links and their targets.
pub(crate) fn targets(config: &Config) -> BTreeMap<String, String> {
    let names = hosts(config).into_iter().chain([&ServerName::CatchAll]);
    names
        .map(|name| {
            (
                names::file_name(&link_name(name)),
                names::file_name(&names::presented(certificate(name, config))),
            )
        })
        .collect()
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
    let id = own(name).or_else(|| own(&wildcard()?)).or_else(all);
    id.filter(|id| config.secrets.contains_key(*id))
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
