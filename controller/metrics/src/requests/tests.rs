use sluice_translate::{Kind, ObjectKey};

use super::*;
use crate::fixture::{flags, flood, ingress, publish, request};

/// Of one Ingress.
fn view() -> View {
    crate::fixture::view([ingress(("default", "a"), "a.example", "/shop")])
}

#[test]
fn a_request_is_counted_under_the_ingress_that_has_its_path() {
    let registry = Registry::default();
    let requests = Requests::register(&registry, &flags(""), view()).unwrap();
    requests.take(&[
        request("a.example/shop"),
        request("a.example/shop"),
        request("nobody.example/"),
    ]);
    let text = registry.text();
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
    let registry = Registry::default();
    let line = "--metrics-per-host=false --exclude-socket-metrics bytes_sent,nginx_ingress_controller_request_size";
    let requests = Requests::register(&registry, &flags(line), view()).unwrap();
    requests.take(&[request("a.example/shop")]);
    let text = registry.text();
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
    let (registry, view) = (Registry::default(), view());
    let requests = Requests::register(&registry, &flags(""), view.clone()).unwrap();
    requests.take(&[request("a.example/shop")]);
    requests.refresh();
    assert!(registry.text().contains("ingress=\"a\""));
    view.resources_mut()
        .delete(Kind::Ingress, &ObjectKey::new("default", "a"));
    publish(&view);
    requests.refresh();
    assert!(!registry.text().contains("ingress=\"a\""));
}

/// So many Ingresses of a namespace.
fn ingresses(namespace: &str, count: usize) -> impl Iterator<Item = serde_json::Value> {
    (0..count).map(move |number| {
        let (name, host) = (
            format!("i{number}"),
            format!("{namespace}-{number}.example"),
        );
        ingress((namespace, &name), &host, "/shop")
    })
}

fn lines<'a>(page: &'a str, metric: &str, with: &str) -> Vec<&'a str> {
    let begin = format!("{PREFIX}_{metric}{{");
    let of_metric = page.lines().filter(|line| line.starts_with(&begin));
    of_metric.filter(|line| line.contains(with)).collect()
}

#[test]
fn series_of_greedy_namespaces_are_limited_in_bytes_of_the_page_and_leave_room_for_others() {
    let greedy = ["greedy", "greedy2", "greedy3"];
    let all = greedy.iter().flat_map(|namespace| ingresses(namespace, 30));
    let view = crate::fixture::view(all.chain([ingress(("default", "b"), "b.example", "/shop")]));
    let registry = Registry::default();
    let requests = Requests::register(&registry, &flags(""), view.clone()).unwrap();
    let all = flood(&view, &greedy);
    requests.take(&all);
    requests.take(&[request("b.example/shop")]);
    let page = registry.text();
    let most = budget::REQUESTS + 2 * budget::DURATIONS + 2 * budget::DETAILS;
    assert!(
        (most / 2..most + 200_000).contains(&page.len()),
        "{}",
        page.len()
    );
    for metric in ["requests", "request_duration_seconds_sum", "bytes_sent_sum"] {
        let of_first = lines(&page, metric, "namespace=\"greedy\"").len();
        let of_others = lines(&page, metric, "namespace=\"greedy2\"").len();
        assert!(
            of_first > 20 && of_others > 20,
            "{metric}: {of_first}, {of_others}"
        );
        assert!(!lines(&page, metric, "=\"_other\"").is_empty());
        let own = lines(&page, metric, "ingress=\"b\"");
        assert!(own.iter().all(|line| line.contains("status=\"200\"")));
        assert_eq!(own.len(), 1, "{metric}");
    }
    let counted = |metric| {
        let of_metric = lines(&page, metric, "");
        let counts = of_metric
            .iter()
            .filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
        counts.sum::<usize>()
    };
    for metric in [
        "requests",
        "request_duration_seconds_count",
        "request_size_count",
    ] {
        assert_eq!(
            counted(metric),
            all.len() + 1,
            "{metric}: each is counted once"
        );
    }

    for (namespace, number) in greedy
        .iter()
        .flat_map(|it| (0..30).map(move |number| (it, number)))
    {
        let key = ObjectKey::new(*namespace, format!("i{number}"));
        view.resources_mut().delete(Kind::Ingress, &key);
    }
    publish(&view);
    requests.refresh();
    let inner = &requests.0;
    let used = inner.counts.used() + inner.durations.used() + inner.details.used();
    assert!((1..40_000).contains(&used), "that of one label set: {used}");
}

/// 1,000 Ingresses in so many namespaces, each with five statuses and two methods. Returns the page.
fn cluster(namespaces: usize) -> String {
    let names: Vec<String> = (0..namespaces)
        .map(|number| format!("team-{number}"))
        .collect();
    let each = 1_000 / namespaces;
    let view = crate::fixture::view(names.iter().flat_map(|name| ingresses(name, each)));
    let labels = [
        ("controller_class", "k8s.io/ingress-nginx"),
        ("controller_namespace", "ingress"),
        ("controller_pod", "sluice-controller-7d9c5b8f6-abcde"),
    ];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let registry = Registry::with_labels(labels.into()).unwrap();
    let requests = Requests::register(&registry, &flags(""), view.clone()).unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = flood(&view, &names);
    all.retain(|request| request.route.ends_with("/shop"));
    all.retain(|request| {
        ["GET", "POST"].contains(&request.method)
            && [200, 302, 404, 500, 502].contains(&request.status)
    });
    // Not one namespace after the other.
    all.sort_by_key(|request| (request.status, request.method));
    requests.take(&all);
    registry.text()
}

#[test]
fn ten_thousand_label_sets_of_many_namespaces_are_told_apart_and_histograms_of_some_hundred() {
    let page = cluster(20);
    assert_eq!(lines(&page, "requests", "").len(), 10_000);
    assert!(lines(&page, "requests", "_other").is_empty());
    for (metric, least) in [
        ("request_duration_seconds_count", 400),
        ("bytes_sent_count", 80),
    ] {
        let places = lines(&page, metric, "method=\"_other\",namespace=\"team");
        let folded = lines(&page, metric, "method=\"_other\"").len();
        let own = lines(&page, metric, "").len() - folded;
        assert!(own >= least, "{metric}: {own}");
        assert!(places.len() >= least, "{metric}: {}", places.len());
    }
}

#[test]
fn a_single_namespace_has_some_thousand_label_sets() {
    let page = cluster(1);
    let of_rest = lines(&page, "requests", "ingress=\"_other\"").len();
    let own = lines(&page, "requests", "").len() - of_rest;
    assert!(own >= 5_000, "{own}");
}
