//! Configurations of the test.

use std::sync::Arc;

use sluice_ir::{
    Action, Backend, BackendId, Config, Endpoint, HttpRoute, PathMatch, Redirect, RedirectTo,
    ServerName,
};

use crate::pod::Pod;

pub(crate) fn id(service: &str) -> BackendId {
    BackendId::new(format!("default/{service}/80"))
}

pub(crate) fn backend(config: &mut Config, service: &str, pods: &[&Pod]) {
    let endpoints = pods.iter().map(|pod| Endpoint::at(pod.address)).collect();
    let attempts = std::num::NonZeroU8::new(3).unwrap();
    config.backends.insert(
        id(service),
        Backend {
            attempts,
            endpoints,
            ..Backend::default()
        }
        .into(),
    );
}

pub(crate) fn location(config: &mut Config, host: &str, path: PathMatch, action: Action) {
    let server = ServerName::parse(host).unwrap();

    let location = HttpRoute::new(&server, path, action, Arc::default());
    Arc::make_mut(config.servers.entry(server).or_default())
        .routes
        .push(location);
}

pub(crate) fn all_to(config: &mut Config, host: &str, service: &str) {
    location(
        config,
        host,
        PathMatch::Prefix("/".into()),
        Action::to(id(service)),
    );
}

pub(crate) fn site(pods: &[&Pod]) -> Config {
    let mut config = Config::default();
    config.servers.insert(ServerName::CatchAll, Arc::default());
    backend(&mut config, "shop", pods);
    location(
        &mut config,
        "shop.test",
        PathMatch::Exact("/closed".into()),
        Action::Denied,
    );
    let moved = Redirect {
        status: 301,
        to: RedirectTo::Path("/new/".into()),
    };
    let moved = Action::Redirect(moved.into());
    location(
        &mut config,
        "shop.test",
        PathMatch::Exact("/old".into()),
        moved,
    );
    location(
        &mut config,
        "shop.test",
        PathMatch::Prefix("/api".into()),
        Action::to(id("shop")),
    );
    all_to(&mut config, "*.wild.test", "shop");
    config
}
