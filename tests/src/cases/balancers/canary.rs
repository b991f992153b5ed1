//! Area `canary`: whether a request goes to the alternative backend.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use sluice_filter_config::{self as wire, Affinity, AffinityMode, Cookie, Route};
use sluice_filter_core::affinity::backend_key;

use super::case::{Cannot, Case, Play, in_both, some};
use super::endpoint::{Endpoint, addresses};
use super::original::TrafficShaping;
use super::site::{PRIMARY, Site, backend};
use crate::fake::Personality;

const PRIMARY_NAME: &str = "ns-primary-80";
const SESSION: &str = "session";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    primary: Primary,
    #[serde(default)]
    alternative: Option<Alternative>,
    #[serde(default)]
    request: Asked,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Primary {
    #[serde(default)]
    affinitized: bool,
    #[serde(default)]
    alternative_backends: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alternative {
    name: String,
    #[serde(default)]
    affinitized: bool,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
    #[serde(default, rename = "trafficShapingPolicy")]
    policy: Option<TrafficShaping>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    headers: BTreeMap<String, String>,
    cookies: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    #[serde(deserialize_with = "some")]
    routed_to_alternative: Option<Value>,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if case.when != "the request is routed" {
        return Err(case.unknown_action());
    }
    let expected = Expected::parse(&then.routed_to_alternative.unwrap_or_default())?;
    in_both(|personality| {
        let mut site = given.site(personality);
        let headers = given.headers();
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        let Expected {
            requests,
            share,
            bounds,
        } = &expected;
        Ok(share_of(&mut site, &headers, *requests, *share, *bounds)
            .into_iter()
            .collect())
    })
}

/// So many of so many requests.
#[derive(Debug, PartialEq)]
struct Expected {
    requests: usize,
    share: f64,
    bounds: Option<(f64, f64)>,
}

impl Expected {
    fn parse(expected: &Value) -> Result<Expected, Cannot> {
        // A rule that is certain is certain every time.
        let always = |share: f64| Expected {
            requests: 200,
            share,
            bounds: None,
        };
        let text = match expected {
            Value::Bool(all) => return Ok(always(f64::from(u8::from(*all)))),
            Value::String(text) => text,
            other => {
                return Err(Cannot(format!(
                    "then.routed_to_alternative: expected a bool or a share, got {other}"
                )));
            }
        };
        let cannot = || {
            Cannot(format!(
                "then.routed_to_alternative: expected \"about P% of N requests (LOW%..HIGH%)\", got {text:?}"
            ))
        };
        let pattern = r"^about ([\d.]+)% of (\d+) requests(?: \(([\d.]+)%\.\.([\d.]+)%\))?$";
        let found = Regex::new(pattern)
            .expect("a constant")
            .captures(text)
            .ok_or_else(cannot)?;
        let part = |n: usize| Some(found.get(n)?.as_str().parse::<f64>().ok()? / 100.0);
        let requests = found[2].parse().map_err(|_| cannot())?;
        Ok(Expected {
            requests,
            share: part(1).ok_or_else(cannot)?,
            bounds: part(3).zip(part(4)),
        })
    }
}

impl Given {
    fn site(&self, personality: Personality) -> Site {
        let mut route = Route::to(PRIMARY);
        let primary = backend(PRIMARY_NAME, &["10.0.0.1:80".to_owned()]);
        let mut backends: BTreeMap<String, wire::Backend> = [(PRIMARY.to_owned(), primary)].into();
        let policy = self
            .alternative
            .as_ref()
            .and_then(|alternative| alternative.policy.as_ref());
        for name in &self.primary.alternative_backends {
            let is_it = self
                .alternative
                .as_ref()
                .is_some_and(|alternative| alternative.name == *name);
            let canary = policy
                .filter(|_| is_it)
                .map(|policy| policy.on_the_wire(name));
            route.canaries.push(canary.unwrap_or_else(|| wire::Canary {
                backend: name.clone(),
                ..wire::Canary::default()
            }));
        }
        if let Some(alternative) = &self.alternative {
            let canary = backend(&alternative.name, &addresses(&alternative.endpoints));
            backends.insert(alternative.name.clone(), canary);
        }
        if self.session().is_some() {
            let cookie = Cookie {
                name: SESSION.into(),
                ..Cookie::default()
            };
            let affinity = Affinity {
                mode: AffinityMode::Balanced,
                cookie,
                change_on_failure: false,
            };
            backends
                .values_mut()
                .for_each(|backend| backend.affinity = Some(affinity.clone()));
        }
        Site::with(personality, route, backends)
    }

    /// The name of the backend that the request has a session on.
    fn session(&self) -> Option<&str> {
        let alternative = self
            .alternative
            .as_ref()
            .filter(|alternative| alternative.affinitized);
        match self.primary.affinitized {
            true => Some(PRIMARY_NAME),
            false => alternative.map(|alternative| alternative.name.as_str()),
        }
    }

    fn headers(&self) -> Vec<(String, String)> {
        let Asked { headers, cookies } = &self.request;
        let mut sent: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
            .collect();
        let mut cookies: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        cookies.extend(self.session().map(|name| {
            format!(
                "{SESSION}=any-key|{}",
                String::from_utf8_lossy(&backend_key(name))
            )
        }));
        if !cookies.is_empty() {
            sent.push(("cookie".into(), cookies.join("; ")));
        }
        sent
    }
}

/// A route with this primary backend and a canary.
pub(super) fn site(
    personality: Personality,
    primary: wire::Backend,
    name: &str,
    policy: &TrafficShaping,
) -> Site {
    let route = Route {
        canaries: vec![policy.on_the_wire(name)],
        ..Route::to(PRIMARY)
    };
    let canary = backend(name, &["10.9.0.1:80".to_owned()]);
    Site::with(
        personality,
        route,
        [(PRIMARY.to_owned(), primary), (name.to_owned(), canary)].into(),
    )
}

/// A finding when the canary does not get its share of requests with these headers: within these bounds, or within five
/// standard deviations of a binomial distribution.
pub(super) fn share_of(
    site: &mut Site,
    headers: &[(&str, &str)],
    requests: usize,
    share: f64,
    bounds: Option<(f64, f64)>,
) -> Option<String> {
    let mut taken = 0;
    for _ in 0..requests {
        let sent = site.send(headers);
        taken += usize::from(
            sent.backend
                .as_deref()
                .is_some_and(|backend| backend != PRIMARY),
        );
        site.end(&sent);
    }
    let part = taken as f64 / requests as f64;
    let deviation = 5.0 * (share * (1.0 - share) / requests as f64).sqrt();
    let (low, high) = bounds.unwrap_or((share - deviation, share + deviation));
    let fits = (low..=high).contains(&part);
    (!fits).then(|| {
        format!("expected {low:.4} to {high:.4} of {requests} requests on the alternative, got {part:.4}")
    })
}
