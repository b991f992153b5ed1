//! The steps of a publication: resources to set and to remove, in an order that is safe (make before break).
//!
//! ```text
//!   additions   clusters and endpoints that are new       ... before a route or the filter names them
//!   routing     listener, routes, filter
//!   removals    clusters and endpoints that are gone      ... after nothing names them any more
//! ```

mod https;
mod own_listener;
mod routing_cache;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Instant;

use prost::Message;
use sluice_ir::{Backend, BackendId, Changed, Config, changed};

pub use routing_cache::RoutingCache;

use crate::render;
use crate::settings::TRACES_CLUSTER;
use crate::{Change, FilterForm, HTTP, ResourceType, Settings, Update};

/// Resources that must exist before the routes of `now` do: its new clusters, and for the changed ones the endpoints of
/// both configurations, because the filter goes on choosing the old ones for a while.
#[must_use]
pub fn additions(before: &Config, now: &Config) -> Update {
    let mut update = Update::complete_for([ResourceType::Cluster, ResourceType::Endpoints]);
    for Changed { name: id, now, .. } in changed(&before.secrets, &now.secrets) {
        let Some(value) = now else { continue };
        update.put(
            ResourceType::Secret,
            id.as_str(),
            &render::named_secret(id.as_str(), value),
        );
    }
    if let Some(tracing) = now
        .global
        .tracing
        .as_ref()
        .filter(|now| Some(*now) != before.global.tracing.as_ref())
    {
        update.put(
            ResourceType::Cluster,
            TRACES_CLUSTER,
            &render::collector(&tracing.collector),
        );
    }
    for Changed {
        name: id,
        before: old,
        now,
    } in changed(&before.backends, &now.backends)
    {
        let Some(backend) = now else { continue };
        let cluster = render::cluster(id, backend);
        update.put(ResourceType::Cluster, id.as_str(), &cluster);
        let staying = old.map(|old| backend.with_leaving(old));
        set_endpoints(&mut update, id, staying.as_ref().unwrap_or(backend));
    }
    update
}

/// The listeners with their certificates, all routes and the filter.
#[must_use]
pub fn routing(config: &Config, settings: &Settings) -> Update {
    let (mut cache, mut all) = (RoutingCache::default(), Update::default());
    let mut take = |part| all.merge(part);
    let rest = routing_with(&mut cache, config, settings, Instant::now(), &mut take);
    all.merge(rest);
    all
}

/// The same, with what is remembered of what has not changed. Most of what many hosts are is given to `take`, part by part:
/// it takes less memory when it is packed than all of it does as it is.
#[must_use]
pub fn routing_with(
    cache: &mut RoutingCache,
    config: &Config,
    settings: &Settings,
    now: Instant,
    take: &mut dyn FnMut(Update),
) -> Update {
    let mut update = Update::complete_for([
        ResourceType::Listener,
        ResourceType::Route,
        ResourceType::Scope,
        ResourceType::Secret,
        ResourceType::Extension,
    ]);
    let discovery = cache
        .routes
        .publish(config, settings, now, &mut update, take);
    match render::listener(&config.global, settings, discovery) {
        Some(listener) => update.put(ResourceType::Listener, HTTP, &listener),
        None => update.remove(ResourceType::Listener, HTTP),
    }
    cache
        .https
        .publish(config, settings, discovery, &mut update);
    for listener in &config.listeners {
        own_listener::set(&mut update, listener, config, settings);
    }
    for (port, stream) in &config.streams {
        match render::stream(*port, stream, &config.global, settings) {
            Some(listener) => update.put(ResourceType::Listener, &port.to_string(), &listener),
            None => update.remove(ResourceType::Listener, &port.to_string()),
        }
    }
    for name in render::FILTERS {
        let form = |form| render::filter(name, form, settings).encode_to_vec();
        let forms = Change::SetFilter {
            wasm: form(FilterForm::Wasm),
            module: form(FilterForm::Module),
        };
        update.change(ResourceType::Extension, name, forms);
    }
    update
}

/// Resources that nothing in `now` names: clusters that are gone, endpoints that left those that stay.
#[must_use]
pub fn removals(before: &Config, now: &Config) -> Update {
    let mut update = Update::default();
    for name in before.listeners.keys().chain(now.listeners.keys()) {
        let change = match now.listeners.contains_key(name) {
            true => Change::Keep,
            false => Change::Remove,
        };
        for kind in [ResourceType::Listener, ResourceType::Route] {
            update.change(kind, &own_listener::name(name), change.clone());
        }
    }
    for port in before
        .streams
        .keys()
        .filter(|port| !now.streams.contains_key(port))
    {
        update.remove(ResourceType::Listener, &port.to_string());
    }
    for port in now
        .streams
        .keys()
        .filter(|port| !before.streams.contains_key(port))
    {
        update.change(ResourceType::Listener, &port.to_string(), Change::Keep);
    }
    for Changed {
        name: id,
        before,
        now,
    } in changed(&before.secrets, &now.secrets)
    {
        match (before, now) {
            (_, None) => update.remove(ResourceType::Secret, id.as_str()),
            (None, Some(_)) => update.change(ResourceType::Secret, id.as_str(), Change::Keep),
            (Some(_), Some(_)) => {}
        }
    }
    match (&before.global.tracing, &now.global.tracing) {
        (Some(_), None) => update.remove(ResourceType::Cluster, TRACES_CLUSTER),
        (None, Some(_)) => update.change(ResourceType::Cluster, TRACES_CLUSTER, Change::Keep),
        _ => {}
    }
    for Changed { name: id, now, .. } in changed(&before.backends, &now.backends) {
        let Some(backend) = now else {
            update.remove(ResourceType::Cluster, id.as_str());
            update.remove(ResourceType::Endpoints, id.as_str());
            continue;
        };
        // It may have been gone, and an older removal may still wait to be sent.
        update.change(ResourceType::Cluster, id.as_str(), Change::Keep);
        set_endpoints(&mut update, id, backend);
    }
    update
}

/// Sets the endpoints of one backend; its cluster is there already.
pub fn set_endpoints(update: &mut Update, id: &BackendId, backend: &Backend) {
    update.put(
        ResourceType::Endpoints,
        id.as_str(),
        &render::load_assignment(id, backend),
    );
}

/// Takes the removals out of `update` that a configuration still leads to: its clusters and their endpoints.
pub fn take_removals_of(update: &mut Update, config: &Config) -> Update {
    let backends: BTreeSet<&str> = config.backends.keys().map(BackendId::as_str).collect();
    let is_used = |kind: &ResourceType, name: &str| {
        matches!(kind, ResourceType::Cluster | ResourceType::Endpoints) && backends.contains(name)
    };
    let (used, others) = std::mem::take(&mut update.changes)
        .into_iter()
        .partition(|((kind, name), change)| *change == Change::Remove && is_used(kind, name));
    update.changes = others;
    Update {
        changes: used,
        ..Update::default()
    }
}
