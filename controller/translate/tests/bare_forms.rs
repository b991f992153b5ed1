//! A path or a `location` with `proxy_pass` that ends with a slash takes its bare form along. Measured with nginx 1.22: the server's `return` comes
//! first, then the redirect, whose headers are the location's; the location's own `return`, `deny` and passwords come behind it.

mod configmap;

use serde_json::json;
use sluice_ir::{
    Action, Filter, HttpRoute, IpAccess, PathMatch, Redirect, RedirectTo, ResponseContent,
};

use crate::configmap::{ingress, routes, translated};

const PROXY: &str = "proxy_pass http://web.a.svc.cluster.local:80;";

fn routes_of(snippet: &str) -> Vec<HttpRoute> {
    routes_with(snippet, &["/"])
}

fn routes_with(snippet: &str, paths: &[&str]) -> Vec<HttpRoute> {
    let annotations = json!({"server-snippet": snippet});
    let one = ingress("a", "a.test", &annotations, paths);
    let translation = translated(&json!({}), &[one]);
    let all = routes(translation.config(), "a.test");
    all.into_iter().cloned().collect()
}

fn bare_form(snippet: &str) -> Option<HttpRoute> {
    let bare = PathMatch::Exact("/m".to_owned());
    let mut all = routes_of(snippet).into_iter();
    all.find(|route| route.matches.path == bare)
}

fn response_headers(route: &HttpRoute) -> Vec<String> {
    let changes = route.filters.iter().filter_map(Filter::response_headers);
    let names = changes.flat_map(|changes| {
        let set = changes.set.iter();
        set.chain(changes.add.iter().map(|added| &added.header))
    });
    names
        .map(|header| header.name.as_str().to_owned())
        .collect()
}

/// nginx answers 404 where it would redirect to a location that only its own requests get to.
#[test]
fn the_bare_form_of_an_internal_location_is_internal() {
    for sign in ["", "^~ "] {
        let route = bare_form(&format!("location {sign}/m/ {{ internal; {PROXY} }}"));
        assert_eq!(route.expect("a bare form").action, Action::Respond(404));
    }
    assert_eq!(bare_form("location /m/ { internal; }"), None);
}

#[test]
fn the_redirect_is_behind_what_the_server_answers() {
    let route = bare_form(&format!(
        "if ($http_x_block) {{ return 403; }} location /m/ {{ if ($http_x_own) {{ return 402; }} {PROXY} }}"
    ));
    let route = route.expect("a bare form");
    let to = RedirectTo::Path("/m/".to_owned());
    assert_eq!(
        route.action,
        Action::Redirect(Redirect { status: 301, to }.into())
    );
    let [response] = route.direct_responses.as_slice() else {
        panic!("{route:#?}")
    };
    assert_eq!(
        (response.status, &response.content),
        (403, &ResponseContent::Page)
    );
}

#[test]
fn the_redirect_is_before_access_control() {
    let route = bare_form(&format!(
        "deny all; location /m/ {{ access_log off; {PROXY} }}"
    ));
    let route = route.expect("a bare form");
    assert_eq!(route.policy.ip_access, IpAccess::default());
    assert!(route.policy.access_log_off);
}

#[test]
fn the_redirect_has_the_headers_of_its_location() {
    let server = "more_set_headers \"X-More: m\"; add_header X-Server s always;";
    for (own, expected) in [
        ("", ["X-More", "X-Server"]),
        ("add_header X-Own o;", ["X-More", "X-Own"]),
    ] {
        let route = bare_form(&format!("{server} location ^~ /m/ {{ {own} {PROXY} }}"));
        assert_eq!(
            response_headers(&route.expect("a bare form")),
            expected,
            "{own}"
        );
    }
}

/// An Ingress's path is a location, too.
#[test]
fn the_bare_form_of_a_path_has_what_a_locations_has() {
    let server = "if ($http_x_block) { return 403; } deny all; more_set_headers \"X-More: m\"; add_header X-Server s always;";
    let own = "if ($http_x_own) { return 402; } add_header X-Own o;";
    let annotations = json!({
        "server-snippet": server, "configuration-snippet": own, "enable-access-log": "false",
    });
    let of_path = ingress("a", "a.test", &annotations, &["/m/"]);
    let translation = translated(&json!({}), &[of_path]);
    let mut all = routes(translation.config(), "a.test").into_iter();
    let bare = PathMatch::Exact("/m".to_owned());
    let of_path = all.find(|route| route.matches.path == bare);
    let of_path = of_path.expect("a bare form");
    let of_location = bare_form(&format!(
        "{server} location /m/ {{ access_log off; {own} {PROXY} }}"
    ));
    let of_location = of_location.expect("a bare form");
    assert_eq!(of_path.action, of_location.action);
    assert_eq!(of_path.policy, of_location.policy);
    assert_eq!(of_path.direct_responses, of_location.direct_responses);
    assert_eq!(response_headers(of_path), response_headers(&of_location));
    assert_eq!(response_headers(of_path), ["X-More", "X-Own"]);
}

#[test]
fn a_location_of_the_bare_path_has_it() {
    let slashed = format!("location /m/ {{ {PROXY} }}");
    for other in [
        "location /m { return 200 m; }",
        "location ^~ /m { return 200 m; }",
        "location = /m { return 200 m; }",
    ] {
        for all in [
            routes_of(&format!("{slashed} {other}")),
            routes_with(other, &["/", "/m/"]),
        ] {
            let takes_bare = |it: &&HttpRoute| ["/m", "^/m"].contains(&it.matches.path.text());
            let first = all.iter().find(takes_bare).expect("a location");
            assert!(!first.direct_responses.is_empty(), "{other}: {all:#?}");
        }
    }
}

#[test]
fn a_location_that_is_closed_has_a_closed_bare_form() {
    let elsewhere = "proxy_pass http://db.a.svc.cluster.local:80;";
    let route = bare_form(&format!("location /m/ {{ {elsewhere} }}"));
    assert_eq!(route.expect("a bare form").action, Action::Denied);
}
