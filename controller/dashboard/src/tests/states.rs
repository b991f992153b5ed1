//! The list of Ingresses by what is served of them.

use super::*;

/// A canary of `main.example`, with a setting of its own that cannot be read.
fn canary() -> Object {
    let annotations = [
        ("canary", "true"),
        ("canary-weight", "10"),
        ("load-balance", "much"),
    ];
    serving("canary", "main.example", "new", &annotations)
}

fn service(name: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "shop" },
        "spec": { "ports": [{ "port": 80 }] },
    }))
}

/// One of each.
fn site() -> Dashboard {
    let closed: &[_] = &[("auth-type", "basic"), ("auth-secret", "none")];
    let much = [("proxy-body-size", "much")];
    dashboard_of(vec![
        service("web"),
        service("new"),
        service("own"),
        annotated("main", "main.example", &[]),
        canary(),
        annotated("closed", "closed.example", closed),
        serving("different", "different.example", "own", &much),
        annotated("after", "main.example", &[]),
        annotated("lost", "lost.example", &[("canary", "true")]),
    ])
}

/// Names on a page of the list, in their order.
fn names(text: &str) -> Vec<&str> {
    let rows = text.split("<th scope=\"row\"><a href=\"/ingresses/shop/");
    rows.skip(1)
        .filter_map(|row| row.split('"').next())
        .collect()
}

fn row<'t>(text: &'t str, name: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!(">shop/{name}<")).unwrap();
    rest.split("</tr>").next().unwrap()
}

#[tokio::test]
async fn a_state_says_how_much_is_served() {
    let text = page(&site(), "/ingresses").await;
    for (name, verdict) in [
        ("main", ">served<"),
        ("canary", ">canary, served with differences<"),
        ("closed", ">not served<"),
        ("different", ">served with differences<"),
        ("after", ">not served<"),
        ("lost", ">no routes<"),
    ] {
        let row = row(&text, name);
        assert!(row.contains(verdict), "{name}: {row}");
    }
    let canary = row(&text, "canary");
    assert!(
        canary.contains("main.example") && canary.contains(">1<"),
        "{canary}"
    );
    let text = page(&site(), "/ingresses/shop/canary").await;
    assert!(text.contains("Service shop/new port 80"), "{text}");
}

/// Each filter's link says how many there are, and leads to so many.
#[tokio::test]
async fn a_filter_leads_to_those_that_it_counts() {
    let dashboard = site();
    let all = page(&dashboard, "/ingresses").await;
    let total = names(&all).len();
    let mut by_verdict = 0;
    for (filter, value, name) in crate::verdict::Filter::ALL {
        let text = page(&dashboard, &format!("/ingresses?state={value}")).await;
        let count = names(&text).len();
        assert!(
            all.contains(&format!(">{name} {count}</a>")),
            "{name}: {all}"
        );
        assert!(text.contains(&format!("Ingresses: {count}<")), "{text}");
        if let crate::verdict::Filter::Verdict(_) = filter {
            by_verdict += count;
        }
    }
    assert_eq!(by_verdict, total);
    let overview = page(&dashboard, "/").await;
    for (state, count) in [("errors", 1), ("warnings", 3)] {
        let text = page(&dashboard, &format!("/ingresses?state={state}")).await;
        assert_eq!(names(&text).len(), count, "{state}: {text}");
        let link = format!("href=\"/ingresses?state={state}\">");
        let (_, rest) = overview.split_once(&link).unwrap();
        let said = rest.split('<').next().unwrap();
        assert!(said.ends_with(&count.to_string()), "{state}: {said}");
    }
}

#[tokio::test]
async fn the_worst_come_first_where_it_is_asked_for() {
    let text = page(&site(), "/ingresses?sort=state").await;
    let names = names(&text);
    assert_eq!(names[..2], ["after", "closed"], "{names:?}");
    assert_eq!(names.last(), Some(&"main"), "{names:?}");
}

#[tokio::test]
async fn a_state_and_an_order_that_are_none_are_errors() {
    let headers = [
        ("host", "localhost"),
        ("cookie", "sluice_dashboard_80=secret"),
    ];
    for (query, expected) in [
        ("state=bad", "state: expected served, "),
        ("sort=bad", "sort: expected state or nothing"),
    ] {
        let target = format!("/ingresses?{query}");
        let (status, _, text) = ask(&site(), Method::GET, &target, &headers).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(text.contains(expected), "{text}");
    }
}
