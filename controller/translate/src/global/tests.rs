use serde_json::json;
use sluice_translate_engine::{Object, ObjectKey, Report, Severity};

use super::*;
use crate::risk::Risk;

const NONE: Catalogues = Catalogues {
    alternatives: |_, _, _| String::new(),
    not_needed: |_, _| None,
};

fn read(data: serde_json::Value) -> (Globals, Vec<String>) {
    let (globals, reports) = reported(data);
    (globals, reports.iter().map(ToString::to_string).collect())
}

fn reported(data: serde_json::Value) -> (Globals, Vec<Report>) {
    let mut cluster = ObjectCache::default();
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    cluster.apply(Object::from_value(object).unwrap());
    let options = Options {
        configmap: Some(ObjectKey::new("default", "c")),
        ..Options::default()
    };
    let mut reports = Vec::new();
    let globals = Globals::read(&cluster, &options, NONE, &mut reports);
    let is_said = reports.iter().any(|report| report.closed_for.is_some());
    assert_eq!(globals.closed, is_said, "{reports:?}");
    (globals, reports)
}

#[test]
fn a_key_that_cannot_be_read_keeps_its_default_and_the_others_hold() {
    let (globals, reports) =
        read(json!({"proxy-read-timeout": "soon", "proxy-connect-timeout": "9"}));
    assert_eq!(
        (
            globals.upstream.timeouts.read,
            globals.upstream.transport.connect_timeout
        ),
        (60, 9)
    );
    let expected = "ConfigMap default/c: data.proxy-read-timeout: expected seconds from 0 to 31536000, got \"soon\"; \
                    the default is used";
    assert_eq!(reports, [expected]);
}

#[test]
fn unknown_keys_are_named_with_the_one_that_was_meant() {
    let (_, reports) = read(json!({"proxy-read-timeuot": "1", "nonsense": "1"}));
    assert!(reports[0].contains("\"nonsense\""), "{reports:?}");
    assert!(
        reports[1].contains("did you mean proxy-read-timeout?"),
        "{reports:?}"
    );
}

#[test]
fn a_time_for_bodies_that_envoy_cannot_keep_is_reported() {
    let said = |data: serde_json::Value| {
        let reports = read(data).1;
        let of_bodies = reports.iter().find(|it| it.contains("client-body-timeout"));
        of_bodies.cloned()
    };
    for kept in [
        json!({}),
        json!({"client-body-timeout": "181"}),
        json!({"client-body-timeout": "6", "proxy-read-timeout": "5", "proxy-send-timeout": "4", "proxy-next-upstream-tries": "1"}),
    ] {
        assert_eq!(said(kept.clone()), None, "{kept}");
    }
    let shorter = [
        (json!({"client-body-timeout": "5"}), "181 s"),
        (
            json!({"client-body-timeout": "60", "proxy-read-timeout": "600"}),
            "1801 s",
        ),
    ];
    for (data, holds) in shorter {
        let said = said(data).unwrap();
        assert!(said.contains("Envoy") && said.contains(holds), "{said}");
    }
}

/// Nobody had it in ingress-nginx either.
#[test]
fn an_unknown_key_is_a_note_to_whoever_compares() {
    let (_, reports) = reported(json!({"nonsense": "1"}));
    assert_eq!(reports[0].severity, Severity::Warning);
    assert_eq!(reports[0].compared().0, Severity::Note);
}

#[test]
fn every_key_that_is_honoured_is_read() {
    let honoured = KEYS.iter().filter(|key| key.supports.is_honoured(None));
    let mut reports = Vec::new();
    let values = honoured.map(|key| (key.name, "x")).collect();
    let mut view = View::with(values, &mut reports);
    let cluster = ObjectCache::default();
    let options = Options::default();
    let tracker = DependencyTracker::new(&cluster, &options.addresses);
    let references = References {
        tracker: &tracker,
        across_namespaces: true,
    };
    Globals::default().take(&mut view, references, NONE);
    assert_eq!(view.unread(), Vec::<&str>::new());
}

