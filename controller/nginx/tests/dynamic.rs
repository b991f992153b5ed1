//! Decisions of the filter do not change nginx.conf, and so never reload nginx.

use std::net::SocketAddr;
use std::sync::Arc;

use sluice_ir::{
    Action, Backend, BackendId, Canary, CanaryRules, Config, Endpoint, HttpRoute, LoadBalance,
    PathMatch, Server, ServerName,
};
use sluice_nginx::{Engine, Settings, render};

mod common;

use common::settings;

fn config(backend: Backend, canaries: Vec<Canary>) -> Config {
    let (name, id) = (
        ServerName::parse("shop.test").unwrap(),
        BackendId::new("default/shop/80"),
    );
    let path = PathMatch::Prefix("/".to_owned());
    let location = HttpRoute::new(&name, path, Action::to(id.clone()), Arc::default());
    let server = Server {
        routes: vec![HttpRoute {
            canaries,
            ..location
        }],
        ..Server::default()
    };
    Config {
        servers: [(name, Arc::new(server))].into_iter().collect(),
        backends: [(id, Arc::new(backend))].into_iter().collect(),
        ..Config::default()
    }
}

#[test]
fn endpoints_balancers_and_canaries_are_not_in_it() {
    for engine in [settings().engine, kong()] {
        is_dynamic(&Settings {
            engine,
            ..settings()
        });
    }
}

fn kong() -> Engine {
    Engine::Kong {
        module: None,
        filter: "f.wasm".into(),
        cache: "c.toml".into(),
    }
}

fn is_dynamic(settings: &Settings) {
    let text = |backend, canaries| render(&config(backend, canaries), settings).text;
    let plain = text(Backend::default(), Vec::new());
    let endpoints = vec![Endpoint::at(SocketAddr::from(([10, 0, 0, 1], 80)))];
    assert_eq!(
        text(
            Backend {
                endpoints,
                ..Backend::default()
            },
            Vec::new()
        ),
        plain
    );
    let load_balance = LoadBalance::Named("ewma");
    assert_eq!(
        text(
            Backend {
                load_balance,
                ..Backend::default()
            },
            Vec::new()
        ),
        plain
    );
    for weight in [10, 20] {
        let rules = CanaryRules {
            weight,
            total: 100,
            ..CanaryRules::default()
        };
        let backend = BackendId::new("default/new/80");
        assert_eq!(
            text(
                Backend::default(),
                vec![Canary {
                    backend,
                    https_backend: None,
                    rules,
                    sticky: true
                }]
            ),
            plain
        );
    }
}
