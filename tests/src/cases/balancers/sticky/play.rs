//! The actions of these areas.

use serde_json::Value;
use sluice_filter_config::{self as wire, AffinityMode, Canary, Route, Share};
use sluice_filter_core::affinity::Session;

use super::super::case::{Cannot, Case, Findings, Play, differs, in_both};
use super::super::cookie::{Parsed, compare};
use super::super::endpoint::on_the_wire;
use super::super::site::{PRIMARY, Site, backend};
use super::visit::{Visit, header, key_of, send, value, visit};
use super::words::{Given, Then};
use crate::fake::Personality;

const FIRST_PICK: &str = "first pick";
const THE_OTHER: &str = "the other endpoint";
const THE_SAME: &str = "the same endpoint";
const SOME_KEY: &str = "a key that maps to an endpoint";
/// Response headers that begin a session, in the original's words.
const BEGINS: [&str; 2] = [
    "renewed for the new endpoint (when the location is listed)",
    "new key issued when the location is listed",
];

pub(in super::super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    let mode = match case.area.as_str() {
        "sticky_persistent" => AffinityMode::Persistent,
        _ => AffinityMode::Balanced,
    };
    let again = case
        .when
        .strip_prefix("balanced again in the same request, ");
    match case.when.as_str() {
        "created" => created(&given, mode, &then),
        "cookie parsed" => parsed(&given, &then),
        "balanced without cookie" | "balanced without cookie at T" => {
            let path = given.listed_path();
            in_both(|personality| {
                let mut site = given.site(personality, mode, path.clone())?;
                let seen = visit(&mut site, &given, None);
                compare_visit(&mut site, &given, &then, &seen)
            })
        }
        "balanced" => in_both(|personality| balanced(personality, &given, mode, &then)),
        _ if again.is_some() => {
            let times = again.and_then(|rest| rest.strip_suffix(" times")?.parse().ok());
            let times = times.ok_or_else(|| case.unknown_action())?;
            in_both(|personality| retried(personality, &given, mode, &then, times))
        }
        when => {
            if let Some(name) = when.strip_prefix("asked whether the request is affinitized to ") {
                return in_both(|personality| affinitized(personality, &given, mode, &then, name));
            }
            let added = when
                .strip_suffix(" is added")
                .ok_or_else(|| case.unknown_action())?;
            in_both(|personality| scaled(personality, &given, mode, &then, added))
        }
    }
}

/// The key that says which backend a session belongs to.
fn created(given: &Given, mode: AffinityMode, then: &Then) -> Play {
    let expected = then
        .backend_key
        .clone()
        .ok_or_else(|| Cannot("then: expected `backend_key`".into()))?;
    in_both(|personality| {
        let mut site = given.site(personality, mode, Given::any_path())?;
        let cookie = Parsed::of(&visit(&mut site, given, None).cookies);
        let key = cookie.map_or(Value::Null, |cookie| cookie.keys().1.into());
        Ok(differs("backend_key", &expected, &key)
            .into_iter()
            .collect())
    })
}

