//! The endpoints of one backend, in the form that a host takes them.

use std::fmt;
use std::net::SocketAddr;

use sluice_filter_config as wire;

/// The position of an endpoint in its [`Endpoints`].
pub type EndpointIdx = usize;

/// Addresses as text, one after the other in one allocation: a pick only copies bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    text: String,
    ends: Vec<usize>,
}

/// An endpoint that no host could connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEndpoint {
    position: usize,
    address: String,
}

impl fmt::Display for InvalidEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endpoint {}: address: expected ip:port, got {:?}", self.position, self.address)
    }
}

impl Endpoints {
    /// Takes the wire's addresses; the first that is not `ip:port` is an error.
    pub fn compile(endpoints: &[wire::Endpoint]) -> Result<Self, InvalidEndpoint> {
        let mut compiled = Endpoints::default();
        for (position, endpoint) in endpoints.iter().enumerate() {
            let reachable = endpoint.address.parse::<SocketAddr>().is_ok_and(|a| a.port() != 0);
            if !reachable {
                return Err(InvalidEndpoint {
                    position,
                    address: endpoint.address.chars().take(80).collect(),
                });
            }
            compiled.text.push_str(&endpoint.address);
            compiled.ends.push(compiled.text.len());
        }
        Ok(compiled)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none, which a client sees as 503.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: &str) -> wire::Endpoint {
        wire::Endpoint::at(address)
    }

    #[test]
    fn every_address_is_found_at_its_position() {
        let endpoints = Endpoints::compile(&[endpoint("10.0.0.1:80"), endpoint("[::1]:8080")]).unwrap();
        assert_eq!(endpoints.address(0), Some("10.0.0.1:80"));
        assert_eq!(endpoints.address(1), Some("[::1]:8080"));
        assert_eq!(endpoints.address(2), None);
    }

    #[test]
    fn what_cannot_be_connected_to_is_named() {
        for bad in ["", "shop:80", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:80,10.0.0.2:80", "10.0.0.1:80\r\nx: y"]
        {
            let error = Endpoints::compile(&[endpoint("10.0.0.1:80"), endpoint(bad)]).unwrap_err();
            assert!(error.to_string().starts_with("endpoint 1: address: expected ip:port"), "{error}");
        }
    }
}
