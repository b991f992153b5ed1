use std::collections::BTreeMap;

use sluice_ir::{Expression, HeaderName, UpstreamHeader};

use super::*;

const DIGEST: Key = [0; 32];

fn answer(status: u16, headers: &[(&str, &str)]) -> AuthResponse {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    AuthResponse { status, headers }
}

fn terms(parts: &[ExpressionPart]) -> Terms {
    Terms {
        key: Expression(parts.to_vec()),
        ttl_by_status: BTreeMap::from([(200, 300)]),
        default_ttl: 0,
    }
}

fn external(url: &[ExpressionPart]) -> ExternalAuth {
    ExternalAuth {
        url: Expression(url.to_vec()),
        backend: None,
        method: None,
        signin_url: None,
        host: None,
        upstream_headers: UpstreamHeader::same(vec![HeaderName::parse("x-user").unwrap()]),
        headers: Vec::new(),
        redirect_url: Expression::default(),
        always_set_cookie: false,
        cache: None,
    }
}

fn text_part(text: &str) -> ExpressionPart {
    ExpressionPart::Text(text.to_owned())
}

fn cookie(name: &str) -> ExpressionPart {
    ExpressionPart::Variable(Variable::Cookie(name.to_owned()))
}

fn check(headers: &[(&str, &str)]) -> AuthzRequest {
    AuthzRequest {
        route: "a.example/".to_owned(),
        method: "GET".to_owned(),
        host: "a.example".to_owned(),
        path: "/cart?token=1".to_owned(),
        client: "192.0.2.7".parse().ok(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect(),
        ..AuthzRequest::default()
    }
}

fn key_of(parts: &[ExpressionPart], check: &AuthzRequest) -> Option<Key> {
    AuthCache::new([7; 32]).key(
        &external(&[text_part("http://auth/")]),
        &terms(parts),
        &DIGEST,
        check,
    )
}

#[test]
fn a_client_that_says_nothing_of_itself_shares_no_answer() {
    let header = |name: &str| ExpressionPart::Variable(Variable::Header(name.to_owned()));
    let argument = |name: &str| ExpressionPart::Variable(Variable::Argument(name.to_owned()));
    let nobody = check(&[
        ("accept", "*/*"),
        ("user-agent", "probe"),
        ("cookie", "other=1"),
    ]);
    for parts in [
        &[cookie("sid")][..],
        &[cookie("sid"), cookie("token")],
        &[cookie("sid"), ExpressionPart::Variable(Variable::Method)],
        &[
            text_part("fixed-"),
            cookie("sid"),
            ExpressionPart::Variable(Variable::RemoteAddress),
        ],
        &[
            header("accept"),
            cookie("sid"),
            ExpressionPart::Variable(Variable::RequestUri),
        ],
        &[header("authorization"), header("x-token")],
        &[argument("sid")],
        &[],
        &[text_part("")],
    ] {
        assert_eq!(key_of(parts, &nobody), None, "{parts:?}");
    }
    for parts in [
        &[text_part("fixed")][..],
        &[ExpressionPart::Variable(Variable::RemoteAddress)],
        &[cookie("sid"), cookie("OTHER")],
        &[argument("Token")],
    ] {
        assert!(key_of(parts, &nobody).is_some(), "{parts:?}");
    }
}

/// The fault that this was made for: a name in capital letters was nobody's to one reader, and somebody's to the service.
#[test]
fn a_cookie_is_the_same_in_any_case_and_only_with_its_value() {
    let key = |header: &str| key_of(&[cookie("sid")], &check(&[("cookie", header)]));
    assert_eq!(key("SID=valid"), key("sid=valid"));
    assert_eq!(key("a=1; Sid=valid"), key("sid=valid"));
    assert!(key("sid=valid").is_some());
    assert_ne!(key("sid=valid"), key("sid=other"));
    for nobody in ["", "sid=", "SID=; sid=valid", "xsid=valid", "sid"] {
        assert_eq!(key(nobody), None, "{nobody:?}");
    }
}

#[test]
fn requests_that_differ_in_what_an_answer_can_depend_on_share_none() {
    let cache = AuthCache::new([7; 32]);
    let url = [
        text_part("http://auth/"),
        ExpressionPart::Variable(Variable::RequestUri),
    ];
    let base = check(&[("cookie", "sid=1")]);
    let key = |check: &AuthzRequest, digest: &Key| {
        cache.key(&external(&url), &terms(&[cookie("sid")]), digest, check)
    };
    let of_base = key(&base, &DIGEST);
    assert_eq!(key(&base, &DIGEST), of_base);
    let others = [
        AuthzRequest {
            route: "b.example/".to_owned(),
            ..base.clone()
        },
        AuthzRequest {
            method: "POST".to_owned(),
            ..base.clone()
        },
        AuthzRequest {
            host: "b.example".to_owned(),
            ..base.clone()
        },
        AuthzRequest {
            path: "/admin".to_owned(),
            ..base.clone()
        },
        AuthzRequest {
            headers: vec![("cookie".to_owned(), b"sid=2".to_vec())],
            ..base.clone()
        },
        AuthzRequest {
            headers: vec![("cookie".to_owned(), b"sid=\xff".to_vec())],
            ..base.clone()
        },
        AuthzRequest {
            headers: vec![("cookie".to_owned(), b"sid=\xfe".to_vec())],
            ..base.clone()
        },
    ];
    let mut keys: Vec<_> = others
        .iter()
        .map(|check| key(check, &DIGEST))
        .chain([key(&base, &[1; 32])])
        .collect();
    keys.push(of_base);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), others.len() + 2, "each has its own");
    assert!(keys.iter().all(Option::is_some));
    assert_ne!(
        AuthCache::new([8; 32]).key(&external(&url), &terms(&[cookie("sid")]), &DIGEST, &base),
        of_base
    );
}

