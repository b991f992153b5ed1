//! Requests for each host and path of Ingresses: what takes a path and what is just beside it, http and https, canaries, CORS.

use std::collections::BTreeSet;

use hyper::body::Bytes;
use sluice_explain::{Explanation, Request, explain};
use sluice_ir::{
    AllowedOrigin, AllowedOrigins, CanaryRules, CanaryValue, Comparison, HttpRoute, RequestTest,
    Server, ServerName,
};

use crate::paths;
use crate::probe::Probe;
use crate::sample::samples;
use crate::site::Site;
use crate::subject::Subject;

/// Label of a host below a wildcard, and name of one that no rule names.
const LABEL: &str = "sluice-compare";
/// An origin that nobody allows.
const FOREIGN_ORIGIN: &str = "https://sluice-compare.invalid";

/// A variant of a request: its method and its headers.
type Variant = (&'static str, Vec<String>);

/// Requests of one path, the most telling first, and whether one of them is taken by the path itself.
#[derive(Debug)]
pub struct PathProbes {
    /// Owner of the path.
    pub ingress: String,
    /// In the order in which they matter.
    pub probes: Vec<Probe>,
    /// One of them is taken by the path, and by no other.
    pub is_reached: bool,
}

/// Requests for everything that Ingresses serve.
#[must_use]
pub fn probes(site: &Site<'_>) -> Vec<PathProbes> {
    let mut all = Vec::new();
    for (name, server) in &site.config.servers {
        for route in &server.routes {
            if let Some(ingress) = (site.owner)(&route.id) {
                let makes = Maker { site, route };
                all.push(makes.of_path(ingress, name, server));
            }
        }
    }
    all
}

struct Maker<'a> {
    site: &'a Site<'a>,
    route: &'a HttpRoute,
}

impl Maker<'_> {
    fn of_path(&self, ingress: String, name: &ServerName, server: &Server) -> PathProbes {
        let (mut probes, mut seen) = (Vec::new(), BTreeSet::new());
        let mut is_reached = false;
        let host = host(name);
        let targets = paths::around(&self.route.matches.path);
        let mut add = |host: &str, target: &str, variant: &Variant| {
            for scheme in ["http", "https"] {
                let Some((request, explanation)) = self.request(scheme, host, target, variant)
                else {
                    continue;
                };
                let found = explanation.route.as_ref().map(|route| &route.id);
                is_reached |= found == Some(&self.route.id);
                let mut context = self.site.context_of(&request, &explanation);
                if matches!(context.subject, Subject::Host(_)) {
                    // Nothing takes what is beside the path: that is the path's own affair.
                    context.subject = Subject::Ingress(ingress.clone());
                }
                let is_new = seen.insert((request.to_string(), request.headers.clone()));
                if is_new && (scheme == "http" || self.is_served_with_tls(&explanation)) {
                    probes.push(Probe {
                        request,
                        body: Bytes::new(),
                        context,
                        is_ours: true,
                    });
                }
            }
        };
        let plain: Variant = ("GET", Vec::new());
        let first = targets.first().map_or("/", String::as_str);
        add(&host, first, &plain);
        for variant in self.variants() {
            add(&host, first, &variant);
        }
        add(&host, &format!("{first}?{LABEL}=1&b=%20"), &plain);
        for target in targets.iter().skip(1) {
            add(&host, target, &plain);
        }
        for alias in &server.aliases {
            add(&self::host(alias), first, &plain);
        }
        PathProbes {
            ingress,
            probes,
            is_reached,
        }
    }

    fn request(
        &self,
        scheme: &str,
        host: &str,
        target: &str,
        (method, headers): &Variant,
    ) -> Option<(Request, Explanation)> {
        let url = format!("{scheme}://{host}{target}");
        let method = self.route.matches.method.as_deref().unwrap_or(method);
        let request = Request::parse(&url, method, headers).ok()?;
        let explanation = explain(self.site.config, &request);
        Some((request, explanation))
    }

    fn is_served_with_tls(&self, explanation: &Explanation) -> bool {
        explanation.certificate.is_some()
            || explanation.server.is_none()
            || self.route.https_redirect.is_some()
    }

    /// By what the path has: CORS, canaries, conditions of snippets.
    fn variants(&self) -> Vec<Variant> {
        let mut variants = Vec::new();
        if let Some(cors) = &self.route.policy.cors {
            let preflight = |origin: &str| {
                let method = "Access-Control-Request-Method: PUT".to_owned();
                ("OPTIONS", vec![format!("Origin: {origin}"), method])
            };
            let allowed = allowed_origin(&cors.origins);
            variants.extend(allowed.iter().map(|origin| preflight(origin)));
            variants.extend(allowed.map(|origin| ("GET", vec![format!("Origin: {origin}")])));
            variants.push(("GET", vec![format!("Origin: {FOREIGN_ORIGIN}")]));
            variants.push(preflight(FOREIGN_ORIGIN));
        }
        let canaries = self.route.canaries.iter();
        variants.extend(canaries.flat_map(|canary| of_canary(&canary.rules)));
        let responses = self.route.direct_responses.iter();
        let tests = responses.flat_map(|response| &response.conditions);
        variants.extend(tests.filter_map(|condition| of_condition(&condition.test)));
        variants
    }
}

