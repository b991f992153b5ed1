//! Web application firewalls of Envoy: rules are there before routes name them, and what is not there closes its paths.

use std::sync::Arc;

use sluice_firewall::{LoadOutcome, Missing};
use sluice_ir::{Action, Config, HttpRoute, ReasonCode, Server};
use sluice_quarantine::{Part, Publication, Reason};
use sluice_translate::{Kind, ObjectRef, Report, Severity, Snapshot};
use tracing::error;

use crate::Publisher;

/// One for rules of Ingresses, one for those of all, and one for what both fall back to.
const ROUNDS: usize = 3;

impl Publisher {
    /// The configuration for data planes: without rejected parts, and with the firewalls that there are.
    pub(crate) async fn prepared(&mut self) -> Config {
        let mut config = self.quarantine.serve(&self.snapshot);
        if self.nginx.is_some() {
            return config;
        }
        let mut loading = self.served.firewall.load(&config, &self.effective).await;
        for _ in 0..ROUNDS {
            if loading.refused.is_empty() {
                break;
            }
            self.hold_refused(&config, &loading);
            config = self.quarantine.serve(&self.snapshot);
            loading = self.served.firewall.load(&config, &self.effective).await;
        }
        self.unserved_firewalls = reports(&config, &loading, &self.snapshot);
        restricted(config, &loading)
    }

    /// Holds back what the engine does not take, as if a data plane had rejected it.
    fn hold_refused(&mut self, config: &Config, loading: &LoadOutcome) {
        let publication = Publication {
            config: config.clone(),
            snapshot: Arc::clone(&self.snapshot),
        };
        if let Some(said) = &loading.refused_of_all
            && self.quarantine.hold_global(&publication)
        {
            error!(
                "the web application firewall does not take the rules of the ConfigMap, whose last ones stay: {said}"
            );
            return;
        }
        let mut parts = Vec::new();
        for (host, server) in &config.servers {
            for route in &server.routes {
                let owner = self.snapshot.owner(&route.id).cloned();
                let part = Part {
                    host: host.clone(),
                    owner,
                };
                parts.extend(
                    loading
                        .refused
                        .get(&route.id)
                        .map(|said| (part, Reason::Refused(said.clone()))),
                );
            }
        }
        self.quarantine.hold(&publication, parts);
    }
}

/// Without firewalls that are not there; paths whose engine may reject requests are closed.
fn restricted(mut config: Config, loading: &LoadOutcome) -> Config {
    let is_unserved = |route: &HttpRoute| {
        loading.missing.contains_key(&route.id) || loading.refused.contains_key(&route.id)
    };
    if loading.missing.is_empty() && loading.refused.is_empty() {
        return config;
    }
    let servers: Vec<_> = config
        .servers
        .iter()
        .filter(|(_, server)| server.routes.iter().any(is_unserved))
        .map(|(name, server)| (name.clone(), Server::clone(server)))
        .collect();
    for (name, mut server) in servers {
        for route in server.routes.iter_mut().filter(|route| is_unserved(route)) {
            let closes = loading.refused.contains_key(&route.id) || may_block(route, &config);
            let mut policy = (*route.policy).clone();
            policy.waf = None;
            route.policy = Arc::new(policy);
            if closes {
                route.action = Action::Denied;
            }
        }
        config.servers.insert(name, Arc::new(server));
    }
    config
}

fn may_block(route: &HttpRoute, config: &Config) -> bool {
    let waf = route.policy.waf.as_ref();
    waf.is_some_and(|waf| waf.may_block(config.global.waf.as_ref()))
}

fn reports(config: &Config, loading: &LoadOutcome, snapshot: &Snapshot) -> Vec<Report> {
    if loading.missing.is_empty() {
        return Vec::new();
    }
    let of_route = |route| report(route, loading, config, snapshot);
    config.routes().filter_map(of_route).collect()
}

fn report(
    route: &HttpRoute,
    loading: &LoadOutcome,
    config: &Config,
    snapshot: &Snapshot,
) -> Option<Report> {
    let missing = loading.missing.get(&route.id)?;
    let key = snapshot.owner(&route.id)?.clone();
    let reason = match missing {
        Missing::Engine => {
            "enable-modsecurity, without ModSecurity's library where the controller runs (Debian: libmodsecurity3)"
        }
        Missing::CoreRules => {
            "enable-owasp-core-rules, without the OWASP Core Rule Set where the controller runs (Debian: modsecurity-crs)"
        }
    };
    let (severity, consequence) = match may_block(route, config) {
        true => (Severity::Error, "the route answers 503"),
        false => (Severity::Warning, "the route is served without"),
    };
    let object = ObjectRef {
        kind: Kind::Ingress,
        key,
    };
    let field = format!("route {}", route.id.as_str());
    Some(Report::new(
        object,
        ReasonCode::Unsupported,
        severity,
        field,
        reason,
        consequence,
    ))
}