#[test]
fn parts_of_a_key_do_not_run_into_each_other() {
    let key = |header: &str| key_of(&[cookie("a"), cookie("b")], &check(&[("cookie", header)]));
    assert_ne!(key("a=xy"), key("a=x; b=y"));
    assert_ne!(key("a=xy"), key("b=xy"));
}

fn keep(cache: &AuthCache, tenant: &str, key: Key, answer: &AuthResponse) {
    cache.keep(tenant, key, &external(&[]), &terms(&[]), answer);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_its_time_and_for_its_tenant() {
    let cache = AuthCache::new([7; 32]);
    keep(
        &cache,
        "a",
        DIGEST,
        &answer(200, &[("x-user", "ada"), ("x-secret", "large")]),
    );
    let kept = cache.recall("a", &DIGEST).unwrap();
    assert_eq!(
        *kept,
        answer(200, &[("x-user", "ada")]),
        "only what is looked at"
    );
    assert!(cache.recall("b", &DIGEST).is_none());
    tokio::time::advance(Duration::from_secs(301)).await;
    assert!(cache.recall("a", &DIGEST).is_none());
}

/// 1,500 answers of 50 KB took 74 MB.
#[test]
fn answers_have_a_budget_in_bytes() {
    let cache = AuthCache::new([7; 32]);
    let used = || cache.answers.lock().unwrap().used();
    let value = "x".repeat(50_000);
    for number in 0..3000_u32 {
        let mut key = DIGEST;
        key[..4].copy_from_slice(&number.to_be_bytes());
        keep(
            &cache,
            "crowd",
            key,
            &answer(200, &[("x-other", &value), ("x-user", "ada")]),
        );
    }
    assert!(
        used() < 3000 * 1024,
        "{}: what is not read is not kept",
        used()
    );
    for number in 0..3000_u32 {
        let mut key = DIGEST;
        key[28..].copy_from_slice(&number.to_be_bytes());
        keep(&cache, "crowd", key, &answer(200, &[("x-user", &value)]));
        assert!(used() <= BUDGET);
    }
}

#[test]
fn what_is_somebodys_own_is_not_kept() {
    assert_eq!(
        time(&terms(&[]), &answer(200, &[])),
        Some(Duration::from_secs(300))
    );
    assert_eq!(time(&terms(&[]), &answer(401, &[])), None);
    let short = answer(200, &[("cache-control", "max-age=5")]);
    assert_eq!(time(&terms(&[]), &short), Some(Duration::from_secs(5)));
    for own in [
        ("set-cookie", "a=b"),
        ("cache-control", "Private"),
        ("cache-control", "max-age=0"),
    ] {
        assert_eq!(time(&terms(&[]), &answer(200, &[own])), None, "{own:?}");
    }
}
