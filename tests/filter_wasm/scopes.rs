//! The scope of a request, where Envoy looks for each host by itself.

use sluice_filter_config::{Host, PluginConfig, Snapshot, Tables, Version};
use sluice_tests::fake::{self, Filter, Outcome, Personality, ROUTE, Request};
use sluice_wasm_host::ContextId;

const LOOKS_UP: &str = "sluice.lookup";

fn tables() -> Tables {
    let hosts = ["shop.example".to_owned()].into();
    Tables::Snapshot(Snapshot {
        version: Version::new(1, 1),
        routes: [].into(),
        backends: [].into(),
        hosts,
    })
}

fn managed(tables: Option<Tables>) -> Filter {
    let mut filter = Filter::new(Personality::Envoy);
    let bootstrap_config = filter.bootstrap_config(tables.is_none());
    assert!(filter.configure(&PluginConfig {
        host: Some(Host::ManagedEnvoy),
        tables,
        ..bootstrap_config
    }));
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
    let (_, value) = headers
        .iter()
        .find(|(name, _)| name == b"x-sluice-scope")
        .unwrap();
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
        assert_eq!(scope(&mut filter, LOOKS_UP, asked), found, "{asked}");
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
    assert_eq!(scope(&mut filter, LOOKS_UP, "other.example"), "_");
    let (id, outcome) = filter.open_request(None, ask(LOOKS_UP, "Shop.Example"));
    assert_eq!(outcome, Outcome::Paused);
    filter.answer_tables(tables());
    assert_eq!(filter.fate(id), Outcome::LeftAlone);
    assert_eq!(header(&filter, id), "shop.example");
}

/// The path that the filter makes of one, and the one that it keeps.
fn path(
    filter: &mut Filter,
    plugin: &str,
    route: Option<&str>,
    path: &str,
) -> (Outcome, String, Option<String>) {
    let mut request = ask(plugin, "other.example");
    request.headers.push((b":path".to_vec(), path.into()));
    let (id, outcome) = filter.open_request(route, request);
    let headers = &filter.host().requests[&id].headers;
    let of = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name.as_bytes())
            .map(|(_, value)| value.clone())
    };
    let of = |name: &str| of(name).map(|value| String::from_utf8(value).unwrap());
    (outcome, of(":path").unwrap(), of("x-sluice-path"))
}

#[test]
fn an_encoded_path_is_decoded_before_its_route_is_looked_for_and_is_kept() {
    let mut filter = managed(Some(tables()));
    // With a scope there is a route of such paths; without one there is none.
    for route in [Some("sluice.encoded"), None] {
        let mut path = |sent: &str| path(&mut filter, LOOKS_UP, route, sent);
        let kept =
            |path: &str, sent: &str| (Outcome::LeftAlone, path.to_owned(), Some(sent.to_owned()));
        assert_eq!(path("/a%2fb?c=%2f"), kept("/a/b?c=%2f", "/a%2fb?c=%2f"));
        assert_eq!(
            path("/x/..%2fa"),
            kept("/a", "/a"),
            "dots are sent to nobody"
        );
        assert_eq!(path("/..%2fa").0, Outcome::Replied(400));
        assert_eq!(
            path("/a?%2f"),
            (Outcome::LeftAlone, "/a?%2f".to_owned(), None)
        );
    }
    // Who comes later than the policies changes no path.
    let late = path(&mut filter, "sluice", Some("sluice.encoded"), "/a%2fb");
    assert_eq!(late, (Outcome::LeftAlone, "/a%2fb".to_owned(), None));
}

#[test]
fn what_needs_no_pod_is_left_to_envoy_where_there_is_no_pod() {
    let mut filter = managed(Some(fake::tables(2, &[])));
    assert_eq!(filter.open(Some(ROUTE), &[]).1, Outcome::Replied(503));
    // A redirect has a route and no cluster.
    assert_eq!(
        filter.open_request(Some(ROUTE), Request::default()).1,
        Outcome::LeftAlone
    );
}
