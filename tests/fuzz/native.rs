//! Routes that Envoy balances by itself: the filter is off there, so nothing of what its tables say about them may be lost.

use sluice_filter_config::{Backend, LoadBalance, Route};
use sluice_ir::Config;
use sluice_xds::render::balances_natively;

/// Fails if the filter has more to do on such a route than to choose an endpoint.
pub(crate) fn loses_nothing(config: &Config, log: &sluice_plugin::Log) -> Result<(), String> {
    let tables = log.snapshot();
    for route in config.routes().filter(|it| balances_natively(config, it)) {
        let id = route.id.as_str();
        let wanted = tables.routes.get(id).ok_or(format!("{id}: not told"))?;
        let plain = Route {
            // Without affinity a session begins nowhere.
            session_path: wanted.session_path.clone(),
            ..Route::to(&wanted.backend)
        };
        let backend = tables.backends.get(&wanted.backend);
        if *wanted != plain || !backend.is_none_or(is_plain) {
            return Err(format!("{id} needs the filter: {wanted:?} {backend:?}"));
        }
    }
    Ok(())
}

fn is_plain(backend: &Backend) -> bool {
    let Backend {
        name: _,
        load_balance,
        affinity,
        // Envoy's has the same curve.
        slow_start: _,
        outlier,
        prefer_zone,
        // Those of the retry policy.
        attempts: _,
        endpoints,
    } = backend;
    let by_name = [LoadBalance::round_robin(), LoadBalance::named("least_conn")];
    let mut endpoints = endpoints.iter();
    by_name.contains(load_balance)
        && (affinity, outlier, prefer_zone) == (&None, &None, &false)
        && !endpoints.any(|it| it.draining || it.backup || it.unhealthy)
}
