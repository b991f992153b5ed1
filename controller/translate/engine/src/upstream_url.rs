//! URLs of upstreams that objects name, and the check of where they lead.

use std::net::{IpAddr, SocketAddr};

use sluice_ir::{Hostname, Transport, UpstreamTls};
use sluice_syntax::Parsed;

use crate::service_port::Port;
use crate::{AddressPolicy, ObjectKey, Provenance};

/// The scheme, the host and the port of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamUrl {
    /// True for https.
    pub tls: bool,
    /// The host.
    pub host: Hostname,
    /// The port, that of the scheme if none is written.
    pub port: u16,
}

impl UpstreamUrl {
    /// Reads the beginning of a URL that a tenant wrote, and refuses it where it leads nowhere that may be dialled; the
    /// rest comes back as it is. What a name leads to is judged when it has been resolved.
    pub fn parse<'t>(text: &'t str, addresses: &AddressPolicy) -> Parsed<(Self, &'t str)> {
        let (target, rest) = UpstreamUrl::read(text)?;
        if check(&target.host, target.port, addresses).is_err() {
            return Err(
                "a URL that leads neither to Sluice's own machine nor to a cloud's metadata".into(),
            );
        }
        Ok((target, rest))
    }

    /// The same, wherever it leads.
    pub fn read(text: &str) -> Parsed<(Self, &str)> {
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
        let port = port.ok_or("a URL with a port from 1 to 65535")?;
        Ok((UpstreamUrl { tls, host, port }, path))
    }

    /// As nginx speaks to what annotations name: the name is sent, and nothing is verified.
    pub fn transport(&self, connect_timeout: u32) -> Transport {
        let tls = UpstreamTls {
            server_name: Some(self.host.as_str().to_owned()),
            ..UpstreamTls::default()
        };
        Transport {
            connect_timeout,
            tls: self.tls.then_some(tls),
            ..Transport::default()
        }
    }

    /// The Service, when it is one of the cluster: `name.namespace.svc`, with or without the cluster's domain.
    pub fn service(&self) -> Option<(ObjectKey, Port)> {
        let mut labels = self.host.as_str().split('.');
        let (name, namespace, svc) = (labels.next()?, labels.next()?, labels.next()?);
        let domain: Vec<&str> = labels.collect();
        let in_cluster = svc == "svc" && (domain.is_empty() || domain == ["cluster", "local"]);
        in_cluster.then(|| {
            (
                ObjectKey::new(namespace, name),
                Port::Number(self.port.into()),
            )
        })
    }
}

/// Names of this machine and of metadata services, as clouds' own resolvers know them. Their addresses are refused anyway;
/// by name they are refused before anything is asked.
const FORBIDDEN_NAMES: [&str; 8] = [
    "instance-data",
    "instance-data.ec2.internal",
    "localhost",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
    "api.metadata.cloud.ibm.com",
];

/// Judges a host as it is written (R9 of the security rules): an address by the policy, a name by what it says. What a name
/// leads to is judged when it has been resolved. The error says what it is.
pub fn check(host: &Hostname, port: u16, addresses: &AddressPolicy) -> Result<(), String> {
    match host.as_str().parse::<IpAddr>() {
        Ok(ip) => {
            let address = SocketAddr::new(ip, port);
            addresses
                .check(address, Provenance::Written)
                .map_err(|forbidden| forbidden.to_string())
        }
        Err(_) if is_forbidden(host.as_str()) => {
            Err("a name of this machine or of a cloud's metadata service".to_owned())
        }
        Err(_) => Ok(()),
    }
}

fn is_forbidden(name: &str) -> bool {
    let by_name = FORBIDDEN_NAMES.contains(&name) || name.ends_with(".localhost");
    // Old ways to write an address that resolvers still read: 127.1, 2130706433, 0x7f.1.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number =
        |label: &str| label.bytes().all(|b| b.is_ascii_digit()) || label.starts_with("0x");
    by_name || is_number(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Parsed<(UpstreamUrl, &str)> {
        UpstreamUrl::parse(text, &AddressPolicy::default())
    }

    #[test]
    fn a_url_is_a_host_a_port_and_the_rest() {
        let (target, rest) = parse("https://auth.example/verify?a=b").unwrap();
        assert_eq!(
            (target.tls, target.host.as_str(), target.port, rest),
            (true, "auth.example", 443, "/verify?a=b")
        );
        assert_eq!(parse("http://a.b.svc:8080").unwrap().0.port, 8080);
        assert_eq!(parse("http://a$request_uri").unwrap().1, "$request_uri");
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
            assert!(parse(bad).is_err(), "{bad}");
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
            "http://metadata",
            "http://metadata.goog",
            "http://metadata.google.internal",
            "http://100.100.100.200",
            "http://168.63.129.16:32526",
            "http://a.localhost",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn services_of_the_cluster_are_known_by_their_name() {
        let service = |url: &str| {
            parse(url)
                .unwrap()
                .0
                .service()
                .map(|(key, port)| (key.to_string(), port))
        };
        let expected = Some(("ns/auth".to_owned(), Port::Number(80)));
        assert_eq!(service("http://auth.ns.svc/x"), expected);
        assert_eq!(service("http://auth.ns.svc.cluster.local"), expected);
        assert_eq!(service("http://auth.example.com"), None);
    }
}