/// A host that the server takes.
fn host(name: &ServerName) -> String {
    match name {
        ServerName::Exact(host) => host.as_str().to_owned(),
        ServerName::Wildcard(suffix) => format!("{LABEL}.{}", suffix.as_str()),
        ServerName::CatchAll => format!("{LABEL}.invalid"),
    }
}

fn allowed_origin(origins: &AllowedOrigins) -> Option<String> {
    match origins {
        AllowedOrigins::Any => Some(FOREIGN_ORIGIN.to_owned()),
        AllowedOrigins::Only(list) => list.first().map(|origin| match origin {
            AllowedOrigin::Exact(origin) => origin.clone(),
            AllowedOrigin::Wildcard { scheme, suffix } => format!("{scheme}{LABEL}{suffix}"),
        }),
    }
}

/// A value for each pattern, and one that is likely for none.
fn found_or_not(patterns: &[&str]) -> Vec<String> {
    let texts = patterns
        .iter()
        .filter_map(|it| samples(it).into_iter().next());
    let texts = texts.filter_map(|text| String::from_utf8(text).ok());
    texts.chain([LABEL.to_owned()]).collect()
}

fn of_canary(rules: &CanaryRules) -> Vec<Variant> {
    let mut variants = Vec::new();
    if let Some(header) = &rules.header {
        let values = match &header.value {
            CanaryValue::AlwaysNever => vec!["always".to_owned(), "never".to_owned()],
            CanaryValue::Exact(value) => vec![value.clone(), LABEL.to_owned()],
            CanaryValue::Matches(pattern) => found_or_not(&[pattern]),
            CanaryValue::MatchesAll(all) => {
                let patterns: Vec<_> = all.iter().map(|it| it.pattern.as_str()).collect();
                found_or_not(&patterns)
            }
            CanaryValue::Backtracking(_) | CanaryValue::Invalid => vec![LABEL.to_owned()],
        };
        let values = values.into_iter();
        variants.extend(values.map(|value| ("GET", vec![format!("{}: {value}", header.name)])));
    }
    if let Some(cookie) = &rules.cookie {
        let values = ["always", "never"].into_iter();
        variants.extend(values.map(|value| ("GET", vec![format!("Cookie: {cookie}={value}")])));
    }
    variants
}

/// A request that passes the test of a snippet.
fn of_condition(test: &RequestTest) -> Option<Variant> {
    let text = |comparison: &Comparison| match comparison {
        Comparison::Equals(text) => Some(text.clone()),
        Comparison::Matches(pattern) | Comparison::MatchesIgnoreCase(pattern) => {
            String::from_utf8(samples(pattern).into_iter().next()?).ok()
        }
    };
    match test {
        RequestTest::Cookie { name, value } => {
            Some(("GET", vec![format!("Cookie: {name}={value}")]))
        }
        RequestTest::Header { name, value } if name.as_str() != "host" => {
            Some(("GET", vec![format!("{}: {}", name.as_str(), text(value)?)]))
        }
        RequestTest::Method(comparison) => match text(comparison)?.as_str() {
            "HEAD" => Some(("HEAD", Vec::new())),
            "OPTIONS" => Some(("OPTIONS", Vec::new())),
            _ => None,
        },
        _ => None,
    }
}
