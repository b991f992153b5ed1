//! Access control: client addresses, external authentication.

use sluice_ir::{ExternalAuth, HeaderName, IpAccess};
use sluice_translate_engine::AddressPolicy;

use super::ext_auth;
use super::keys::{Key, key};
use super::values::{maybe_cidrs, owned};
use super::view::View;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("denylist-source-range", "").full(),
    key("no-auth-locations", "/.well-known/acme-challenge").full(),
    key("whitelist-source-range", "").full(),
];

/// Access control of all Ingresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) addresses: IpAccess,
    /// `no-auth-locations`: prefixes of paths without external authentication.
    pub(crate) unguarded: Vec<String>,
    /// `global-auth-url`: the service for all Ingresses, except where `enable-global-auth` is off.
    pub(crate) external_auth: Option<ExternalAuth>,
    /// `global-auth-response-headers`
    pub(crate) auth_headers: Vec<HeaderName>,
}

impl Default for Access {
    fn default() -> Self {
        Access {
            addresses: IpAccess::default(),
            unguarded: vec!["/.well-known/acme-challenge".to_owned()],
            external_auth: None,
            auth_headers: Vec::new(),
        }
    }
}

impl Access {
    /// `false` when something cannot be read.
    pub(super) fn take(&mut self, view: &mut View<'_, '_>, addresses: &AddressPolicy) -> bool {
        view.set(&mut self.unguarded, "no-auth-locations", |text| {
            Ok(owned(text))
        });
        let IpAccess { allow, deny } = &mut self.addresses;
        let read = [
            ext_auth::take(
                &mut self.external_auth,
                &mut self.auth_headers,
                view,
                addresses,
            ),
            view.set_access_control(allow, "whitelist-source-range", maybe_cidrs),
            view.set_access_control(deny, "denylist-source-range", maybe_cidrs),
        ];
        read == [true; 3]
    }
}
