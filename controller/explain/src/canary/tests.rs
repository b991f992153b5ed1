use std::sync::Arc;

use sluice_ir::{
    Action, Affinity, AffinityMode, Backend, Canary, CanaryHeader, Cookie, Destination, Endpoint,
    PathMatch, Policy, Server, ServerName,
};

use super::*;
use crate::{Explanation, Words, end, explain};

fn pods() -> Backend {
    Backend {
        endpoints: vec![Endpoint::at(([10, 0, 0, 1], 80).into())],
        ..Backend::default()
    }
}

fn header(value: CanaryValue) -> CanaryRules {
    CanaryRules {
        header: Some(CanaryHeader {
            name: "x-beta".to_owned(),
            value,
        }),
        cookie: Some("beta".to_owned()),
        weight: 20,
        total: 100,
    }
}

fn weight(weight: u32) -> CanaryRules {
    CanaryRules {
        weight,
        total: 100,
        ..CanaryRules::default()
    }
}

/// `web`, with these canaries of it.
fn config(canaries: &[(&str, CanaryRules)], backends: &[(&str, Backend)]) -> Config {
    let action = Action::Forward(Destination::from(BackendId::new("web")));
    let path = PathMatch::Prefix("/".to_owned());
    let policy = Arc::new(Policy::default());
    let mut route = HttpRoute::new(&ServerName::CatchAll, path, action, policy);
    route.canaries = canaries
        .iter()
        .map(|(id, rules)| Canary {
            backend: BackendId::new(*id),
            https_backend: None,
            rules: rules.clone(),
            sticky: true,
        })
        .collect();
    let mut config = Config::default();
    let server = Server {
        routes: vec![route],
        ..Server::default()
    };
    config
        .servers
        .insert(ServerName::CatchAll, Arc::new(server));
    for (id, backend) in backends {
        let backend = Arc::new(backend.clone());
        config.backends.insert(BackendId::new(*id), backend);
    }
    config
}

/// Lines about the choice for a request with these headers.
fn goes_to(config: &Config, headers: &[&str]) -> String {
    let headers: Vec<String> = headers.iter().map(|&line| line.to_owned()).collect();
    let request = Request::parse("http://a/", "GET", &headers).unwrap();
    let Explanation { outcome, .. } = explain(config, &request);
    let lines = end(&outcome, &Words::default(), &|id| id.to_string());
    let behind = lines.iter().skip_while(|(word, _)| *word != "goes to");
    let choice = behind.take_while(|(word, _)| ["goes to", ""].contains(word));
    let texts: Vec<&str> = choice.map(|(_, text)| text.as_str()).collect();
    texts.join(" | ")
}

#[test]
fn the_rule_that_decides_is_named_with_what_the_request_says() {
    let with = |value: CanaryValue| {
        config(
            &[("new", header(value))],
            &[("web", pods()), ("new", pods())],
        )
    };
    let switch = with(CanaryValue::AlwaysNever);
    let by_weight = "by weight: 20% canary new, 80% main backend web";
    for (headers, expected) in [
        (
            &["X-Beta: always"][..],
            "canary new: header x-beta is \"always\"",
        ),
        (
            &["X-Beta: never"],
            "main backend web; canary new: header x-beta is \"never\"",
        ),
        (&["X-Beta: 1"], by_weight),
        (
            &["X-Beta: 1", "Cookie: beta=always"],
            "canary new: cookie beta is \"always\"",
        ),
        (
            &["Cookie: a=b", "Cookie: beta=never"],
            "main backend web; canary new: cookie beta is \"never\"",
        ),
        (
            &["X-Beta: always", "Cookie: beta=never"],
            "canary new: header x-beta is \"always\"",
        ),
        (&[], by_weight),
    ] {
        assert_eq!(goes_to(&switch, headers), expected, "{headers:?}");
    }
    let exact = with(CanaryValue::Exact("a b".to_owned()));
    assert_eq!(
        goes_to(&exact, &["X-Beta: a b"]),
        "canary new: header x-beta is \"a b\""
    );
    assert_eq!(goes_to(&exact, &["X-Beta: always"]), by_weight);
    let pattern = with(CanaryValue::Matches("^v[0-9]".to_owned()));
    let matched = "canary new: header x-beta is \"v2\", which matches ^v[0-9]";
    assert_eq!(goes_to(&pattern, &["X-Beta: v2"]), matched);
    assert_eq!(goes_to(&pattern, &["X-Beta: w2"]), by_weight);
    let invalid =
        "main backend web; canary new: header x-beta is \"1\", and its pattern is not supported";
    assert_eq!(
        goes_to(&with(CanaryValue::Invalid), &["X-Beta: 1"]),
        invalid
    );
}

#[test]
fn weights_are_parts_of_one_draw_and_canaries_without_endpoints_leave_theirs() {
    let three = [("a", weight(70)), ("b", weight(20)), ("c", weight(50))];
    let (web, a, b, c) = (("web", pods()), ("a", pods()), ("b", pods()), ("c", pods()));
    let all = config(&three, &[web.clone(), a.clone(), b.clone(), c.clone()]);
    assert_eq!(
        goes_to(&all, &[]),
        "by weight: 70% canary a, 20% canary b, 10% canary c"
    );
    let without_a = config(&three, &[web.clone(), ("a", Backend::default()), b, c]);
    assert_eq!(
        goes_to(&without_a, &[]),
        "by weight: 20% canary b, 10% canary c, 70% main backend web"
    );
    let nobody = config(&[("a", weight(0)), ("d", weight(9))], &[web, a.clone()]);
    assert_eq!(
        goes_to(&nobody, &[]),
        "main backend web; canary a: no rule selects it; canary d: it has no endpoints"
    );
    let unserved = config(&[("a", weight(100))], &[("web", Backend::default()), a]);
    assert_eq!(
        goes_to(&unserved, &[]),
        "by weight: 100% canary a | 503 for all requests: the main backend has no endpoints"
    );
}

#[test]
fn a_session_may_say_otherwise() {
    let cookie = Cookie {
        name: "stay".to_owned(),
        path: None,
        domain: None,
        same_site: None,
        conditional_same_site_none: false,
        secure: false,
        expires: None,
        max_age: None,
    };
    let sticky = Backend {
        affinity: Some(Box::new(Affinity {
            mode: AffinityMode::Balanced,
            cookie,
            change_on_failure: false,
        })),
        ..pods()
    };
    let config = config(&[("new", weight(100))], &[("web", sticky), ("new", pods())]);
    let text = goes_to(&config, &["Cookie: stay=1"]);
    assert!(
        text.ends_with("unless cookie stay belongs to a session, which stays on its backend"),
        "{text}"
    );
    assert!(!goes_to(&config, &["Cookie: other=1"]).contains("unless"));
}

#[test]
fn rules_are_words() {
    let one = |pattern: &str, negated| ValuePattern {
        pattern: pattern.to_owned(),
        negated,
    };
    let all = CanaryValue::MatchesAll(vec![one("^a", false), one("b$", true)]);
    assert_eq!(
        canary_rules(&header(all)),
        [
            "header x-beta: a value that matches ^a and does not match b$ selects it",
            "cookie beta: \"always\" selects it, \"never\" keeps it away",
            "weight: 20 of 100 requests that no other rule decides",
        ]
    );
    assert_eq!(canary_rules(&weight(3)), ["weight: 3 of 100 requests"]);
    assert_eq!(canary_rules(&weight(0)), ["no rule: it gets no requests"]);
}