#[test]
fn an_unknown_risk_level_is_the_lowest() {
    let reports = read(json!({"annotations-risk-level": "Highest"})).1;
    assert!(
        reports[0].contains("expected Low, Medium, High or Critical"),
        "{reports:?}"
    );
    assert_eq!(
        read(json!({"annotations-risk-level": "Highest"}))
            .0
            .trust
            .risk,
        Risk::Low
    );
    assert_eq!(
        read(json!({"annotations-risk-level": "Critical"}))
            .0
            .trust
            .risk,
        Risk::Critical
    );
}

/// The cluster source fetches what `Key::names_config_map` says, and nothing else.
#[test]
fn only_references_of_the_keys_look_up_config_maps() {
    let mut reports = Vec::new();
    for key in KEYS.iter().filter(|key| key.supports.is_honoured(None)) {
        let values = [(key.name, "default/thing")].into();
        let mut view = View::with(values, &mut reports);
        let (cluster, options) = (ObjectCache::default(), Options::default());
        let tracker = DependencyTracker::new(&cluster, &options.addresses);
        let references = References {
            tracker: &tracker,
            across_namespaces: true,
        };
        Globals::default().take(&mut view, references, NONE);
        let looked_up = tracker
            .into_dependencies()
            .iter()
            .any(|object| object.kind == crate::Kind::ConfigMap);
        assert_eq!(looked_up, key.names_config_map, "{}", key.name);
    }
}

#[test]
fn a_server_snippet_is_served_as_a_whole_or_not_at_all() {
    let served = [
        "more_set_headers 'X-A: b'; add_header X-B c always;",
        "if ($http_a = b) { return 403; }",
        "if ($host = old.test) { return 301 https://new.test$request_uri; }",
        "location ~ /\\.git { deny all; }\nlocation = /robots.txt { return 200 'none'; }",
        "deny 10.0.0.0/8;",
    ];
    for text in served {
        let (globals, reports) = read(json!({"server-snippet": text}));
        assert!(globals.server_snippet.is_some(), "{text}");
        assert!(!globals.closed && reports.is_empty(), "{text}: {reports:?}");
    }
    for (text, closes) in [
        ("gzip on; more_set_headers 'X-A: b';", false),
        ("more_set_headers 'X-A: b'; satisfy any;", true),
        ("if ($http_a = b) { return 403; } limit_req zone=a;", true),
        ("rewrite ^/a /b permanent;", true),
        ("location @a { return 403; }", true),
        (
            "if ($host ~ ^(.+)\\.old$) { return 301 https://$1.new; }",
            true,
        ),
        ("more_set_headers 'X-A: b'; }", true),
    ] {
        let (globals, reports) = read(json!({"server-snippet": text}));
        assert_eq!(
            (globals.server_snippet, globals.closed),
            (None, closes),
            "{text}"
        );
        assert_eq!(reports.len(), 1, "{text}: {reports:?}");
    }
    // All reasons, each with its line, and no annotation.
    let text = "etag on;\nrewrite ^/a /b permanent;\nif ($http_a) { rewrite ^/a /b redirect; }\nlocation @x { return 403; }\n\
                rewrite ^/a/(.*) /$1 last;";
    let (_, reports) = read(json!({"server-snippet": text}));
    for line in 2..=5 {
        let begin = format!("line {line}: ");
        assert!(reports[0].contains(&begin), "{reports:?}");
    }
    // Another key hides that of pods alone.
    let hidden = json!({"server-snippet": "more_set_headers 'X-A: b';", "hide-headers": "X-A"});
    assert!(read(hidden).0.server_snippet.is_some());
}

#[test]
fn headers_without_always_are_of_errors_too_unless_nginx_alone_serves() {
    let (_, reports) = read(json!({"server-snippet": "add_header X-B c;"}));
    let expected = "ConfigMap default/c: data.server-snippet: add_header without always adds the header to errors, too; \
                    served with this difference";
    assert_eq!(reports, [expected]);
}
