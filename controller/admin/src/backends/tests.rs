use std::sync::Arc;

use sluice_filter_config::HashKey;
use sluice_ir::{AffinityMode, CanaryRules, Cookie, SameSite};
use sluice_translate::{Object, Options, translate};

use super::*;

fn ingress() -> Value {
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
    "spec": {"ingressClassName": "nginx", "rules": [{"http": {"paths": [
        {"path": "/", "backend": {"service": {"name": "web", "port": {"number": 80}}}},
        {"path": "/x", "backend": {"service": {"name": "gone", "port": {"name": "http"}}}},
    ]}}]}})
}

fn world() -> Resources {
    let port = json!({"port": 80});
    let documents = [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [port]}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
            "ports": [{"port": 8080}], "endpoints": [{"addresses": ["10.0.0.1"]}]}),
        ingress(),
    ];
    let mut resources = Resources::default();
    for document in documents {
        resources.apply(Object::from_value(document).unwrap());
    }
    resources
}

fn shown() -> Value {
    let resources = world();
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    serde_json::to_value(upstreams(translation.config(), &resources, None)).unwrap()
}

#[test]
fn a_backend_is_shown_as_ingress_nginx_shows_it() {
    let expected = json!({
        "name": "default-web-80",
        "service": {
            "metadata": {"creationTimestamp": null},
            "spec": {"ports": [{"port": 80}]},
            "status": {"loadBalancer": {}},
        },
        "port": 80,
        "sslPassthrough": false,
        "endpoints": [{"address": "10.0.0.1", "port": "8080"}],
        "sessionAffinityConfig": {"name": "", "mode": "", "cookieSessionAffinity": {"name": ""}},
        "upstreamHashByConfig": {"upstream-hash-by-subset-size": 3},
        "load-balance": "round_robin",
        "noServer": false,
        "trafficShapingPolicy": {
            "weight": 0, "weightTotal": 0, "header": "", "headerValue": "", "headerPattern": "", "cookie": "",
        },
    });
    assert_eq!(shown()[1], expected);
}

#[test]
fn a_backend_that_leads_nowhere_is_shown_without_endpoints() {
    let gone = &shown()[0];
    assert_eq!(
        (&gone["name"], &gone["port"]),
        (&json!("default-gone-http"), &json!("http"))
    );
    assert_eq!(
        (&gone["endpoints"], &gone["service"]["spec"]),
        (&json!([]), &json!({}))
    );
}

#[test]
fn the_default_backend_is_always_there_and_those_of_annotations_have_names_of_their_own() {
    let shown = |default: Option<&ObjectKey>| {
        let mut config = Config::default();
        for service in ["errors", "other"] {
            config.backends.insert(
                BackendId::new(format!("shop/{service}/first")),
                Backend::default().into(),
            );
        }
        let shown = upstreams(&config, &Resources::default(), default);
        shown
            .into_iter()
            .map(|upstream| upstream.name)
            .collect::<Vec<_>>()
    };
    let (errors, other) = (
        "custom-default-backend-shop-errors",
        "custom-default-backend-shop-other",
    );
    assert_eq!(shown(None), [errors, other, DEFAULT]);
    assert_eq!(
        shown(Some(&ObjectKey::new("shop", "errors"))),
        [other, DEFAULT]
    );
}

const WEB: &str = "default/web/80";

fn changed(change: impl FnOnce(&mut Config)) -> Vec<Value> {
    let resources = world();
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let mut config = translate(&resources, &options).config().clone();
    change(&mut config);
    upstreams(&config, &resources, None)
        .iter()
        .map(|upstream| serde_json::to_value(upstream).unwrap())
        .collect()
}

fn web(config: &mut Config) -> &mut Backend {
    Arc::make_mut(
        config
            .backends
            .get_mut(&BackendId::new("default/web/80"))
            .unwrap(),
    )
}

#[test]
fn a_session_is_shown_with_its_cookie_and_where_it_holds() {
    let cookie = Cookie {
        name: "route".to_owned(),
        path: None,
        domain: None,
        same_site: Some(SameSite::Lax),
        conditional_same_site_none: false,
        secure: false,
        expires: None,
        max_age: Some(60),
    };
    let affinity = Affinity {
        mode: AffinityMode::Balanced,
        cookie,
        change_on_failure: false,
    };
    let shown = changed(|config| web(config).affinity = Some(affinity.into()));
    let expected = json!({
        "name": "cookie", "mode": "balanced",
        "cookieSessionAffinity": {"name": "route", "maxage": "60", "samesite": "Lax", "locations": {"_": ["/"]}},
    });
    assert_eq!(shown[1]["sessionAffinityConfig"], expected);
}

#[test]
fn what_is_hashed_is_shown_in_the_words_of_nginx() {
    let (key, _) = HashKey::parse("$remote_addr");
    let shown = changed(|config| {
        web(config).load_balance = LoadBalance::Hash {
            key,
            subset: None,
            load_factor: None,
        }
    });
    let expected = json!({"upstream-hash-by": "$remote_addr", "upstream-hash-by-subset-size": 3});
    assert_eq!(
        (
            &shown[1]["upstreamHashByConfig"],
            shown[1].get("load-balance")
        ),
        (&expected, None)
    );
}

#[test]
fn a_canary_is_an_alternative_of_its_backend_and_no_server() {
    let next = BackendId::new("default/next/80");
    let rules = CanaryRules {
        weight: 5,
        total: 100,
        ..CanaryRules::default()
    };
    let canary = Canary {
        backend: next.clone(),
        https_backend: None,
        rules,
        sticky: true,
    };
    let shown = changed(|config| {
        config.backends.insert(next, Backend::default().into());
        for (name, mut server) in config.servers.clone() {
            for location in &mut Arc::make_mut(&mut server).routes {
                if location
                    .primary_backend()
                    .is_some_and(|main| main.as_str() == WEB)
                {
                    location.canaries.push(canary.clone());
                }
            }
            config.servers.insert(name, server);
        }
    });
    let named = |name: &str| {
        shown
            .iter()
            .find(|upstream| upstream["name"] == name)
            .unwrap()
    };
    assert_eq!(
        named("default-web-80")["alternativeBackends"],
        json!(["default-next-80"])
    );
    let next = named("default-next-80");
    assert_eq!(
        (&next["noServer"], &next["trafficShapingPolicy"]["weight"]),
        (&json!(true), &json!(5))
    );
}
