//! URLs of services that annotations name, and where they lead.

use std::net::IpAddr;

use sluice_ir::{Hostname, Transport, UpstreamTls};

use crate::ObjectKey;
use crate::annotations::Parsed;
use crate::backends::Port;

/// The scheme, the host and the port of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) tls: bool,
    pub(crate) host: Hostname,
    pub(crate) port: u16,
}

impl Target {
    /// Reads the beginning of a URL; the rest comes back as it is.
    pub(crate) fn parse(text: &str) -> Parsed<(Self, &str)> {
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err("a URL that begins with http:// or https://".into()),
        };
        let end = rest.find(['/', '?', '#', '$']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, port.parse().ok().filter(|port| *port != 0)),
            None => (authority, Some(if tls { 443 } else { 80 })),
        };
        let host = Hostname::parse(host).map_err(|_| "a URL with the name of a host")?;
        if is_forbidden(&host) {
            return Err("a URL that leads neither to Sluice's own machine nor to a cloud's metadata".into());
        }
        let port = port.ok_or("a URL with a port from 1 to 65535")?;
        Ok((Target { tls, host, port }, path))
    }

    /// As nginx speaks to what annotations name: the name is sent, and nothing is verified.
    pub(crate) fn transport(&self, connect_timeout: u32) -> Transport {
        let tls = UpstreamTls { server_name: Some(self.host.as_str().to_owned()), ..UpstreamTls::default() };
        Transport { connect_timeout, tls: self.tls.then_some(tls), ..Transport::default() }
    }

    /// The Service, when it is one of the cluster: `name.namespace.svc`, with or without the cluster's domain.
    pub(crate) fn service(&self) -> Option<(ObjectKey, Port)> {
        let mut labels = self.host.as_str().split('.');
        let (name, namespace, svc) = (labels.next()?, labels.next()?, labels.next()?);
        let domain: Vec<&str> = labels.collect();
        let in_cluster = svc == "svc" && (domain.is_empty() || domain == ["cluster", "local"]);
        in_cluster.then(|| (ObjectKey::new(namespace, name), Port::Number(self.port.into())))
    }
}

/// What a tenant must not make the data plane ask (R9 of the security rules): the data plane's own machine, where the
/// admin interface listens, and what tells machines who they are. Names that resolve to such addresses are not seen
/// here; a network policy has to stop them.
pub(crate) fn is_forbidden(host: &Hostname) -> bool {
    let name = host.as_str();
    let by_name = name == "localhost" || name.ends_with(".localhost") || name == "metadata.google.internal";
    let by_address = name.parse().is_ok_and(|ip| match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified(),
    });
    // Old ways to write an address that resolvers still read: 127.1, 2130706433, 0x7f.1.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = |label: &str| label.bytes().all(|b| b.is_ascii_digit()) || label.starts_with("0x");
    let odd_address = is_number(last) && name.parse::<IpAddr>().is_err();
    by_name || by_address || odd_address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_host_a_port_and_the_rest() {
        let (target, rest) = Target::parse("https://auth.example/verify?a=b").unwrap();
        assert_eq!(
            (target.tls, target.host.as_str(), target.port, rest),
            (true, "auth.example", 443, "/verify?a=b")
        );
        assert_eq!(Target::parse("http://a.b.svc:8080").unwrap().0.port, 8080);
        assert_eq!(Target::parse("http://a$request_uri").unwrap().1, "$request_uri");
        for bad in [
            "ftp://a",
            "http://",
            "https://invalid..host",
            "http://a:0",
            "http://a:x",
            "http://a@b",
            "//a",
            "a",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nobody_reaches_the_machine_itself() {
        for bad in [
            "http://localhost",
            "http://127.0.0.1:9901",
            "http://127.1",
            "http://2130706433",
            "http://0x7f.1",
            "http://169.254.169.254/latest",
            "http://0.0.0.0",
            "http://metadata.google.internal",
            "http://a.localhost",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn services_of_the_cluster_are_known_by_their_name() {
        let service =
            |url: &str| Target::parse(url).unwrap().0.service().map(|(key, port)| (key.to_string(), port));
        let expected = Some(("ns/auth".to_owned(), Port::Number(80)));
        assert_eq!(service("http://auth.ns.svc/x"), expected);
        assert_eq!(service("http://auth.ns.svc.cluster.local"), expected);
        assert_eq!(service("http://auth.example.com"), None);
    }
}
