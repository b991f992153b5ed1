use sluice_translate::{Kind, ObjectKey};

use super::*;
use crate::fixture::{flags, ingress, publish, request, text};
use crate::room::ROOM;

/// Of one Ingress.
fn view() -> View {
    crate::fixture::view([ingress(("default", "a"), "a.example", "/shop")])
}

#[test]
fn a_request_is_counted_under_the_ingress_that_has_its_path() {
    let registry = Registry::new();
    let requests = Requests::register(&registry, &flags(""), view()).unwrap();
    requests.take(&[
        request("a.example/shop"),
        request("a.example/shop"),
        request("nobody.example/"),
    ]);
    let text = text(&registry);
    let counted = "nginx_ingress_controller_requests{canary=\"\",host=\"a.example\",ingress=\"a\",method=\"GET\",\
                   namespace=\"default\",path=\"/shop\",service=\"web\",status=\"200\"} 2\n";
    assert!(text.contains(counted), "{text}");
    assert!(
        text.contains("nginx_ingress_controller_request_duration_seconds_bucket{"),
        "{text}"
    );
    assert!(text.contains("status=\"200\",le=\"0.05\"} 2"), "{text}");
    assert!(!text.contains("nobody"), "{text}");
}

#[test]
fn what_the_flags_leave_out_is_not_shown() {
    let registry = Registry::new();
    let line = "--metrics-per-host=false --exclude-socket-metrics bytes_sent,nginx_ingress_controller_request_size";
    let requests = Requests::register(&registry, &flags(line), view()).unwrap();
    requests.take(&[request("a.example/shop")]);
    let text = text(&registry);
    assert!(
        text.contains("host=\"\"") && text.contains("response_size"),
        "{text}"
    );
    assert!(
        !text.contains("bytes_sent") && !text.contains("request_size"),
        "{text}"
    );
}

#[test]
fn an_ingress_that_is_gone_takes_its_series_along() {
    let (registry, view) = (Registry::new(), view());
    let requests = Requests::register(&registry, &flags(""), view.clone()).unwrap();
    requests.take(&[request("a.example/shop")]);
    requests.refresh();
    assert!(text(&registry).contains("ingress=\"a\""));
    view.resources_mut()
        .delete(Kind::Ingress, &ObjectKey::new("default", "a"));
    publish(&view);
    requests.refresh();
    assert!(!text(&registry).contains("ingress=\"a\""));
}

/// Many label sets: whatever statuses and methods there are, on 30 paths.
fn flood(view: &View) -> Vec<AccessLogEntry> {
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
    let routes: Vec<String> = view
        .snapshot()
        .config()
        .routes()
        .map(|route| route.id.as_str().to_owned())
        .filter(|route| route.starts_with("greedy"))
        .collect();
    let mut all = Vec::new();
    for route in &routes {
        for (number, method) in (0..=999).flat_map(|number| methods.map(|method| (number, method)))
        {
            all.push(AccessLogEntry {
                method,
                status: number,
                ..request(route)
            });
        }
    }
    all
}

#[test]
fn series_of_one_namespace_leave_room_for_those_of_others() {
    let greedy = (0..30).map(|number| {
        let (name, host) = (format!("i{number}"), format!("greedy{number}.example"));
        ingress(("greedy", &name), &host, "/shop")
    });
    let view =
        crate::fixture::view(greedy.chain([ingress(("default", "b"), "b.example", "/shop")]));
    let registry = Registry::new();
    let requests = Requests::register(&registry, &flags(""), view.clone()).unwrap();
    requests.take(&flood(&view));
    requests.take(&[request("b.example/shop")]);
    let page = text(&registry);
    let begin = "nginx_ingress_controller_requests{";
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with(begin))
        .collect();
    let greedy = lines
        .iter()
        .filter(|line| line.contains("namespace=\"greedy\""));
    let greedy: usize = greedy.map(|line| line.len()).sum();
    assert!((500_000..=ROOM / 2).contains(&greedy), "{greedy} bytes");
    assert!(lines.iter().any(|line| line.contains("ingress=\"_other\"")));
    assert!(lines.iter().any(|line| line.contains("ingress=\"b\"")));

    for number in 0..30 {
        let key = ObjectKey::new("greedy", format!("i{number}"));
        view.resources_mut().delete(Kind::Ingress, &key);
    }
    publish(&view);
    requests.refresh();
    let one = "200GET/shopdefaultbwebb.example".len();
    assert_eq!(requests.0.series.used(), 200 + one);
}
