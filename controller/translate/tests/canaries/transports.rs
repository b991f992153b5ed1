//! How pods of a canary are spoken to.

use sluice_translate::is_same_canary;

use super::*;

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
