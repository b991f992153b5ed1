//! Names of hosts outside of the cluster, and what DNS says of them.
//!
//! Translation asks nobody: what names lead to is an input, as EndpointSlices are, and changes as they do.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use sluice_ir::{BackendId, Endpoint};
use sluice_syntax::DnsName;

use crate::Provenance;
use crate::own::Judge;

/// Endpoints that a name becomes at most: whoever writes a zone decides how many addresses an answer has.
const MOST_ADDRESSES: usize = 256;

/// Resolution of a name, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Its addresses in the last answer of DNS.
    pub addresses: BTreeSet<IpAddr>,
    /// Why DNS says nothing else now: the addresses are those of before, or there are none.
    pub failure: Option<String>,
}

/// A host that is not a Service of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalHost {
    pub(crate) name: DnsName,
    pub(crate) port: u16,
}

/// The endpoints of a host, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct ResolvedHost {
    pub(crate) endpoints: Vec<Endpoint>,
    /// Addresses that are not used.
    pub(crate) refused: Vec<String>,
    pub(crate) failure: Option<String>,
}

impl ExternalHost {
    pub(crate) fn id(&self) -> BackendId {
        BackendId::external(self.name.as_str(), self.port)
    }

    /// The name that DNS is to be asked about, unless an address stands in its place.
    pub(crate) fn into_question(self) -> Option<DnsName> {
        self.name.literal().is_none().then_some(self.name)
    }

    /// Judges every address that the name has. Nothing is wrong with one that is still being looked up.
    pub(crate) fn endpoints(&self, known: Option<&Resolution>, judge: &Judge<'_>) -> ResolvedHost {
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
        if all.len() > MOST_ADDRESSES {
            let reason = format!(
                "expected a name of at most {MOST_ADDRESSES} addresses, got {name} with {}",
                all.len()
            );
            resolved.refused.push(reason);
            all = all.into_iter().take(MOST_ADDRESSES).collect();
        }
        for address in all {
            match judge.check(address, from) {
                Ok(()) => resolved.endpoints.push(Endpoint::at(address)),
                Err(forbidden) => resolved
                    .refused
                    .push(format!("{name} leads to {address}, {forbidden}")),
            }
        }
        let failure = known.and_then(|known| known.failure.as_ref());
        resolved.failure = failure.map(|failure| format!("{name} cannot be resolved: {failure}"));
        resolved
    }
}

/// The names that backends are made from, and the namespaces that want them.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsedNames {
    of_backend: BTreeMap<BackendId, WantedName>,
    backends: BTreeMap<DnsName, BTreeMap<String, BTreeSet<BackendId>>>,
}

/// A name, and the namespaces whose objects lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedName {
    pub(crate) name: DnsName,
    pub(crate) namespaces: BTreeSet<String>,
}

impl UsedNames {
    /// A backend is made from this name now, or from none. Names that a namespace wants first or no longer go into `touched`.
    pub(crate) fn set(
        &mut self,
        id: &BackendId,
        now: Option<WantedName>,
        touched: &mut BTreeSet<DnsName>,
    ) {
        let before = match &now {
            Some(now) => self.of_backend.insert(id.clone(), now.clone()),
            None => self.of_backend.remove(id),
        };
        if before == now {
            return;
        }
        let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
        if let Some(WantedName { name, namespaces }) = before {
            namespaces
                .into_iter()
                .filter(|of| self.take_back(id, &name, of))
                .for_each(|of| {
                    gone.insert((name.clone(), of));
                });
        }
        if let Some(WantedName { name, namespaces }) = now {
            for of in namespaces {
                let backends = self
                    .backends
                    .entry(name.clone())
                    .or_default()
                    .entry(of.clone())
                    .or_default();
                if backends.is_empty() {
                    come.insert((name.clone(), of));
                }
                backends.insert(id.clone());
            }
        }
        touched.extend(
            gone.symmetric_difference(&come)
                .map(|(name, _)| name.clone()),
        );
    }

    /// `true`: it was the last backend for which that namespace wants the name.
    fn take_back(&mut self, id: &BackendId, name: &DnsName, namespace: &str) -> bool {
        let Some(namespaces) = self.backends.get_mut(name) else {
            return false;
        };
        let Some(backends) = namespaces.get_mut(namespace) else {
            return false;
        };
        backends.remove(id);
        let was_last = backends.is_empty();
        if was_last {
            namespaces.remove(namespace);
        }
        if namespaces.is_empty() {
            self.backends.remove(name);
        }
        was_last
    }

    pub(crate) fn contains(&self, name: &DnsName) -> bool {
        self.backends.contains_key(name)
    }

    /// The backends that are made from a name; one for each namespace that wants it there.
    pub(crate) fn backends(&self, name: &DnsName) -> impl Iterator<Item = &BackendId> {
        self.backends
            .get(name)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
    }

    /// The namespaces that want a name.
    pub(crate) fn namespaces(&self, name: &DnsName) -> impl Iterator<Item = &String> {
        self.backends.get(name).into_iter().flat_map(BTreeMap::keys)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &DnsName> {
        self.backends.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ir::Transport;

    use crate::AddressPolicy;

    #[test]
    fn a_dot_at_the_end_says_nothing_and_an_address_is_seen() {
        let name = |text: &str| DnsName::parse(text).unwrap();
        assert_eq!(name("A.example."), name("a.example"));
        assert_eq!(
            name("192.0.2.1").literal(),
            Some("192.0.2.1".parse().unwrap())
        );
        assert_eq!(name("a.example").literal(), None);
        for bad in ["", ".", "a..b", "a b", "a..", "::1", "-a"] {
            assert!(DnsName::parse(bad).is_err(), "{bad:?}");
        }
    }

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
        } = host.endpoints(Some(known), &Judge::new(policy, &Transport::default()));
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
            (vec!["192.0.2.1:80".to_owned()], 2, false)
        );
        // The last answer serves while there is no other.
        let known = found(&["192.0.2.1"], Some("timeout"));
        assert_eq!(
            endpoints("a.example", &known, &policy),
            (vec!["192.0.2.1:80".to_owned()], 0, true)
        );
        // An address is its own answer, and whoever may write loopback may write it here.
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
        assert_eq!((endpoints.len(), refused), (MOST_ADDRESSES, 1));
    }

    #[test]
    fn a_name_is_touched_by_the_first_backend_of_a_namespace_and_its_last() {
        let (mut used, name) = (UsedNames::default(), DnsName::parse("a.example").unwrap());
        let (one, two) = (
            BackendId::new("n", "one", 80),
            BackendId::new("n", "two", 80),
        );
        let mut set = |id: &BackendId, namespaces: &[&str]| {
            let namespaces: BTreeSet<String> =
                namespaces.iter().map(|of| (*of).to_owned()).collect();
            let now = (!namespaces.is_empty()).then(|| WantedName {
                name: name.clone(),
                namespaces,
            });
            let mut touched = BTreeSet::new();
            used.set(id, now, &mut touched);
            touched.len()
        };
        let counts = [
            set(&one, &["n"]),
            set(&one, &["n"]),
            set(&two, &["n"]),
            set(&one, &[]),
        ];
        assert_eq!(counts, [1, 0, 0, 0]);
        assert_eq!(
            [set(&two, &["n", "m"]), set(&two, &["m"]), set(&one, &["m"])],
            [1, 1, 0]
        );
        assert_eq!([set(&one, &[]), set(&two, &[])], [0, 1]);
        assert!(!used.contains(&name));
    }
}
