//! One backend: its endpoints, frozen, and its balancer, live.

use sluice_filter_config as wire;

use crate::balance::Balance;
use crate::{Endpoints, InvalidEndpoint, Rng};

/// A service port as the filter balances it.
#[derive(Debug)]
pub struct Backend {
    endpoints: Endpoints,
    attempts: usize,
    balance: Balance,
}

impl Backend {
    /// Compiles the wire form.
    pub fn compile(backend: &wire::Backend, rng: &mut impl Rng) -> Result<Self, InvalidEndpoint> {
        let endpoints = Endpoints::compile(&backend.endpoints)?;
        let balance = Balance::new(&backend.load_balance, endpoints.len(), rng);
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