fn parsed(given: &Given, then: &Then) -> Play {
    let value = given.request.cookie_value.as_deref();
    let value = value.ok_or_else(|| Cannot("given.request: expected `cookie_value`".into()))?;
    let session = Session::parse(value.as_bytes());
    let text = |bytes: &[u8]| Value::String(String::from_utf8_lossy(bytes).into_owned());
    let upstream_key = text(session.upstream_key);
    let backend_key = session.backend_key.map_or(Value::Null, text);
    let compare = |what, expected: &Option<Value>, got: &Value| {
        expected
            .as_ref()
            .and_then(|expected| differs(what, expected, got))
    };
    Ok([
        compare("upstream_key", &then.upstream_key, &upstream_key),
        compare("backend_key", &then.backend_key, &backend_key),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// A request with the cookie that the case describes, if any.
fn balanced(personality: Personality, given: &Given, mode: AffinityMode, then: &Then) -> Play {
    // Where a session could begin; what must not begin one is told apart only there.
    let has_cookie = given.cookie_key.is_some() || given.request.cookie.is_some();
    let path = if has_cookie {
        Given::any_path()
    } else {
        given.listed_path()
    };
    let mut site = given.site(personality, mode, path)?;
    let home = site.backends[PRIMARY].endpoints[0].address.clone();
    let key = match (&given.cookie_key, given.request.cookie.as_deref()) {
        (Some(key), _) => Some(key.clone()),
        (None, Some(SOME_KEY)) => key_of(&mut site, given, mode, &home),
        (None, Some(other)) => {
            return Err(Cannot(format!(
                "given.request.cookie: expected {SOME_KEY:?}, got {other:?}"
            )));
        }
        (None, None) => None,
    };
    let whole = key
        .map(|key| value(&site, &key))
        .or_else(|| given.request.cookie_value.clone());
    let cookie = whole.map(|value| header(&site, &value));
    let seen = visit(&mut site, given, cookie.as_deref());
    compare_visit(&mut site, given, then, &seen)
}

fn compare_visit(site: &mut Site, given: &Given, then: &Then, seen: &Visit) -> Play {
    let mut findings = Findings::new();
    findings.extend(
        then.pick
            .as_ref()
            .and_then(|expected| differs("pick", expected, &seen.pick)),
    );
    match &then.set_cookie {
        None => {}
        Some(Value::String(sentence)) => {
            findings.extend(begins(site, given, sentence, &seen.cookies, &seen.pick)?);
        }
        Some(expected) => findings.extend(compare(expected, &seen.cookies, seen.now)?),
    }
    Ok(findings)
}

/// The response set a cookie that leads to the endpoint that gave it.
fn begins(site: &mut Site, given: &Given, sentence: &str, cookies: &[String], home: &str) -> Play {
    if !BEGINS.contains(&sentence) {
        return Err(Cannot(format!(
            "then.set_cookie: unknown sentence {sentence:?}"
        )));
    }
    let Some(cookie) = Parsed::of(cookies) else {
        return Ok(vec![format!("set_cookie: expected one, got {cookies:?}")]);
    };
    let back = visit(site, given, Some(&cookie.pair()));
    let mut findings: Findings = differs("the next request of the session", home, &back.pick)
        .into_iter()
        .collect();
    findings.extend(compare(&Value::Null, &back.cookies, back.now)?);
    Ok(findings)
}

/// Requests of a session whose endpoint fails.
fn retried(
    personality: Personality,
    given: &Given,
    mode: AffinityMode,
    then: &Then,
    times: usize,
) -> Play {
    if given.tried_and_failed.as_deref() != Some(FIRST_PICK) {
        return Err(Cannot(format!(
            "given.tried_and_failed: expected {FIRST_PICK:?}"
        )));
    }
    let mut site = given.site(personality, mode, Given::any_path())?;
    let first = visit(&mut site, given, None);
    let cookie = Parsed::of(&first.cookies).map(|cookie| cookie.pair());
    let mut findings = Findings::new();
    for _ in 0..times {
        let sent = send(&mut site, given, cookie.as_deref());
        let (tried, next) = (
            sent.pick(),
            sent.candidates.get(1).cloned().unwrap_or_default(),
        );
        findings.extend(differs("the pick of the session", &first.pick, &tried));
        let is_same = next == tried;
        match then.pick.as_deref() {
            Some(THE_OTHER) if is_same || next.is_empty() => {
                findings.push(format!(
                    "pick: expected another than {tried}, got {:?}",
                    sent.candidates
                ));
            }
            Some(THE_SAME) if !is_same => {
                findings.push(format!(
                    "pick: expected {tried} again, got {:?}",
                    sent.candidates
                ));
            }
            None | Some(THE_OTHER | THE_SAME) => {}
            Some(other) => return Err(Cannot(format!("then.pick: unknown sentence {other:?}"))),
        }
        let cookies =
            site.filter
                .answer_client(sent.id, &[(&tried, 502), (&next, 200)], site_time());
        site.end(&sent);
        match &then.set_cookie {
            None => {}
            Some(Value::String(sentence)) => {
                findings.extend(begins(&mut site, given, sentence, &cookies, &next)?);
            }
            Some(expected) => findings.extend(compare(expected, &cookies, first.now)?),
        }
    }
    findings.dedup();
    Ok(findings)
}

fn site_time() -> std::time::Duration {
    std::time::Duration::from_millis(5)
}

/// A session of the primary stays there, although a canary takes all others.
fn affinitized(
    personality: Personality,
    given: &Given,
    mode: AffinityMode,
    then: &Then,
    name: &str,
) -> Play {
    let expected = then
        .affinitized
        .ok_or_else(|| Cannot("then: expected `affinitized`".into()))?;
    let all = Share {
        weight: 100,
        total: 100,
    };
    let canary = Canary {
        backend: "canary".into(),
        weight: Some(all),
        ..Canary::default()
    };
    let primary = wire::Backend {
        name: name.to_owned(),
        ..given.primary(mode)?
    };
    let mut site = Site::with(
        personality,
        Route {
            canaries: vec![canary],
            ..Route::to(PRIMARY)
        },
        [
            (PRIMARY.to_owned(), primary),
            (
                "canary".to_owned(),
                backend("canary", &["10.9.0.1:80".to_owned()]),
            ),
        ]
        .into(),
    );
    let value = given.request.cookie_value.as_deref();
    let value = value.ok_or_else(|| Cannot("given.request: expected `cookie_value`".into()))?;
    let cookie = header(&site, value);
    let sent = send(&mut site, given, Some(&cookie));
    site.end(&sent);
    let stays = sent.backend.as_deref() == Some(PRIMARY);
    Ok(differs("affinitized", &expected, &stays)
        .into_iter()
        .collect())
}

/// A session, and one endpoint more.
fn scaled(
    personality: Personality,
    given: &Given,
    mode: AffinityMode,
    then: &Then,
    added: &str,
) -> Play {
    let home = given
        .cookie
        .as_deref()
        .and_then(|cookie| cookie.strip_prefix("for "));
    let home = home.ok_or_else(|| Cannot("given.cookie: expected \"for ip:port\"".into()))?;
    let expected = then
        .pick
        .as_deref()
        .and_then(|pick| pick.strip_prefix("still "));
    let expected =
        expected.ok_or_else(|| Cannot("then.pick: expected \"still ip:port\"".into()))?;
    let mut primary = given.primary(mode)?;
    primary.endpoints = on_the_wire(&[home.to_owned()]);
    let route = Route {
        session_path: Given::any_path(),
        ..Route::to(PRIMARY)
    };
    let mut site = Site::with(personality, route, [(PRIMARY.to_owned(), primary)].into());
    let cookie = Parsed::of(&visit(&mut site, given, None).cookies).map(|cookie| cookie.pair());
    site.scale(&[home.to_owned(), added.to_owned()]);
    let back = visit(&mut site, given, cookie.as_deref());
    let mut findings: Findings = differs("pick", expected, &back.pick).into_iter().collect();
    findings.extend(compare(&Value::Null, &back.cookies, back.now)?);
    Ok(findings)
}
