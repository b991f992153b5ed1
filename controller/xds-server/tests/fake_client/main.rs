//! The delta protocol, spoken by a fake client over a real connection.

mod client;
mod filter_form;
mod order;
mod refusals;
mod subscriptions;

use sluice_ir::Config;
use sluice_xds::{FilterCode, ResourceType, Settings, publication};
use sluice_xds_server::Store;

/// A store that is complete and empty, but for `http` routes and the filter `sluice`.
fn store() -> Store {
    let store = Store::new();
    let (none, settings) = (
        Config::default(),
        Settings::new(FilterCode::File("/filter.wasm".into()), Vec::new()),
    );
    store.apply(publication::additions(&none, &none));
    store.apply(publication::routing(&none, &settings));
    store.apply(client::remove(ResourceType::Route, &["http"]));
    store.apply(client::remove(ResourceType::Extension, &["sluice"]));
    store
}
