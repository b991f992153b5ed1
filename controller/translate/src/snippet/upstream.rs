//! Directives that have annotations of the same name, which ingress-nginx writes only where the annotation is set.
//!
//! ```text
//!   limit_rate 100k             bandwidth of one response
//!   proxy_ssl_name a.test       name of pods over TLS ...
//!   proxy_ssl_server_name on    ... which they are told
//! ```

use std::num::NonZeroU32;

use sluice_ir::Hostname;
use sluice_syntax::value;

use super::harmless_headers::bare;

/// Their names.
pub(super) const DIRECTIVES: [&str; 3] = ["limit_rate", "proxy_ssl_name", "proxy_ssl_server_name"];

/// Host of ingress-nginx's `proxy_pass`, which pods are told where no other is said.
pub(super) const UPSTREAM: &str = "upstream_balancer";
const KIB: u64 = 1024;

/// Settings of a snippet for responses and for connections to pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    /// KiB of one response in a second.
    pub(crate) bandwidth_limit: Option<NonZeroU32>,
    /// SNI.
    pub(crate) server_name: Option<String>,
}

/// The same in the making. nginx takes no directive twice.
#[derive(Clone, Debug, Default)]
pub(super) struct UpstreamDirectives {
    rate: Option<NonZeroU32>,
    name: Option<String>,
    sends_name: Option<bool>,
}

impl UpstreamDirectives {
    /// Takes one directive. `None`: it is none of these. `hosts`: all that it is for, where they are known.
    pub(super) fn add(&mut self, words: &[&str], hosts: Option<&[Hostname]>) -> Option<()> {
        let is_first = match *words {
            ["limit_rate", size] => self.rate.replace(kib(size)?).is_none(),
            ["proxy_ssl_name", name] => self.name.replace(server_name(name, hosts)?).is_none(),
            ["proxy_ssl_server_name", "on"] => self.sends_name.replace(true).is_none(),
            ["proxy_ssl_server_name", "off"] => self.sends_name.replace(false).is_none(),
            _ => return None,
        };
        is_first.then_some(())
    }

    pub(super) fn finish(self) -> Upstream {
        let name = || self.name.unwrap_or_else(|| UPSTREAM.to_owned());
        Upstream {
            bandwidth_limit: self.rate,
            server_name: self.sends_name.unwrap_or_default().then(name),
        }
    }
}

/// A name, or that of the only host. With several, connections to pods would have to be told apart by it.
fn server_name(name: &str, hosts: Option<&[Hostname]>) -> Option<String> {
    let host = match (bare(name).as_str(), hosts) {
        ("$host", Some([host])) => host.clone(),
        _ => Hostname::parse(name).ok()?,
    };
    Some(host.as_str().to_owned())
}

/// Data planes count in KiB.
fn kib(size: &str) -> Option<NonZeroU32> {
    let bytes = value::size(size).ok()?;
    let whole = bytes.is_multiple_of(KIB).then_some(bytes / KIB)?;
    NonZeroU32::new(u32::try_from(whole).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(directives: &[&str]) -> Option<Upstream> {
        read_for(directives, None)
    }

    fn read_for(directives: &[&str], hosts: Option<&[Hostname]>) -> Option<Upstream> {
        let mut upstream = UpstreamDirectives::default();
        for directive in directives {
            let words: Vec<&str> = directive.split(' ').collect();
            upstream.add(&words, hosts)?;
        }
        Some(upstream.finish())
    }

    #[test]
    fn pods_are_told_a_name_where_it_is_switched_on() {
        let name = |directives| read(directives).unwrap().server_name;
        let named = ["proxy_ssl_name Pods.Test", "proxy_ssl_server_name on"];
        assert_eq!(name(&named), Some("pods.test".to_owned()));
        assert_eq!(name(&named[1..]), Some(UPSTREAM.to_owned()));
        for silent in [
            &named[..1],
            &["proxy_ssl_name a.test", "proxy_ssl_server_name off"],
        ] {
            assert_eq!(read(silent), Some(Upstream::default()));
        }
    }

    #[test]
    fn a_variable_is_the_only_host() {
        let hosts = ["a.test", "b.test"].map(|name| Hostname::parse(name).unwrap());
        for name in ["$host", "${host}"] {
            let name = format!("proxy_ssl_name {name}");
            let directives = [name.as_str(), "proxy_ssl_server_name on"];
            let upstream = read_for(&directives, Some(&hosts[..1])).unwrap();
            assert_eq!(upstream.server_name.as_deref(), Some("a.test"));
            assert_eq!(read_for(&directives, Some(&hosts)), None);
            assert_eq!(read_for(&directives, Some(&[])), None);
            assert_eq!(read_for(&directives, None), None);
        }
        assert_eq!(
            read_for(&["proxy_ssl_name $http_host"], Some(&hosts[..1])),
            None
        );
    }

    #[test]
    fn a_rate_is_in_whole_kib() {
        for (size, kib) in [("100k", 100), ("2M", 2048), ("4096", 4)] {
            let rate = read(&[&format!("limit_rate {size}")]).unwrap();
            assert_eq!(rate.bandwidth_limit, NonZeroU32::new(kib));
        }
        for bad in [
            &["limit_rate 1000"][..],
            &["limit_rate 0"],
            &["limit_rate $rate"],
            &["limit_rate 1k", "limit_rate 1k"],
            &["limit_rate 9999999999g"],
            &["proxy_ssl_name $proxy_host"],
            &["proxy_ssl_server_name maybe"],
            &["proxy_ssl_verify on"],
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
