//! Canaries: how their pods are spoken to, and what they are canaries of.

use serde_json::{Map, Value, json};
use sluice_ir::{BackendId, Config, HttpRoute, ServerName};
use sluice_translate::{
    Object, Options, Report, Resources, Severity, Translation, ids, is_same_canary, translate,
};

const PREFIX: &str = "nginx.ingress.kubernetes.io";

type Annotations<'a> = &'a [(&'a str, &'a str)];

fn annotations(of: Annotations<'_>) -> Map<String, Value> {
    let of = of.iter();
    of.map(|(name, value)| (format!("{PREFIX}/{name}"), json!(value)))
        .collect()
}

fn backend(service: &str) -> Value {
    json!({"service": {"name": service, "port": {"number": 80}}})
}

fn ingress(name: &str, of: Annotations<'_>, mut spec: Value) -> Value {
    spec["ingressClassName"] = json!("nginx");
    let (namespace, name) = name.split_once('/').unwrap_or(("a", name));
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations(of)}, "spec": spec,
    })
}

/// A path `/` of a host.
fn rule(host: &str, service: &str) -> Value {
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend(service)});
    json!({"rules": [{"host": host, "http": {"paths": [path]}}]})
}

fn canary(name: &str, more: Annotations<'_>, spec: Value) -> Value {
    let own = [("canary", "true"), ("canary-weight", "10")];
    ingress(name, &[&own, more].concat(), spec)
}

/// Services with a pod each, and a Secret for TLS.
fn world(pods: &[&str]) -> Vec<Value> {
    let made = rcgen::generate_simple_self_signed(["pods.test".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pods", "namespace": "a"},
        "stringData": {"tls.crt": chain, "tls.key": key, "ca.crt": chain},
    });
    let services = ["web", "new", "errors"].iter().map(|name| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "a"},
            "spec": {"ports": [{"port": 80}]},
        })
    });
    let slices = pods.iter().enumerate().map(|(n, name)| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "namespace": "a", "labels": {"kubernetes.io/service-name": name}},
            "endpoints": [{"addresses": [format!("10.0.0.{n}")]}], "ports": [{"port": 80}],
        })
    });
    [secret].into_iter().chain(services).chain(slices).collect()
}

const ALL: &[&str] = &["web", "new", "errors"];

fn translated(pods: &[&str], ingresses: &[Value]) -> Translation {
    let mut resources = Resources::default();
    for object in world(pods).iter().chain(ingresses) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    translate(&resources, &options)
}

fn root<'c>(config: &'c Config, host: &str) -> &'c HttpRoute {
    let server = &config.servers[&ServerName::parse(host).unwrap()];
    let mut routes = server.routes.iter();
    routes
        .find(|route| route.matches.path.text() == "/")
        .unwrap()
}

/// The Services that are canaries of a route, each of which is spoken to as the primary backend is.
fn canaries(config: &Config, host: &str) -> Vec<String> {
    let route = root(config, host);
    let transport = |id: &BackendId| &config.backends[id].transport;
    let canaries = route.canaries.iter().map(|canary| {
        let main = route.primary_backend().unwrap();
        assert_eq!(transport(&canary.backend), transport(main));
        let attempts = |id: &BackendId| config.backends[id].attempts;
        assert_eq!(attempts(&canary.backend), attempts(main));
        assert_eq!(
            canary.https_backend.is_some(),
            route.https_backend.is_some()
        );
        let https = canary.https_backend.iter().zip(&route.https_backend);
        for (https, of_main) in https {
            assert_eq!(transport(https), transport(of_main));
        }
        for id in canary.backends() {
            assert_eq!(ids::service_of(id), ids::service_of(&canary.backend));
        }
        ids::upstream_name(&canary.backend).to_owned()
    });
    canaries.collect()
}

fn reports<'t>(translation: &'t Translation, ingress: &str) -> Vec<&'t Report> {
    let reports = translation.reports().into_iter();
    reports
        .filter(|report| &*report.object.key.name == ingress)
        .collect()
}

const TLS: Annotations<'_> = &[
    ("proxy-ssl-secret", "a/pods"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "pods.test"),
    ("proxy-ssl-server-name", "on"),
    ("proxy-ssl-protocols", "TLSv1.3"),
];

