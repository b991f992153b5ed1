//! Hosts outside of the cluster, and the endpoints that DNS gives them.
//!
//! Translation looks up no names: what they lead to is an input, as EndpointSlices are, and changes as they do.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use sluice_ir::{BackendId, Endpoint, ReasonCode};
use sluice_syntax::DnsName;

use crate::ids::external_backend;
use crate::own_addresses::AddressChecker;
use crate::report::listed;
use crate::{Provenance, Resolution};

/// Most endpoints of a name: the owner of a DNS zone decides how many addresses an answer has.
const MAX_ADDRESSES: usize = 256;

/// A host that is not a Service of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalHost {
    /// Its name, or its address.
    pub name: DnsName,
    /// The port.
    pub port: u16,
}

/// The endpoints of a host, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct ResolvedHost {
    pub endpoints: Vec<Endpoint>,
    /// Reasons why addresses are not used, one of each kind.
    pub refused: Vec<(ReasonCode, String)>,
    pub failure: Option<String>,
}

impl ExternalHost {
    pub(crate) fn id(&self) -> BackendId {
        external_backend(&self.name, self.port)
    }

    /// The name that DNS is to be asked about, unless an address stands in its place.
    pub(crate) fn into_dns_name(self) -> Option<DnsName> {
        self.name.literal().is_none().then_some(self.name)
    }

    /// Judges every address that the name has. Nothing is wrong with one that is still being looked up.
    pub(crate) fn endpoints(
        &self,
        known: Option<&Resolution>,
        checker: &AddressChecker<'_>,
    ) -> ResolvedHost {
        let ExternalHost { name, port } = self;
        let literal = name.literal();
        let from = if literal.is_some() {
            Provenance::Written
        } else {
            Provenance::Resolved
        };
        let known = literal.is_none().then_some(known).flatten();
        let found = known
            .into_iter()
            .flat_map(|known| known.addresses.iter().copied());
        let mut all: BTreeSet<SocketAddr> = literal
            .into_iter()
            .chain(found)
            .map(|ip| SocketAddr::new(ip.to_canonical(), *port))
            .collect();
        let mut resolved = ResolvedHost::default();
        if all.len() > MAX_ADDRESSES {
            let reason = format!(
                "expected a name of at most {MAX_ADDRESSES} addresses, got {name} with {}",
                all.len()
            );
            resolved.refused.push((ReasonCode::LimitExceeded, reason));
            all = all.into_iter().take(MAX_ADDRESSES).collect();
        }
        let mut forbidden = Vec::new();
        for address in all {
            match checker.check(address, from) {
                Ok(()) => resolved.endpoints.push(Endpoint::at(address)),
                Err(why) => forbidden.push(format!("{address}, {why}")),
            }
        }
        if !forbidden.is_empty() {
            // One reason: every reference to the name repeats it.
            let reason = format!(
                "{name} leads to {}",
                listed(forbidden.iter(), forbidden.len())
            );
            resolved.refused.push((ReasonCode::RefNotPermitted, reason));
        }
        let failure = known.and_then(|known| known.failure.as_ref());
        resolved.failure = failure.map(|failure| format!("{name} cannot be resolved: {failure}"));
        resolved
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use sluice_ir::Transport;

    use super::*;
    use crate::AddressPolicy;

    fn endpoints(
        name: &str,
        known: &Resolution,
        policy: &AddressPolicy,
    ) -> (Vec<String>, usize, bool) {
        let host = ExternalHost {
            name: DnsName::parse(name).unwrap(),
            port: 80,
        };
        let ResolvedHost {
            endpoints,
            refused,
            failure,
        } = host.endpoints(
            Some(known),
            &AddressChecker::new(policy, &Transport::default()),
        );
        let endpoints = endpoints
            .iter()
            .map(|endpoint| endpoint.address.to_string())
            .collect();
        (endpoints, refused.len(), failure.is_some())
    }

    fn found(addresses: &[&str], failure: Option<&str>) -> Resolution {
        let addresses = addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect();
        Resolution {
            addresses,
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn what_may_be_dialled_is_an_endpoint_and_the_rest_is_named() {
        let policy = AddressPolicy {
            written_loopback: true,
            ..AddressPolicy::default()
        };
        let known = found(
            &[
                "192.0.2.1",
                "127.0.0.1",
                "::ffff:192.0.2.1",
                "fd00:ec2::254",
            ],
            None,
        );
        assert_eq!(
            endpoints("a.example", &known, &policy),
            (vec!["192.0.2.1:80".to_owned()], 1, false)
        );
        // The last answer serves while there is no other.
        let known = found(&["192.0.2.1"], Some("timeout"));
        assert_eq!(
            endpoints("a.example", &known, &policy),
            (vec!["192.0.2.1:80".to_owned()], 0, true)
        );
        // An address needs no lookup, and loopback is allowed here where it is allowed elsewhere.
        let known = found(&["192.0.2.1"], Some("timeout"));
        assert_eq!(
            endpoints("127.0.0.1", &known, &policy),
            (vec!["127.0.0.1:80".to_owned()], 0, false)
        );
        assert_eq!(
            endpoints("169.254.1.1", &known, &policy),
            (vec![], 1, false)
        );
    }

    /// Each reference to the name is told all of it.
    #[test]
    fn forbidden_addresses_are_one_reason_however_many_they_are() {
        let name = DnsName::parse("a.example").unwrap();
        let host = ExternalHost { name, port: 80 };
        let policy = AddressPolicy::default();
        let checker = AddressChecker::new(&policy, &Transport::default());
        let forbidden = "a link-local address (--allow-upstream-cidr opens ranges)";
        for (count, last) in [
            (1, "1:80, "),
            (3, "3:80, "),
            (4, "and 1 other"),
            (99, "and 96 others"),
        ] {
            let addresses = (1..=count)
                .map(|n| IpAddr::from([169, 254, 1, n]))
                .collect();
            let known = Resolution {
                addresses,
                failure: None,
            };
            let refused = host.endpoints(Some(&known), &checker).refused;
            let [(_, reason)] = refused.as_slice() else {
                panic!("{refused:?}");
            };
            let named = reason.matches(forbidden).count();
            assert_eq!(named, usize::from(count.min(3)), "{reason}");
            assert!(reason.contains(last), "{reason}");
        }
    }

    #[test]
    fn a_name_has_no_more_endpoints_than_it_may() {
        let addresses = (0..300_u32)
            .map(|n| IpAddr::from((0xc000_0200 + n).to_be_bytes()))
            .collect();
        let known = Resolution {
            addresses,
            failure: None,
        };
        let (endpoints, refused, _) = endpoints("a.example", &known, &AddressPolicy::default());
        assert_eq!((endpoints.len(), refused), (MAX_ADDRESSES, 1));
    }
}
