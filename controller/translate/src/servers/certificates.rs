//! Certificates of hosts.
//!
//! The first Ingress of the host's own namespace with a `tls` section decides: the entry that lists the host, else any whose
//! certificate is valid for it. Unusable certificates are reported, and the default certificate is presented: the host is
//! served over https either way.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::IngressTLS;
use sluice_ir::{
    Action, HostTls, ReasonCode, RedirectTo, SecretId, Server, ServerName, VerifyClient,
};
use sluice_syntax::certificate::CertificatePair;
use sluice_syntax::{is_dns_name, shortened};
use sluice_translate_engine::ids::secret_of;
use sluice_translate_engine::{Cause, DependencyTracker, Kind, ObjectKey, Severity, Wildcards};

use super::Assembly;
use super::path_rule::IngressContext;
use crate::{DataPlane, stapling};

impl Assembly<'_> {
    /// The catch-all server always has the default certificate.
    pub(super) fn take_tls(&mut self, name: &ServerName, context: &IngressContext) {
        let decided = self
            .builders
            .get(name)
            .is_some_and(|builder| builder.tls.is_some());
        if context.tls.is_empty() || decided {
            return;
        }
        let certificate = match name {
            ServerName::CatchAll => None,
            ServerName::Exact(_) | ServerName::Wildcard(_) => {
                self.certificate(&name.to_string(), context)
            }
        };
        self.builders.entry(name.clone()).or_default().tls = Some(HostTls {
            certificate,
            ..HostTls::default()
        });
    }

    /// The first Ingress of the host's own namespace that names ciphers decides. In Envoy the server without a host would
    /// decide for every host that is not like that in a handshake, too.
    pub(super) fn apply_ciphers(&mut self, name: &ServerName, context: &IngressContext) {
        let ciphers = &context.annotations.host.ciphers;
        if ciphers.is_empty() {
            return;
        }
        if *name == ServerName::CatchAll && self.options.data_plane != Some(DataPlane::Nginx) {
            let reason = "Envoy needs a rule with a host";
            let consequence = "in Envoy the ciphers of all hosts are offered";
            let mut reporter = self.report(&context.object);
            reporter.report(
                ReasonCode::Unsupported,
                Severity::Warning,
                "annotation ssl-ciphers",
                reason,
                consequence,
            );
        }
        let decided = &mut self.builders.entry(name.clone()).or_default().ciphers;
        if decided.is_empty() {
            decided.clone_from(ciphers);
        }
    }

    fn certificate(&mut self, host: &str, context: &IngressContext) -> Option<SecretId> {
        let listing = context.tls.listing(host);
        let covering = || {
            let tls = &context.tls;
            tls.covering(host, |entry| self.names(entry, context))
        };
        let position = listing.or_else(covering)?;
        let entry = context.tls.get(position)?;
        self.present(host, entry, context).unwrap_or_else(
            |Cause {
                 code,
                 reason,
                 missing,
             }| {
                let field = format!("spec.tls[{position}].secretName");
                let consequence = format!("{host} presents the default certificate");
                self.report(&context.object)
                    .report(code, Severity::Warning, field, reason, consequence)
                    .missing = missing;
                None
            },
        )
    }

    /// The hosts that the certificate of an entry is good for.
    fn names(&self, entry: &IngressTLS, context: &IngressContext) -> &[String] {
        let name = entry
            .secret_name
            .as_deref()
            .filter(|name| is_dns_name(name));
        let key = name.map(|name| ObjectKey::new(context.object.key.namespace.clone(), name));
        let secret = key.and_then(|key| self.tracker.secret(&key));
        secret
            .and_then(|secret| secret.certificate().ok())
            .map(CertificatePair::names)
            .unwrap_or_default()
    }

    /// `None`: without a name the default certificate is meant. The error is a report's reason.
    fn present(
        &mut self,
        host: &str,
        entry: &IngressTLS,
        context: &IngressContext,
    ) -> Result<Option<SecretId>, Cause> {
        let Some(name) = entry.secret_name.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        if !is_dns_name(name) {
            return Err(format!("expected the name of a Secret, got {:?}", shortened(name)).into());
        }
        let key = ObjectKey::new(context.object.key.namespace.clone(), name);
        let secret = self.tracker.secret(&key);
        let secret = secret.ok_or_else(|| Cause::missing(Kind::Secret, key.clone()))?;
        let pair = secret.certificate().map_err(Cause::invalid_ref)?;
        if !pair.covers(host) {
            let reason =
                format!("expected a certificate that is good for {host}, got one that is not");
            return Err(Cause::invalid_ref(reason));
        }
        let pair = stapling::presentable(pair, self.options)
            .map_err(|reason| Cause::new(ReasonCode::Unsupported, reason))?;
        Ok(Some(self.secrets.present(&key, pair)))
    }
}

/// TLS of each name. Aliases of a host and its www counterpart present its certificate if that is valid for them.
pub(super) fn by_name(
    own: BTreeMap<ServerName, HostTls>,
    servers: &BTreeMap<ServerName, Server>,
    tracker: &DependencyTracker<'_>,
) -> BTreeMap<ServerName, HostTls> {
    let asks = |server: &Server| {
        server
            .client_certificates
            .as_ref()
            .filter(|clients| clients.verify != VerifyClient::Off)
            .map(|clients| clients.validation.clone())
    };
    let of = |owner: &ServerName, other: &ServerName| {
        let id = own.get(owner)?.certificate.as_ref()?;
        let pair = tracker.secret(&secret_of(id)?)?.certificate().ok()?;
        pair.covers(&other.to_string()).then(|| id.clone())
    };
    let mut all = BTreeMap::new();
    for (name, server) in servers {
        let certificate = own.get(name).and_then(|host| host.certificate.clone());
        let certificate = certificate.or_else(|| of(&leads_to(server)?, name));
        let ciphers = if *name == ServerName::CatchAll {
            Vec::new()
        } else {
            server.ciphers.clone()
        };
        let like = |certificate| HostTls {
            certificate,
            no_wildcard_certificate: false,
            client_validation: asks(server),
            ciphers: ciphers.clone(),
        };
        all.insert(name.clone(), like(certificate));
        all.extend(
            server
                .aliases
                .iter()
                .map(|alias| (alias.clone(), like(of(name, alias)))),
        );
    }
    all.retain(|_, host| *host != HostTls::default());
    all
}

/// Names that present nothing of their own do not present the certificate of the wildcard that covers them, where that is
/// another namespace's.
pub(super) fn set_apart(
    all: &mut BTreeMap<ServerName, HostTls>,
    servers: &BTreeMap<ServerName, Server>,
    owner_of: &BTreeMap<ServerName, String>,
    wildcards: &Wildcards,
) {
    for (own, server) in servers {
        let owner = owner_of.get(own).map(String::as_str);
        for name in server.names(own) {
            let holder = name
                .wildcard_suffix()
                .and_then(|suffix| wildcards.get(&suffix));
            if holder.is_some_and(|holder| Some(&*holder.key().namespace) != owner) {
                let host = all.entry(name.clone()).or_default();
                host.no_wildcard_certificate = host.certificate.is_none();
            }
        }
    }
}

/// The host that a server only leads to.
fn leads_to(server: &Server) -> Option<ServerName> {
    server.routes.iter().find_map(|route| match &route.action {
        Action::Redirect(redirect) => match &redirect.to {
            RedirectTo::Host(host) => Some(ServerName::Exact(host.clone())),
            _ => None,
        },
        _ => None,
    })
}
