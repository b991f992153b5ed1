//! One backend: its endpoints, frozen, and its balancer, live.

use std::fmt;

use sluice_filter_config as wire;

use crate::balance::Balance;
use crate::{Endpoints, InvalidEndpoint, Rng};

/// Why a backend cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidBackend {
    /// One of its endpoints cannot be used.
    Endpoint(InvalidEndpoint),
    /// A policy of the schema that this build does not serve yet.
    Unsupported,
}

impl fmt::Display for InvalidBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidBackend::Endpoint(endpoint) => endpoint.fmt(f),
            InvalidBackend::Unsupported => f.write_str("a policy that this filter does not serve"),
        }
    }
}

/// A service port as the filter balances it.
#[derive(Debug)]
pub struct Backend {
    endpoints: Endpoints,
    attempts: usize,
    balance: Balance,
}

impl Backend {
    /// Compiles the wire form.
    pub fn compile(backend: &wire::Backend, rng: &mut impl Rng) -> Result<Self, InvalidBackend> {
        let endpoints = Endpoints::compile(&backend.endpoints).map_err(InvalidBackend::Endpoint)?;
        let balance = Balance::new(&backend.load_balance, endpoints.len(), rng);
        let balance = balance.filter(|_| backend.affinity.is_none()).ok_or(InvalidBackend::Unsupported)?;
        Ok(Backend { endpoints, attempts: usize::from(backend.attempts.get()), balance })
    }

    /// Takes over the live state of the backend it replaces, where that still means the same.
    pub fn succeed(&mut self, predecessor: Backend) {
        if self.endpoints == predecessor.endpoints {
            self.balance = predecessor.balance;
        }
    }

    /// Writes the candidates for one request as `ip:port,ip:port`; `false` when there is no endpoint at all.
    pub fn candidates_into(&mut self, list: &mut String) -> bool {
        list.clear();
        if self.endpoints.is_empty() {
            return false;
        }
        let candidates = self.balance.candidates(self.endpoints.len(), self.attempts);
        for address in candidates.iter().filter_map(|idx| self.endpoints.address(idx)) {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(address);
        }
        true
    }
}
