//! The names of a host for which a certificate is configured: plain http is redirected there (`ssl-redirect`).
//!
//! As in ingress-nginx (`configureCertificates`, `certificate.lua`) each name has one or has none. A host has one, if only the
//! default one, by its `tls` section; an alias has that of its host where it is good for the alias; and a name with none of its own
//! has that of the wildcard above. Other than there, only within a namespace: no other's is presented.

use sluice_ir::{HostTls, ServerName};
use sluice_translate_engine::ids::secret_of;
use sluice_translate_engine::{DependencyTracker, ObjectKey, Wildcards};

use super::server_builder::ServerBuilder;
use crate::Options;

/// Sources of certificates.
#[derive(Clone, Copy)]
pub(super) struct Certificates<'a> {
    /// Of hosts whose `tls` section leads to none.
    pub(super) default: Option<&'a ObjectKey>,
    pub(super) wildcards: &'a Wildcards,
    pub(super) tracker: &'a DependencyTracker<'a>,
}

/// Names of a host with a certificate, told by those without.
#[derive(Debug)]
pub(super) struct CertifiedNames {
    names: usize,
    /// Those without one.
    pub(super) plain: Vec<ServerName>,
}

impl CertifiedNames {
    pub(super) fn of(
        name: &ServerName,
        aliases: &[ServerName],
        builder: &ServerBuilder,
        certificates: Certificates<'_>,
    ) -> Self {
        let tls = builder
            .tls
            .as_ref()
            .filter(|_| *name != ServerName::CatchAll);
        let owner = builder.tenants.owner();
        let own = (tls.is_none() && !certificates.is_under_certified(name, owner)).then_some(name);
        let is_plain = |alias: &&ServerName| {
            !tls.is_some_and(|tls| certificates.cover(tls, alias))
                && !certificates.is_under_certified(alias, owner)
        };
        let plain = own.into_iter().chain(aliases.iter().filter(is_plain));
        CertifiedNames {
            names: aliases.len() + 1,
            plain: plain.cloned().collect(),
        }
    }

    /// True if there is a certificate for any name.
    pub(super) fn is_any(&self) -> bool {
        self.plain.len() < self.names
    }
}

impl<'a> Certificates<'a> {
    pub(super) fn of(
        options: &'a Options,
        wildcards: &'a Wildcards,
        tracker: &'a DependencyTracker<'a>,
    ) -> Self {
        Certificates {
            default: options.default_certificate.as_ref(),
            wildcards,
            tracker,
        }
    }

    /// True if the certificate of a host is good for another name of it.
    fn cover(&self, tls: &HostTls, alias: &ServerName) -> bool {
        let own = tls.certificate.as_ref().and_then(secret_of);
        let key = own.as_ref().or(self.default);
        let secret = key.and_then(|key| self.tracker.secret(key));
        let pair = secret.and_then(|secret| secret.certificate().ok());
        pair.is_some_and(|pair| pair.covers(&alias.to_string()))
    }

    /// True if the namespace has a wildcard above this name, with a certificate.
    fn is_under_certified(&self, name: &ServerName, namespace: &str) -> bool {
        let suffix = name.wildcard_suffix();
        let holder = suffix.and_then(|suffix| self.wildcards.get(&suffix));
        holder.is_some_and(|holder| holder.has_certificate && &*holder.key().namespace == namespace)
    }
}
