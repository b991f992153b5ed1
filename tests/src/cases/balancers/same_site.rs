//! Area `same-site`: which browsers may get `SameSite=None`.

use serde::Deserialize;
use sluice_filter_config::{Affinity, AffinityMode, Backend, Cookie, Route, SameSite};

use super::case::{Case, Play, in_both};
use super::cookie::compare;
use super::site::{PRIMARY, Site, backend};
use crate::fake::Personality;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    user_agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    compatible: bool,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if case.when != "asked whether SameSite=None may be sent" {
        return Err(case.unknown_action());
    }
    in_both(|personality| {
        let mut site = conditional(personality);
        let headers: Vec<(&str, &str)> = given
            .user_agent
            .iter()
            .map(|agent| ("user-agent", agent.as_str()))
            .collect();
        let sent = site.send(&headers);
        let cookies = site.respond(&sent, &sent.pick());
        site.end(&sent);
        let expected = if then.compatible {
            serde_json::json!("None")
        } else {
            serde_json::Value::Null
        };
        compare(&serde_json::json!({ "samesite": expected }), &cookies, 0)
    })
}

/// A route whose cookies are `SameSite=None` where that is understood.
fn conditional(personality: Personality) -> Site {
    let cookie = Cookie {
        name: "route".into(),
        same_site: Some(SameSite::None),
        conditional_same_site_none: true,
        ..Cookie::default()
    };
    let affinity = Affinity {
        mode: AffinityMode::Balanced,
        cookie,
        change_on_failure: false,
    };
    let primary = Backend {
        affinity: Some(affinity),
        ..backend("ns-primary-80", &["10.0.0.1:80".to_owned()])
    };
    let route = Route {
        session_path: Some("/".into()),
        ..Route::to(PRIMARY)
    };
    Site::with(personality, route, [(PRIMARY.to_owned(), primary)].into())
}
