//! A page that tenants have filled as far as they can.

use sluice_translate::EndpointHealth;

use super::*;
use crate::budget::PAGE;
use crate::fixture::{flood_of, route_ids};

/// Each of these has more than there is room for.
const GREEDY: [&str; 4] = ["a", "b", "c", "d"];
const INGRESSES_OF_GREEDY: usize = 400;
/// Beside them, namespaces with little, which use what the others have to leave.
const SMALL: usize = 80;
const INGRESSES_OF_SMALL: usize = 4;

const METHODS: [&str; 10] = [
    "", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// Names of Ingresses and their Services, by namespace. Those of the greedy are long.
fn all_names() -> Vec<(String, String)> {
    let greedy = GREEDY.map(|name| (name.to_owned(), INGRESSES_OF_GREEDY, "i".repeat(200)));
    let small = (0..SMALL).map(|it| (format!("n{it}"), INGRESSES_OF_SMALL, "i".to_owned()));
    let namespaces = greedy.into_iter().chain(small);
    let names = namespaces.flat_map(|(namespace, count, rest)| {
        (0..count).map(move |number| (namespace.clone(), format!("{number}-{rest}")))
    });
    names.collect()
}

/// One of the hosts that the certificate of the namespace covers.
fn host(namespace: &str, first: &str) -> String {
    let (first, long) = (first.get(..63).unwrap_or(first), "h".repeat(63));
    if GREEDY.contains(&namespace) {
        format!("{first}.{long}.{long}.{namespace}.test")
    } else {
        format!("{first}.{namespace}.test")
    }
}

/// An Ingress with a certificate whose one path leads to an endpoint that is checked, and the other nowhere.
fn objects((namespace, name): &(String, String)) -> [Value; 3] {
    let host = host(namespace, name);
    let mut ingress = ingress((namespace, name), &host, &format!("/{name}"));
    ingress["metadata"]["annotations"] = json!({"sluice.dev/health-check-path": "/"});
    ingress["spec"]["tls"] = json!([{"hosts": [host], "secretName": "tls"}]);
    let nowhere =
        json!({"path": "/none", "backend": {"service": {"name": "none", "port": {"number": 80}}}});
    let paths = ingress["spec"]["rules"][0]["http"]["paths"].as_array_mut();
    paths.unwrap().push(nowhere);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name},
        "spec": {"clusterIP": "10.96.0.1", "ports": [{"port": 80, "targetPort": 80}]}});
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": namespace, "name": name, "labels": {"kubernetes.io/service-name": name}},
        "ports": [{"port": 80}], "endpoints": [{"addresses": ["10.0.0.1"]}]});
    [ingress, service, slice]
}

fn fail_all_checks(view: &View) {
    let snapshot = view.snapshot();
    let backends = snapshot.config().backends.iter();
    for (id, backend) in backends.filter(|(_, backend)| backend.health.check.is_some()) {
        let failing = backend.endpoints.iter().map(|endpoint| endpoint.address);
        let health = EndpointHealth {
            unhealthy: failing.collect(),
            unchecked: 0,
        };
        view.resources_mut().set_health(id.clone(), health);
    }
    publish(view);
}

/// Every method and every status, to one of them.
fn all_kinds(route: &str) -> Vec<AccessLogEntry> {
    let statuses = (0..600).chain([600, 700, 800, 900, 1_000]);
    let kinds = statuses.flat_map(|status| METHODS.map(|method| (status, method)));
    let requests = kinds.map(|(status, method)| AccessLogEntry {
        status,
        method,
        ..request(route)
    });
    requests.collect()
}

fn fill(metrics: &Metrics, view: &View, names: &[(String, String)]) {
    let requests = metrics.requests().unwrap();
    for (of_greedy, ingresses, label_sets) in [(true, 20, 200), (false, 1, 50)] {
        let routes = route_ids(view, |owner| {
            let number = owner.name.split('-').next().unwrap();
            GREEDY.contains(&&*owner.namespace) == of_greedy
                && number.parse::<usize>().unwrap() < ingresses
        });
        for route in routes.iter().filter(|route| !route.contains("/none")) {
            requests.take(flood_of(route).get(..label_sets).unwrap());
        }
        requests.take(&all_kinds(routes.first().unwrap()));
    }
    let mut held = BTreeSet::new();
    for (namespace, name) in names {
        for number in 0..10 {
            let name = format!("{number}-{name}");
            check(metrics, namespace, &name);
            held.insert(ObjectKey::new(&**namespace, name));
        }
    }
    metrics.controller().held(&held);
}

#[tokio::test]
async fn no_page_is_larger_than_what_is_kept_of_pages_whatever_tenants_do() {
    let names = all_names();
    let namespaces: BTreeSet<&String> = names.iter().map(|(namespace, _)| namespace).collect();
    let secrets = namespaces
        .iter()
        .map(|namespace| secret(namespace, &host(namespace, "*")));
    let view = view(names.iter().flat_map(objects).chain(secrets));
    fail_all_checks(&view);
    let metrics = metrics(&view);
    fill(&metrics, &view, &names);
    let page = page(&metrics).await;
    for label in ["namespace", "host", "ingress", "service"] {
        assert!(page.contains(&format!("{label}=\"_other\"")), "{label}");
    }
    for family in [
        "requests",
        "check_success",
        "check_errors",
        "orphan_ingress",
        "refused_ingress",
    ] {
        assert!(has(&page, family, ("_other", "_other")), "{family}");
    }
    for family in ["unhealthy_endpoints", "ssl_expire_time_seconds"] {
        let begin = format!("nginx_ingress_controller_{family}{{");
        let mut lines = page.lines().filter(|line| line.starts_with(&begin));
        assert!(lines.any(|line| line.contains("_other")), "{family}");
    }
    let len = page.len();
    assert!((PAGE / 10 * 9..=PAGE).contains(&len), "{len} bytes");
    let headers: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("# TYPE "))
        .collect();
    let different: BTreeSet<&&str> = headers.iter().collect();
    assert_eq!(headers.len(), different.len(), "a family is in one place");
}
