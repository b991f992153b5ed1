//! The scope of a request, where Envoy looks for each host by itself.

use sluice_filter_config::{Host, PluginConfig, Snapshot, Tables, Version};
use sluice_pwhost::ContextId;
use sluice_tests::fake::{self, Filter, LOCATION, Outcome, Personality, Request};

const NAMES_SCOPES: &str = "sluice.scope";

fn tables() -> Tables {
    let hosts = ["shop.example".to_owned()].into();
    Tables::Snapshot(Snapshot {
        version: Version::new(1, 1),
        locations: [].into(),
        backends: [].into(),
        hosts,
    })
}

fn managed(tables: Option<Tables>) -> Filter {
    let mut filter = Filter::new(Personality::Envoy);
    let checkpoint = filter.checkpoint(tables.is_none());
    assert!(filter.configure(&PluginConfig { host: Some(Host::ManagedEnvoy), tables, ..checkpoint }));
    filter
}

fn ask(plugin: &str, authority: &str) -> Request {
    Request {
        properties: [(b"plugin_name".to_vec(), plugin.into())].into(),
        headers: vec![
            (b":authority".to_vec(), authority.into()),
            (b"x-sluice-scope".to_vec(), authority.into()),
        ],
        ..Request::default()
    }
}

/// The scope that a request without a route is looked for in.
fn scope(filter: &mut Filter, plugin: &str, authority: &str) -> String {
    let (id, outcome) = filter.open_request(None, ask(plugin, authority));
    assert_eq!(outcome, Outcome::LeftAlone);
    header(filter, id)
}

fn header(filter: &Filter, id: ContextId) -> String {
    let headers = &filter.host().requests[&id].headers;
    let (_, value) = headers.iter().find(|(name, _)| name == b"x-sluice-scope").unwrap();
    String::from_utf8(value.clone()).unwrap()
}

#[test]
fn a_host_is_found_whatever_case_its_letters_have_and_the_others_have_one_scope() {
    let mut filter = managed(Some(tables()));
    for (asked, found) in [
        ("Shop.Example:8080", "shop.example"),
        ("SHOP.EXAMPLE", "shop.example"),
        ("Other.Example", "_"),
        ("other.example", "_"),
    ] {
        assert_eq!(scope(&mut filter, NAMES_SCOPES, asked), found, "{asked}");
    }
}

#[test]
fn the_filter_that_chooses_pods_names_no_scope() {
    // A path that a host does not have is a 404, and not another host's.
    let mut filter = managed(Some(tables()));
    for asked in ["shop.example", "Shop.Example"] {
        assert_eq!(scope(&mut filter, "sluice", asked), asked);
    }
}

#[test]
fn only_who_has_to_look_into_the_tables_waits_for_them() {
    let mut filter = managed(None);
    assert_eq!(scope(&mut filter, NAMES_SCOPES, "other.example"), "_");
    let (id, outcome) = filter.open_request(None, ask(NAMES_SCOPES, "Shop.Example"));
    assert_eq!(outcome, Outcome::Paused);
    filter.answer_tables(tables());
    assert_eq!(filter.fate(id), Outcome::LeftAlone);
    assert_eq!(header(&filter, id), "shop.example");
}

#[test]
fn what_needs_no_pod_is_left_to_envoy_where_there_is_no_pod() {
    let mut filter = managed(Some(fake::tables(2, &[])));
    assert_eq!(filter.open(Some(LOCATION), &[]).1, Outcome::Replied(503));
    // A redirect has a route and no cluster.
    assert_eq!(filter.open_request(Some(LOCATION), Request::default()).1, Outcome::LeftAlone);
}
