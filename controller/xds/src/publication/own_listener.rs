//! Listeners with a table of their own.

use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use sluice_ir::{Config, Listener, ListenerName};

use crate::render;
use crate::{ResourceType, Settings, Update};

/// Name of the listener and of its routes. No other listener or route configuration begins so.
pub(super) fn name(name: &ListenerName) -> String {
    format!("listener/{name}")
}

/// Sets a listener.
pub(super) fn set(
    update: &mut Update,
    listener: (&ListenerName, &Listener),
    config: &Config,
    settings: &Settings,
) {
    let (name, listener) = (self::name(listener.0), listener.1);
    let Some(rendered) = render::own_listener(&name, listener, config, settings) else {
        return;
    };
    update.put(ResourceType::Listener, &name, &rendered.listener);
    let routes = RouteConfiguration {
        name: name.clone(),
        ..render::routes(&config.on_listener(listener))
    };
    update.put(ResourceType::Route, &name, &routes);
}
