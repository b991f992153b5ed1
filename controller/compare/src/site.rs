//! The Ingresses, as their translation has them: which of them takes a request, and what its responses may depend on.

use sluice_explain::{Choice, Explanation, Outcome, Request, explain};
use sluice_ir::{CanaryHeader, CanaryRules, CanaryValue, Config, RouteId};

use crate::subject::Subject;

/// Cookie of ingress-nginx's sessions where no Ingress says another.
const SESSION_COOKIE: &str = "INGRESSCOOKIE";

/// Ingress of a route, as `namespace/name`; `None` for routes that flags bring.
pub type Owner<'a> = dyn Fn(&RouteId) -> Option<String> + 'a;

/// Translated Ingresses.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Their translation.
    pub config: &'a Config,
    /// Owners of its routes.
    pub owner: &'a Owner<'a>,
}

/// Facts about a request that do not come from a data plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The Ingress that takes it, or its host.
    pub subject: Subject,
    /// An Ingress names the host.
    pub is_known_host: bool,
    /// The host has a certificate of its own; clients of others see one that each controller makes for itself.
    pub has_certificate: bool,
    /// Cookies whose values are a choice of the data plane.
    pub session_cookies: Vec<String>,
    /// Names and values of headers that rules of canaries name.
    pub canary_headers: Vec<(String, String)>,
    /// Names of cookies that canaries decide by.
    pub canary_cookies: Vec<String>,
    /// Backends that share such requests by weight, as ingress-nginx names them.
    pub shared_by: Vec<String>,
    /// Rates or concurrent requests are limited.
    pub is_limited: bool,
    /// The new data plane answers 503, because access control cannot be enforced.
    pub is_closed: bool,
    /// Digest authentication.
    pub asks_for_digest: bool,
    /// A web application firewall.
    pub has_firewall: bool,
}

impl Context {
    /// True if chance chooses the backend of such a request.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !self.shared_by.is_empty()
    }

    /// Of a request about which nothing is known but its host.
    #[must_use]
    pub fn unknown(host: &str) -> Context {
        Context {
            subject: Subject::Host(host.to_owned()),
            is_known_host: false,
            has_certificate: true,
            session_cookies: vec![SESSION_COOKIE.to_owned()],
            canary_headers: Vec::new(),
            canary_cookies: Vec::new(),
            shared_by: Vec::new(),
            is_limited: false,
            is_closed: false,
            asks_for_digest: false,
            has_firewall: false,
        }
    }
}

impl Site<'_> {
    /// Looks a request up.
    #[must_use]
    pub fn context(&self, request: &Request) -> Context {
        self.context_of(request, &explain(self.config, request))
    }

    /// A request whose record does not say the scheme: over https, where http is redirected there. Whoever was
    /// answered had asked for that.
    pub(crate) fn as_answered(&self, request: Request) -> Request {
        let location = |request: &Request| match explain(self.config, request).outcome {
            Outcome::Redirect { location, .. } => Some(location),
            _ => None,
        };
        let Some(to) = location(&request).filter(|location| location.starts_with("https://"))
        else {
            return request;
        };
        let secure = Request {
            scheme: "https".to_owned(),
            ..request.clone()
        };
        // A redirect of both schemes is the answer itself, and says nothing of the one that was asked.
        match location(&secure).as_ref() == Some(&to) {
            true => request,
            false => secure,
        }
    }

    /// True if an Ingress names a host.
    #[must_use]
    pub fn has_host(&self, host: &str) -> bool {
        let request = Request::parse(&format!("http://{host}/"), "GET", &[]);
        request.is_ok_and(|request| self.context(&request).is_known_host)
    }

    pub(crate) fn context_of(&self, request: &Request, explanation: &Explanation) -> Context {
        let route = explanation.route.as_ref();
        let ingress = route.and_then(|route| (self.owner)(&route.id));
        let is_passed_through = matches!(explanation.outcome, Outcome::Passthrough { .. });
        let is_named = explanation
            .server
            .as_deref()
            .is_some_and(|name| name != "_");
        let policy = |name: &str| route.and_then(|route| route.policies.get(name));
        Context {
            is_known_host: ingress.is_some() || is_named || is_passed_through,
            subject: match ingress {
                Some(name) => Subject::Ingress(name),
                None => Subject::Host(request.host.clone()),
            },
            has_certificate: explanation.certificate.is_some() || is_passed_through,
            session_cookies: session_cookies(&explanation.outcome),
            canary_headers: rules(&explanation.outcome)
                .flat_map(|rules| rules.header.iter().flat_map(named_values))
                .collect(),
            canary_cookies: rules(&explanation.outcome)
                .filter_map(|rules| rules.cookie.clone())
                .collect(),
            shared_by: shared_by(&explanation.outcome),
            is_limited: policy("limits").is_some(),
            is_closed: matches!(explanation.outcome, Outcome::Denied),
            asks_for_digest: policy("authentication")
                .is_some_and(|it| it.to_string().to_ascii_lowercase().contains("digest")),
            has_firewall: policy("waf").is_some() || self.config.global.waf.is_some(),
        }
    }
}

