//! The part of a configuration that the rendering of a server sees, beside the server itself.
//!
//! ```text
//!   SharedInputs   what all servers see: another one makes all of them stale
//!   lookups        backends and Secrets, by id: noted, so that a change of one makes those servers stale that looked at it
//! ```
//!
//! There is no other way from a server's rendering to the configuration, so nothing that it depends on can be forgotten.

use std::cell::RefCell;
use std::collections::BTreeSet;

use sluice_ir::{
    Backend, BackendId, Config, GlobalConfig, Hostname, SecretId, SecretValue, SharedMap, Transport,
};

use crate::transports::Kinds;
use crate::waf::Sharing;

/// Inputs that all servers have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedInputs {
    pub(crate) global: GlobalConfig,
    /// Hosts whose TLS ends at their pods.
    pub(crate) passthrough: SharedMap<Hostname, BackendId>,
    /// Rules of firewalls around all servers.
    pub(crate) waf: Sharing,
    /// Upstreams that nginx.conf has.
    pub(crate) kinds: Kinds,
}

/// Backends and Secrets that a rendering has asked for, whether they are there or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookups {
    pub(crate) backends: BTreeSet<BackendId>,
    pub(crate) secrets: BTreeSet<SecretId>,
}

impl Lookups {
    pub(crate) fn merge(&mut self, other: Lookups) {
        self.backends.extend(other.backends);
        self.secrets.extend(other.secrets);
    }
}

/// A configuration, as the rendering of a server sees it.
pub(crate) struct TrackedConfig<'a> {
    shared: &'a SharedInputs,
    config: &'a Config,
    lookups: RefCell<Lookups>,
}

/// Properties of a backend that renderings see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackendView<'a> {
    pub(crate) transport: &'a Transport,
    variant_of: Option<&'a BackendId>,
}

impl<'a> BackendView<'a> {
    pub(crate) fn new(backend: &'a Backend) -> Self {
        BackendView {
            transport: &backend.transport,
            variant_of: backend.variant_of.as_ref(),
        }
    }
}

impl<'a> TrackedConfig<'a> {
    pub(crate) fn new(shared: &'a SharedInputs, config: &'a Config) -> Self {
        TrackedConfig {
            shared,
            config,
            lookups: RefCell::default(),
        }
    }

    pub(crate) fn shared(&self) -> &'a SharedInputs {
        self.shared
    }

    /// A backend; `None`: there is none with this id.
    pub(crate) fn backend(&self, id: &BackendId) -> Option<BackendView<'a>> {
        let mut lookups = self.lookups.borrow_mut();
        if !lookups.backends.contains(id) {
            lookups.backends.insert(id.clone());
        }
        let backend = self.config.backends.get(id)?;
        Some(BackendView::new(backend))
    }

    /// The backend that a backend is a variant of, or itself.
    pub(crate) fn without_variant<'b>(&self, id: &'b BackendId) -> &'b BackendId
    where
        'a: 'b,
    {
        let variant_of = self.backend(id).and_then(|backend| backend.variant_of);
        variant_of.unwrap_or(id)
    }

    /// A Secret; `None`: there is none with this id.
    pub(crate) fn secret(&self, id: &SecretId) -> Option<&'a SecretValue> {
        let mut lookups = self.lookups.borrow_mut();
        if !lookups.secrets.contains(id) {
            lookups.secrets.insert(id.clone());
        }
        self.config.secrets.get(id)
    }

    /// Everything that was asked for since the last call.
    pub(crate) fn take_lookups(&self) -> Lookups {
        self.lookups.take()
    }
}
