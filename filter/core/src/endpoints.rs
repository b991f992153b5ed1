//! The endpoints of one backend, in the form that a host takes them.

use std::fmt;
use std::net::SocketAddr;

use sluice_filter_config as wire;

/// The position of an endpoint in its [`Endpoints`].
pub type EndpointIdx = usize;

/// Addresses as text, one after the other in one allocation: a pick only copies bytes.
///
/// In the order of the wire, without duplicates: two endpoints with one address are one pod.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    text: String,
    ends: Vec<usize>,
    traits: Vec<Traits>,
    by_address: Vec<EndpointIdx>,
    weighted: bool,
}

/// Properties of an endpoint beside its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its share, relative to the others.
    pub weight: u16,
    /// It serves the sessions it has and gets nothing else.
    pub draining: bool,
    /// It gets requests only when no other endpoint may be chosen.
    pub backup: bool,
    /// It fails the controller's health checks.
    pub unhealthy: bool,
    /// It is as near as any: in the zone of the data plane, or zones do not matter.
    pub near: bool,
}

/// An endpoint that no host could connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEndpoint {
    position: usize,
    address: String,
}

impl fmt::Display for InvalidEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "endpoint {}: address: expected ip:port, got {:?}",
            self.position, self.address
        )
    }
}

impl Endpoints {
    /// Takes the wire's endpoints; the first address that is not `ip:port` is an error. With a `zone`, endpoints of
    /// other zones are far.
    pub fn compile(
        endpoints: &[wire::Endpoint],
        zone: Option<&str>,
    ) -> Result<Self, InvalidEndpoint> {
        if let Some(position) = endpoints
            .iter()
            .position(|endpoint| !is_reachable(&endpoint.address))
        {
            let address = endpoints
                .get(position)
                .map(|endpoint| endpoint.address.chars().take(80).collect());
            return Err(InvalidEndpoint {
                position,
                address: address.unwrap_or_default(),
            });
        }
        let mut compiled = Endpoints::default();
        for (endpoint, _) in endpoints
            .iter()
            .zip(is_duplicate(endpoints))
            .filter(|(_, duplicate)| !duplicate)
        {
            compiled.text.push_str(&endpoint.address);
            compiled.ends.push(compiled.text.len());
            compiled.traits.push(Traits {
                weight: endpoint.weight.get(),
                draining: endpoint.draining,
                backup: endpoint.backup,
                unhealthy: endpoint.unhealthy,
                near: zone.is_none_or(|zone| endpoint.zones.iter().any(|near| near == zone)),
            });
        }
        let first = compiled.traits.first().map(|traits| traits.weight);
        compiled.weighted = compiled
            .traits
            .iter()
            .any(|traits| Some(traits.weight) != first);
        let mut by_address: Vec<EndpointIdx> = (0..compiled.len()).collect();
        by_address.sort_unstable_by_key(|&idx| compiled.address(idx));
        compiled.by_address = by_address;
        Ok(compiled)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none, which a client sees as 503.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The address at a position, `ip:port`.
    #[must_use]
    pub fn address(&self, idx: EndpointIdx) -> Option<&str> {
        let end = *self.ends.get(idx)?;
        let start = match idx.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)?,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// The position of an address.
    #[must_use]
    pub fn position(&self, address: &str) -> Option<EndpointIdx> {
        let found = self
            .by_address
            .binary_search_by_key(&Some(address), |&idx| self.address(idx))
            .ok()?;
        self.by_address.get(found).copied()
    }

    /// Properties of the endpoint at a position.
    #[must_use]
    pub fn traits(&self, idx: EndpointIdx) -> Option<Traits> {
        self.traits.get(idx).copied()
    }

    /// The weight at a position.
    #[must_use]
    pub fn weight(&self, idx: EndpointIdx) -> u16 {
        self.traits.get(idx).map_or(1, |traits| traits.weight)
    }

    /// True if weights differ.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// True if these are the same endpoints, in any order.
    #[must_use]
    pub fn same_set(&self, other: &Endpoints) -> bool {
        let described = |of: &Endpoints, idx: EndpointIdx| of.traits(idx);
        self.len() == other.len()
            && self
                .by_address
                .iter()
                .zip(&other.by_address)
                .all(|(&ours, &theirs)| {
                    self.address(ours) == other.address(theirs)
                        && described(self, ours) == described(other, theirs)
                })
    }
}

fn is_reachable(address: &str) -> bool {
    address
        .parse::<SocketAddr>()
        .is_ok_and(|address| address.port() != 0)
}

/// For each address, true if it occurred before.
fn is_duplicate(endpoints: &[wire::Endpoint]) -> Vec<bool> {
    let mut order: Vec<(&str, usize)> = endpoints
        .iter()
        .enumerate()
        .map(|(n, e)| (&*e.address, n))
        .collect();
    order.sort_unstable();
    let mut duplicate = vec![false; endpoints.len()];
    for (before, this) in order.iter().zip(order.iter().skip(1)) {
        if let Some(flag) = duplicate.get_mut(this.1) {
            *flag = before.0 == this.0;
        }
    }
    duplicate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(addresses: &[&str]) -> Result<Endpoints, InvalidEndpoint> {
        let endpoints: Vec<_> = addresses.iter().map(|a| wire::Endpoint::at(*a)).collect();
        Endpoints::compile(&endpoints, None)
    }

    #[test]
    fn every_address_is_found_at_its_position() {
        let endpoints = compile(&["10.0.0.9:80", "[::1]:8080", "10.0.0.1:80"]).unwrap();
        assert_eq!(endpoints.address(0), Some("10.0.0.9:80"));
        assert_eq!(endpoints.address(1), Some("[::1]:8080"));
        assert_eq!(endpoints.address(3), None);
        for idx in 0..3 {
            assert_eq!(
                endpoints.position(endpoints.address(idx).unwrap()),
                Some(idx)
            );
        }
        assert_eq!(endpoints.position("10.0.0.2:80"), None);
    }

    #[test]
    fn duplicates_are_one_endpoint() {
        let endpoints = compile(&["10.0.0.2:80", "10.0.0.1:80", "10.0.0.2:80"]).unwrap();
        assert_eq!(endpoints.len(), 2);
        assert_eq!(endpoints.address(0), Some("10.0.0.2:80"));
    }

    #[test]
    fn the_order_does_not_make_another_set_but_a_weight_does() {
        let two = compile(&["10.0.0.1:80", "10.0.0.2:80"]).unwrap();
        assert!(two.same_set(&compile(&["10.0.0.2:80", "10.0.0.1:80"]).unwrap()));
        assert!(!two.same_set(&compile(&["10.0.0.1:80"]).unwrap()));
        let heavy = wire::Endpoint {
            weight: 2.try_into().unwrap(),
            ..wire::Endpoint::at("10.0.0.1:80")
        };
        let heavy = Endpoints::compile(&[heavy, wire::Endpoint::at("10.0.0.2:80")], None).unwrap();
        assert!(!two.same_set(&heavy));
        assert!(heavy.is_weighted() && !two.is_weighted());
    }

    #[test]
    fn endpoints_of_other_zones_are_far() {
        let at = |zone: &str| wire::Endpoint {
            zones: vec![zone.into(), "c".into()],
            ..wire::Endpoint::at("10.0.0.1:80")
        };
        let near = |zone, own| {
            Endpoints::compile(&[at(zone)], own)
                .unwrap()
                .traits(0)
                .unwrap()
                .near
        };
        assert!(near("a", Some("a")) && near("a", None));
        assert!(!near("a", Some("b")));
    }

    #[test]
    fn what_cannot_be_connected_to_is_named() {
        for bad in [
            "",
            "shop:80",
            "10.0.0.1",
            "10.0.0.1:0",
            "10.0.0.1:80,10.0.0.2:80",
            "10.0.0.1:80\r\nx: y",
        ] {
            let error = compile(&["10.0.0.1:80", bad]).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with("endpoint 1: address: expected ip:port"),
                "{error}"
            );
        }
    }
}