fn session_cookies(outcome: &Outcome) -> Vec<String> {
    let Outcome::Forward {
        backends, canaries, ..
    } = outcome
    else {
        return vec![SESSION_COOKIE.to_owned()];
    };
    let all = backends
        .iter()
        .chain(canaries.iter().map(|share| &share.backend));
    let settings = all.filter_map(|backend| backend.settings.as_ref()?.affinity.as_ref());
    let names = settings.map(|affinity| affinity.cookie.name.clone());
    names.chain([SESSION_COOKIE.to_owned()]).collect()
}

/// Rules of canaries.
fn rules(outcome: &Outcome) -> impl Iterator<Item = &CanaryRules> {
    let canaries = match outcome {
        Outcome::Forward { canaries, .. } => canaries.as_slice(),
        _ => &[],
    };
    canaries.iter().map(|share| &share.rules)
}

/// The header of a rule with each value that it names. Those that a pattern matches it does not.
fn named_values(header: &CanaryHeader) -> Vec<(String, String)> {
    let values: &[&str] = match &header.value {
        CanaryValue::AlwaysNever => &["always", "never"],
        CanaryValue::Exact(exact) => &[exact],
        CanaryValue::Matches(_)
        | CanaryValue::MatchesAll(_)
        | CanaryValue::Backtracking(_)
        | CanaryValue::Invalid => &[],
    };
    let named = values
        .iter()
        .map(|value| (header.name.clone(), (*value).to_owned()));
    named.collect()
}

/// None, or more than one.
fn shared_by(outcome: &Outcome) -> Vec<String> {
    let Outcome::Forward {
        backends,
        selection,
        ..
    } = outcome
    else {
        return Vec::new();
    };
    let own = || backends.iter().map(|backend| backend.id.as_str());
    let choice = selection.as_ref().map(|selection| &selection.choice);
    let all: Vec<&str> = match choice {
        None | Some(Choice::Main { .. }) => own().collect(),
        Some(Choice::Canary { .. }) => Vec::new(),
        Some(Choice::Weight { parts }) => {
            let canaries = parts.iter().filter(|part| part.is_canary);
            let main = own().filter(|_| parts.iter().any(|part| !part.is_canary));
            let canaries = canaries.map(|part| part.backend.as_str());
            main.chain(canaries).collect()
        }
    };
    match all.len() {
        0 | 1 => Vec::new(),
        _ => all.into_iter().map(upstream_name).collect(),
    }
}

/// As ingress-nginx names a backend: `namespace-service-port`.
pub(crate) fn upstream_name(id: &str) -> String {
    id.split('/').take(3).collect::<Vec<_>>().join("-")
}