/// Whatever the canary says of it.
#[test]
fn pods_of_a_canary_are_spoken_to_as_those_of_the_main_ingress() {
    let protocols = ["HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS"];
    let more: [Annotations<'_>; 4] = [
        &[],
        TLS,
        &[
            ("proxy-connect-timeout", "7"),
            ("proxy-next-upstream-tries", "9"),
        ],
        &[TLS[0]],
    ];
    let own: [Annotations<'_>; 3] = [
        &[],
        &[
            ("backend-protocol", "GRPCS"),
            ("proxy-connect-timeout", "8"),
            TLS[0],
        ],
        &[
            ("backend-protocol", "FCGI"),
            ("proxy-ssl-secret", "a/missing"),
        ],
    ];
    for (protocol, more) in protocols
        .iter()
        .flat_map(|one| more.map(|more| (*one, more)))
    {
        let spoken = [&[("backend-protocol", protocol)], more].concat();
        let main = ingress("main", &spoken, rule("a.test", "web"));
        for own in own {
            let canary = canary("canary", own, rule("a.test", "new"));
            let translation = translated(ALL, &[main.clone(), canary]);
            let config = translation.config();
            assert_eq!(
                canaries(config, "a.test"),
                ["new"],
                "{protocol} {more:?} {own:?}"
            );
            // As many as of the main backend, and none for what nobody asks for.
            let of = |service| {
                let ids = config.backends.keys();
                ids.filter(|id| ids::upstream_name(id) == service).count()
            };
            assert_eq!(of("new"), of("web"), "{protocol} {more:?} {own:?}");
            let reported: Vec<_> = reports(&translation, "canary")
                .into_iter()
                .map(|report| report.field.as_str())
                .collect();
            let mut expected: Vec<_> = own
                .iter()
                .map(|(name, _)| format!("annotation {name}"))
                .collect();
            expected.sort();
            assert_eq!(reported, expected);
        }
    }
}

/// It is one of every path with its main backend, on whatever host and however that is reached there.
#[test]
fn a_canary_of_differently_spoken_to_paths_is_spoken_to_as_each_of_them() {
    let protocols = ["HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS"];
    let mut ingresses: Vec<Value> = protocols
        .iter()
        .map(|protocol| {
            let host = format!("{}.test", protocol.to_lowercase().replace('_', "-"));
            let spoken = [("backend-protocol", *protocol)];
            ingress(&host, &spoken, rule(&host, "web"))
        })
        .collect();
    ingresses.push(canary("canary", &[], rule("grpc.test", "new")));
    let translation = translated(ALL, &ingresses);
    for host in [
        "http.test",
        "https.test",
        "auto-http.test",
        "grpc.test",
        "grpcs.test",
    ] {
        assert_eq!(canaries(translation.config(), host), ["new"], "{host}");
    }
    let snapshot = translation.snapshot();
    let [(key, asked)] = snapshot.canaries() else {
        panic!("{:?}", snapshot.canaries());
    };
    assert_eq!(&*key.name, "canary");
    for route in snapshot.config().routes() {
        assert!(route.canaries.iter().all(|it| is_same_canary(it, asked)));
    }
}

/// nginx speaks to the pods of a location in one way.
#[test]
fn a_canary_beside_an_error_service_is_spoken_to_as_that_or_gets_nothing() {
    for (protocol, expected) in [("HTTP", &["new"][..]), ("HTTPS", &[]), ("AUTO_HTTP", &[])] {
        let of_main = [
            ("backend-protocol", protocol),
            ("default-backend", "errors"),
        ];
        let ingresses = [
            ingress("main", &of_main, rule("a.test", "web")),
            canary("canary", &[], rule("a.test", "new")),
        ];
        let whole = translated(ALL, &ingresses);
        assert_eq!(canaries(whole.config(), "a.test"), ["new"], "{protocol}");
        let without_web = translated(&["new", "errors"], &ingresses);
        assert_eq!(
            canaries(without_web.config(), "a.test"),
            expected,
            "{protocol}"
        );
    }
}

#[test]
fn checks_that_cannot_be_made_of_a_canary_are_reported() {
    const CHECKED: Annotations<'_> = &[("sluice.dev/health-check-path", "/healthz")];
    let with_checks = |name: &str, spec: Value| {
        let mut canary = canary(name, &[], spec);
        for (name, value) in CHECKED {
            canary["metadata"]["annotations"][*name] = json!(value);
        }
        canary
    };
    let certificate = [("backend-protocol", "HTTPS"), TLS[0]];
    for (spoken, is_checked) in [
        (&[("backend-protocol", "HTTPS")][..], true),
        (&[("backend-protocol", "GRPC")], false),
        (&certificate, false),
    ] {
        let main = ingress("main", spoken, rule("a.test", "web"));
        let canary = with_checks("canary", rule("a.test", "new"));
        let translation = translated(ALL, &[main, canary]);
        let reports = reports(&translation, "canary");
        assert_eq!(reports.is_empty(), is_checked, "{spoken:?}: {reports:?}");
        let fields = reports.iter().map(|report| report.field.as_str());
        assert!(
            fields.eq(reports
                .iter()
                .map(|_| "annotation sluice.dev/health-check-path"))
        );
    }
}

