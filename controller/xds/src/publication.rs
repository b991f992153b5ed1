//! The steps of a publication: resources to set and to remove, in an order that is safe (make before break).
//!
//! ```text
//!   additions   clusters and endpoints that are new       ... before a route or the filter names them
//!   routing     listener, routes, filter
//!   removals    clusters and endpoints that are gone      ... after nothing names them any more
//! ```

use std::collections::BTreeSet;
use std::time::Instant;

use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use prost::Message;
use sluice_ir::{Backend, BackendId, Changed, Config, Listener, ListenerName, changed};

use crate::render::{self, DEFAULT_CERTIFICATE, HTTPS};
use crate::routing_cache::RoutingCache;
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
    if cache.tls_listener.is_stale(config, discovery) {
        match render::tls_listener(config, settings, discovery) {
            Some(listener) => update.put(ResourceType::Listener, HTTPS, &listener),
            None => update.remove(ResourceType::Listener, HTTPS),
        }
    }
    for (name, listener) in &config.listeners {
        set_own_listener(&mut update, &own_name(name), listener, config, settings);
    }
    for (port, stream) in &config.streams {
        match render::stream(*port, stream, &config.global, settings) {
            Some(listener) => update.put(ResourceType::Listener, &port.to_string(), &listener),
            None => update.remove(ResourceType::Listener, &port.to_string()),
        }
    }
    if let Some(https) = &settings.https {
        let chosen = config
            .default_certificate
            .as_ref()
            .and_then(|id| config.secrets.get(id));
        let chosen = chosen.map(|value| render::named_secret(DEFAULT_CERTIFICATE, value));
        let generated = || render::secret(DEFAULT_CERTIFICATE, &https.default_certificate);
        let secret = chosen.unwrap_or_else(generated);
        update.put(ResourceType::Secret, DEFAULT_CERTIFICATE, &secret);
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
            update.change(kind, &own_name(name), change.clone());
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

/// Sets a listener with a table of its own.
fn set_own_listener(
    update: &mut Update,
    name: &str,
    listener: &Listener,
    config: &Config,
    settings: &Settings,
) {
    let Some(rendered) = render::own_listener(name, listener, config, settings) else {
        return;
    };
    update.put(ResourceType::Listener, name, &rendered);
    let routes = RouteConfiguration {
        name: name.to_owned(),
        ..render::routes(&config.on_listener(listener))
    };
    update.put(ResourceType::Route, name, &routes);
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

/// No other listener or route configuration begins so.
fn own_name(name: &ListenerName) -> String {
    format!("listener/{name}")
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Collector, Endpoint, Tracing};

    use super::*;

    fn config(backends: &[(&str, &[&str])]) -> Config {
        let backend = |endpoints: &[&str]| Backend {
            endpoints: endpoints
                .iter()
                .map(|text| Endpoint::at(text.parse().unwrap()))
                .collect(),
            ..Backend::default()
        };
        let backends = backends.iter().map(|(name, endpoints)| {
            (
                BackendId::new(format!("d/{name}/80")),
                std::sync::Arc::new(backend(endpoints)),
            )
        });
        Config {
            backends: backends.collect(),
            ..Config::default()
        }
    }

    fn additions(before: &Config, now: &Config) -> Update {
        super::additions(before, now)
    }

    fn names(update: &Update) -> Vec<String> {
        update
            .changes
            .keys()
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect()
    }

    fn endpoints(update: &Update, name: &str) -> Option<Change> {
        update
            .changes
            .get(&(ResourceType::Endpoints, name.into()))
            .cloned()
    }

    const POD: &str = "10.0.0.1:80";
    const OTHER: &str = "10.0.0.2:80";

    #[test]
    fn one_changed_backend_renders_that_backend_only() {
        let before = config(&[("a", &[POD]), ("b", &[POD])]);
        let now = config(&[("a", &[POD]), ("b", &[OTHER])]);
        assert_eq!(
            names(&additions(&before, &now)),
            ["cluster d/b/80", "endpoints d/b/80"]
        );
        assert_eq!(additions(&now, &now).changes.len(), 0);
    }

    #[test]
    fn endpoints_that_leave_stay_until_the_removal() {
        let (before, now) = (config(&[("a", &[POD])]), config(&[("a", &[OTHER])]));
        let mut both = config(&[("a", &[POD, OTHER])]);
        let backend = both.backends.get_mut(&BackendId::new("d/a/80")).unwrap();
        std::sync::Arc::make_mut(backend).endpoints[0].draining = true;
        let both = additions(&Config::default(), &both);
        assert_eq!(
            endpoints(&additions(&before, &now), "d/a/80"),
            endpoints(&both, "d/a/80")
        );
        let last = additions(&Config::default(), &now);
        assert_eq!(
            endpoints(&removals(&before, &now), "d/a/80"),
            endpoints(&last, "d/a/80")
        );
    }

    #[test]
    fn a_backend_that_comes_back_takes_its_removal_back() {
        let (with, without) = (config(&[("a", &[POD])]), config(&[]));
        let mut removals = super::removals(&with, &without);
        assert_eq!(endpoints(&removals, "d/a/80"), Some(Change::Remove));
        removals.merge(super::removals(&without, &with));
        assert!(
            !removals
                .changes
                .values()
                .any(|change| *change == Change::Remove),
            "{removals:?}"
        );
    }

    #[test]
    fn what_is_still_led_to_stays_and_all_else_goes() {
        let (before, now) = (
            config(&[("a", &[POD]), ("b", &[POD]), ("c", &[POD])]),
            config(&[("c", &[OTHER])]),
        );
        let mut removals = super::removals(&before, &now);
        let kept = take_removals_of(&mut removals, &config(&[("a", &[POD]), ("c", &[POD])]));
        assert_eq!(names(&kept), ["cluster d/a/80", "endpoints d/a/80"]);
        assert_eq!(endpoints(&removals, "d/b/80"), Some(Change::Remove));
        assert!(
            matches!(endpoints(&removals, "d/c/80"), Some(Change::Set(_))),
            "who left, leaves"
        );
    }

    #[test]
    fn the_cluster_of_a_collector_comes_before_its_spans_and_leaves_after_them() {
        let traced = |host: &str| {
            let collector = Collector {
                host: host.to_owned(),
                port: 4317,
            };
            let mut config = Config::default();
            config.global.tracing = Some(Tracing::to(collector));
            config
        };
        let (with, without) = (traced("a.test"), Config::default());
        assert_eq!(names(&additions(&without, &with)), ["cluster sluice_otlp"]);
        assert_eq!(
            names(&additions(&with, &traced("b.test"))),
            ["cluster sluice_otlp"]
        );
        assert!(additions(&with, &with).changes.is_empty());
        let mut removals = super::removals(&with, &without);
        assert!(
            removals
                .changes
                .values()
                .all(|change| *change == Change::Remove),
            "{removals:?}"
        );
        removals.merge(super::removals(&without, &with));
        assert!(
            removals
                .changes
                .values()
                .all(|change| *change == Change::Keep),
            "{removals:?}"
        );
    }
}
