//! Addresses of external authentication services.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use sluice_resolver::Dns;
use sluice_translate::AddressPolicy;

/// Finds the addresses of services, and judges them by the address policy.
#[derive(Debug)]
pub(super) struct Dialer {
    policy: RwLock<Arc<AddressPolicy>>,
    dns: Dns,
}

impl Dialer {
    pub(super) fn new(policy: AddressPolicy, dns: Dns) -> Self {
        Dialer {
            policy: RwLock::new(Arc::new(policy)),
            dns,
        }
    }

    /// The address policy that holds now.
    pub(super) fn policy(&self) -> Arc<AddressPolicy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the address policy.
    pub(super) fn set_policy(&self, policy: &Arc<AddressPolicy>) {
        if !Arc::ptr_eq(&self.policy(), policy) {
            *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(policy);
        }
    }

    /// The addresses of a name that is only known now, because the client has asked for it.
    pub(super) async fn look_up(
        &self,
        namespace: &str,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Error> {
        if let Ok(ip) = host.parse() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let found = self.dns.look_up_for_client(namespace, host).await;
        let found = found
            .map_err(|failure| Error::new(ErrorKind::NotFound, format!("{host}: {failure}")))?;
        Ok(found
            .into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect())
    }
}