#[test]
fn a_default_backend_has_canaries_where_it_takes_requests() {
    let default = |service| json!({"defaultBackend": backend(service)});
    let host_alone = json!({"defaultBackend": backend("web"), "rules": [{"host": "a.test"}]});
    let both = |host: &str, service| {
        let mut spec = rule(host, service);
        spec["defaultBackend"] = backend("new");
        spec
    };
    for (host, main, of_canary) in [
        // Of all hosts.
        ("", default("web"), default("new")),
        ("", default("web"), rule("", "new")),
        ("", rule("", "web"), default("new")),
        ("", default("web"), both("b.test", "errors")),
        // Of one.
        ("a.test", host_alone, rule("a.test", "new")),
    ] {
        let main = ingress("main", &[], main);
        let canary = canary("canary", &[], of_canary);
        for ingresses in [[main.clone(), canary.clone()], [canary, main]] {
            let translation = translated(ALL, &ingresses);
            assert_eq!(
                canaries(translation.config(), host),
                ["new"],
                "{ingresses:?}"
            );
            let mut of_canary = reports(&translation, "canary").into_iter();
            assert!(
                of_canary.all(|it| it.field.starts_with("spec.rules[")),
                "{ingresses:?}"
            );
        }
    }
}

#[test]
fn a_default_backend_that_is_no_canary_is_reported() {
    let default = |service| json!({"defaultBackend": backend(service)});
    let canary = canary("canary", &[], default("new"));
    for (main, severity, reason) in [
        (
            ingress("main", &[], rule("a.test", "web")),
            Severity::Note,
            "no other Ingress has this host and path",
        ),
        (
            ingress("b/main", &[], default("web")),
            Severity::Warning,
            "path belongs to Ingress b/main, of another namespace",
        ),
        (
            ingress("main", &[], default("new")),
            Severity::Warning,
            "the backend is that of the path itself",
        ),
        (
            ingress("main", &[("auth-url", "ftp://a/")], default("web")),
            Severity::Error,
            "the path of Ingress a/main answers 503",
        ),
    ] {
        let translation = translated(ALL, &[main, canary.clone()]);
        let reports = reports(&translation, "canary");
        let [report] = reports.as_slice() else {
            panic!("{reason}: {reports:?}");
        };
        assert_eq!(
            (report.field.as_str(), report.severity),
            ("spec.defaultBackend", severity)
        );
        assert!(report.reason.starts_with(reason), "{report}");
        let routes = translation.config().routes();
        assert_eq!(routes.map(|route| route.canaries.len()).sum::<usize>(), 0);
    }
}

/// Nothing of it is left out in silence.
#[test]
fn places_that_a_canary_cannot_have_are_reported() {
    let path =
        |path: &str, kind: &str| json!({"path": path, "pathType": kind, "backend": backend("new")});
    for (host, path, field) in [
        ("bad host", path("/", "Prefix"), "spec.rules[0].host"),
        (
            "a.test",
            path("x", "Prefix"),
            "spec.rules[0].http.paths[0].path",
        ),
        (
            "a.test",
            path("/", "Regex"),
            "spec.rules[0].http.paths[0].pathType",
        ),
    ] {
        let rules = json!({"rules": [{"host": host, "http": {"paths": [path]}}]});
        let main = ingress("main", &[], rule("a.test", "web"));
        let translation = translated(ALL, &[main, canary("canary", &[], rules)]);
        let reports = reports(&translation, "canary");
        let [report] = reports.as_slice() else {
            panic!("{field}: {reports:?}");
        };
        assert_eq!(
            (report.field.as_str(), &*report.consequence),
            (field, "canary not used")
        );
    }
}

/// Annotations that are too long are not read, and `canary` is. So it takes no path, closes none and has no host.
#[test]
fn a_canary_that_cannot_be_served_is_no_main_ingress() {
    let path = |n: usize| json!({"path": format!("/{n}"), "pathType": "Prefix", "backend": backend("new")});
    let root = json!({"path": "/", "pathType": "Prefix", "backend": backend("new")});
    let paths: Vec<Value> = (0..200).map(path).chain([root]).collect();
    let rules = ["a.test", "own.test"].map(|host| json!({"host": host, "http": {"paths": paths}}));
    for guard in [
        &[][..],
        &[("auth-tls-secret", "a/pods")],
        &[("auth-url", "http://auth.test")],
    ] {
        let long = "x".repeat(300 << 10);
        let more = [&[("custom-headers", long.as_str())], guard].concat();
        let mut canary = canary("canary", &more, json!({"rules": rules}));
        canary["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut main = ingress("main", &[], rule("a.test", "web"));
        main["metadata"]["creationTimestamp"] = json!("2026-01-02T00:00:00Z");
        let translation = translated(ALL, &[canary, main.clone()]);
        assert_eq!(translation.config(), translated(ALL, &[main]).config());
        assert!(reports(&translation, "main").is_empty());
        let [report] = reports(&translation, "canary")[..] else {
            panic!("{:?}", translation.reports());
        };
        assert_eq!(
            (report.severity, report.field.as_str()),
            (Severity::Error, "metadata.annotations")
        );
        assert!(!report.consequence.contains("503"), "{report:?}");
    }
}
