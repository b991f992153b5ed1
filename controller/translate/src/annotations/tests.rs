//! Tests of properties that all annotations share.

use std::collections::BTreeSet;

use serde_json::json;
use sluice_translate_engine::{Kind, Object, ObjectCache, ObjectKey, ObjectRef, Report};

use super::*;
use crate::support::Support;

mod canaries;
mod closed;
mod misspelt;

fn ingress(annotations: &serde_json::Value) -> Ingress {
    let object = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "shop", "annotations": annotations}, "spec": {},
    });
    match Object::from_value(object).unwrap() {
        Object::Ingress(ingress) => Arc::unwrap_or_clone(ingress),
        other => panic!("{other:?}"),
    }
}

fn reporter(reports: &mut Vec<Report>) -> Reporter<'_> {
    Reporter::new(
        ObjectRef {
            kind: Kind::Ingress,
            key: ObjectKey::new("default", "shop"),
        },
        reports,
    )
}

fn reported(annotations: &serde_json::Value, globals: &Globals) -> (Annotations, Vec<Report>) {
    reported_on(None, annotations, globals)
}

fn reported_on(
    data_plane: Option<DataPlane>,
    annotations: &serde_json::Value,
    globals: &Globals,
) -> (Annotations, Vec<Report>) {
    let mut reports = Vec::new();
    let options = Options {
        data_plane,
        ..Options::default()
    };
    let cluster = ObjectCache::default();
    let tracker = DependencyTracker::new(&cluster, &options.addresses);
    let context = Context {
        tracker: &tracker,
        options: &options,
        globals,
    };
    let ingress = ingress(annotations);
    let read = Annotations::read(
        &ingress,
        context,
        &mut Secrets::default(),
        reporter(&mut reports),
    );
    (read, reports)
}

fn read(annotations: &serde_json::Value, globals: &Globals) -> (Annotations, Vec<String>) {
    let (read, reports) = reported(annotations, globals);
    (read, reports.iter().map(ToString::to_string).collect())
}

fn with(name: &str, value: &str) -> (Annotations, Vec<String>) {
    read(
        &json!({format!("nginx.ingress.kubernetes.io/{name}"): value}),
        &Globals::default(),
    )
}

#[test]
fn nothing_is_accepted_and_ignored() {
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    let supported = all.filter(|one| one.supports.is_honoured(None) && one.alias_of.is_none());
    let annotations = supported
        .map(|one| (format!("p/{}", one.name), json!("x")))
        .collect();
    let ingress = ingress(&serde_json::Value::Object(annotations));
    let mut reports = Vec::new();
    let rules = Rules {
        prefix: "p",
        risk: Risk::Critical,
        blocked: &[],
        data_plane: None,
    };
    let (cluster, mut secrets) = (ObjectCache::default(), Secrets::default());
    let options = Options::default();
    let tracker = DependencyTracker::new(&cluster, &options.addresses);
    let references = References {
        tracker: &tracker,
        across_namespaces: false,
    };
    let mut view = View::new(
        &ingress,
        &rules,
        references,
        &mut secrets,
        reporter(&mut reports),
    );
    Annotations::gather(&mut view, &Globals::default(), &Options::default());
    assert_eq!(view.unread(), Vec::<&str>::new());
}

#[test]
fn every_annotation_that_is_not_supported_is_reported_by_name() {
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    for annotation in all.filter(|one| matches!(one.supports.envoy, Support::Unsupported(_))) {
        let (read, reports) = with(annotation.name, "something");
        let field = format!("Ingress default/shop: annotation {}: ", annotation.name);
        assert!(!reports.is_empty(), "{}", annotation.name);
        assert!(
            reports.iter().all(|report| report.starts_with(&field)),
            "{reports:?}"
        );
        assert!(
            reports
                .iter()
                .any(|report| report.contains("not supported")),
            "{reports:?}"
        );
        if annotation.role == Role::AccessControl {
            assert!(read.denied, "{}", annotation.name);
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_what_was_expected() {
    let expected = "Ingress default/shop: annotation proxy-read-timeout: expected seconds from 0 to 31536000, got \
                    \"soon\"; annotation ignored";
    assert_eq!(with("proxy-read-timeout", "soon").1, [expected]);
}

fn reports_on(data_plane: DataPlane, name: &str, text: &str) -> Vec<String> {
    let mut globals = Globals::default();
    globals.trust.risk = Risk::Critical;
    globals.trust.admission.allow_snippets = true;
    let annotations = json!({format!("nginx.ingress.kubernetes.io/{name}"): text});
    let (_, reports) = reported_on(Some(data_plane), &annotations, &globals);
    let reports = reports.iter().map(ToString::to_string);
    let field = format!("Ingress default/shop: annotation {name}: ");
    reports.map(|report| report.replace(&field, "")).collect()
}

#[test]
fn a_copy_has_a_path_of_its_own_on_each_data_plane() {
    for path in ["/below$request_uri", "/fixed", "/"] {
        let target = format!("http://copies.test{path}");
        for data_plane in [DataPlane::Nginx, DataPlane::Envoy] {
            assert_eq!(reports_on(data_plane, "mirror-target", &target), [""; 0]);
        }
    }
}

#[test]
fn a_snippet_says_what_each_data_plane_makes_of_it() {
    let configuration = |data_plane, text| reports_on(data_plane, "configuration-snippet", text);
    let buffers = "proxy_buffers 8 16k;\nproxy_buffer_size 16k;";
    assert_eq!(
        configuration(DataPlane::Envoy, buffers),
        [
            "line 1: bodies are streamed; line 2: response headers may have 60 KiB in total; not needed"
        ]
    );
    let served = configuration(DataPlane::Nginx, buffers);
    assert!(
        served[0].contains("proxy-buffers-number for proxy_buffers"),
        "{served:?}"
    );
    let condition = "if ($request_uri ~* \"\\.php\") { return 403; }";
    let said = configuration(DataPlane::Envoy, condition);
    let reason = "line 1: `if ($request_uri ~* \"\\.php\")` is not supported by Envoy (served with --data-plane nginx); use if \
                  ($uri ...), the path without its query, or if ($args ...), the query alone, for if ($request_uri ...); none of the snippet is served";
    assert!(said[0].starts_with(reason), "{said:?}");
    assert_eq!(configuration(DataPlane::Nginx, condition), [""; 0]);
    let server = reports_on(
        DataPlane::Envoy,
        "server-snippet",
        "proxy_set_header X-Foo bar;",
    );
    let reason = "every location sets its directives itself; it has no effect, as in ingress-nginx";
    assert_eq!(server, [reason]);
}

#[test]
fn a_value_of_several_lines_is_refused_and_a_blank_one_is_none() {
    assert!(with("proxy-next-upstream", "error\ntimeout").1[0].contains("expected one line"));
    assert_eq!(
        with("proxy-next-upstream", "error\n").1,
        Vec::<String>::new()
    );
    assert_eq!(
        with("proxy-next-upstream", "  "),
        with("proxy-next-upstream", "")
    );
}

/// As in YAML's folded and literal blocks; ingress-nginx trims what is between commas.
#[test]
fn a_list_says_the_same_on_one_line_and_on_several() {
    let value = |annotation: &Annotation| match (annotation.value, annotation.name) {
        (Value::Cidrs, _) => Some("10.0.0.0/8,192.0.2.1,2001:db8::/32"),
        (_, "server-alias") => Some("a.example,b.example"),
        (_, "cors-allow-origin") => Some("https://a.example,https://b.example"),
        (_, "auth-response-headers") => Some("X-User,X-Group"),
        (_, "custom-http-errors") => Some("404,503"),
        _ => None,
    };
    let lists = GROUPS.iter().flat_map(|group| group.annotations);
    let lists: Vec<_> = lists
        .filter_map(|annotation| Some((annotation.name, value(annotation)?)))
        .collect();
    assert!(lists.len() >= 9, "{lists:?}");
    for (name, value) in lists {
        for comma in [",\n", ",\r\n  ", "\n\t, ", " ,"] {
            let several = format!("{}\n", value.replace(',', comma));
            assert_eq!(with(name, &several), with(name, value), "{name} {comma:?}");
        }
        let reports = with(name, &value.replace(',', "\u{7},")).1;
        assert!(
            reports[0].contains("expected one line"),
            "{name}: {reports:?}"
        );
    }
}

#[test]
fn a_prefix_that_nobody_reads_is_named() {
    let annotations =
        json!({"ingress.kubernetes.io/proxy-read-timeout": "1", "nginx.org/unknown": "1"});
    let (_, reports) = read(&annotations, &Globals::default());
    assert_eq!(reports.len(), 1);
    assert!(
        reports[0].contains("expected nginx.ingress.kubernetes.io/proxy-read-timeout"),
        "{reports:?}"
    );
}

#[test]
fn the_risk_level_refuses_the_annotation_and_not_the_ingress() {
    let mut globals = Globals::default();
    globals.trust.risk = Risk::Low;
    let annotations = json!({"nginx.ingress.kubernetes.io/proxy-next-upstream": "off"});
    let (annotations, reports) = read(&annotations, &globals);
    assert_eq!(
        annotations.policy.retries,
        Globals::default().upstream.retries
    );
    assert!(reports[0].contains("got one of risk Medium"), "{reports:?}");
}

#[test]
fn a_blocked_word_refuses_the_ingress() {
    let mut globals = Globals::default();
    globals.trust.blocked_words = vec!["lua".into()];
    let annotations = json!({"nginx.ingress.kubernetes.io/anything": "by_lua_x"});
    assert!(read(&annotations, &globals).0.refused);
}

#[test]
fn a_snippet_that_may_guard_access_closes_its_locations() {
    let (closed, reports) = with("configuration-snippet", "gzip on; deny all;");
    assert!(
        closed.denied && reports.iter().any(|report| report.contains("`deny`")),
        "{reports:?}"
    );
    assert!(!with("configuration-snippet", "gzip on;").0.denied);
}

/// The cluster source fetches what `referenced_kind` says, and nothing else.
#[test]
fn only_references_of_the_catalogue_look_up_secrets_and_config_maps() {
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    for annotation in all.filter(|one| one.supports.is_honoured(None)) {
        let mut annotations = json!({
            "p/auth-type": "basic", "p/auth-url": "http://192.0.2.1/", "p/backend-protocol": "HTTPS",
        });
        annotations[format!("p/{}", annotation.name)] = json!("default/thing");
        let kinds: BTreeSet<Kind> = dependencies(&annotations)
            .into_iter()
            .map(|object| object.kind)
            .filter(|kind| matches!(kind, Kind::Secret | Kind::ConfigMap))
            .collect();
        let expected = referenced_kind(annotation.name).into_iter().collect();
        assert_eq!(kinds, expected, "{}", annotation.name);
    }
}

fn dependencies(annotations: &serde_json::Value) -> BTreeSet<ObjectRef> {
    let (ingress, mut reports) = (ingress(annotations), Vec::new());
    let rules = Rules {
        prefix: "p",
        risk: Risk::Critical,
        blocked: &[],
        data_plane: None,
    };
    let (cluster, options) = (ObjectCache::default(), Options::default());
    let tracker = DependencyTracker::new(&cluster, &options.addresses);
    let references = References {
        tracker: &tracker,
        across_namespaces: false,
    };
    let mut secrets = Secrets::default();
    let mut view = View::new(
        &ingress,
        &rules,
        references,
        &mut secrets,
        reporter(&mut reports),
    );
    Annotations::gather(&mut view, &Globals::default(), &options);
    tracker.into_dependencies()
}

/// The table of needs is true, and says so of each.
#[test]
fn what_needs_another_annotation_has_no_effect_without_it_and_is_noted() {
    let value = |name: &str, kind: Value| match (name, kind) {
        ("auth-secret-type", _) => "auth-map",
        ("affinity-mode", _) => "persistent",
        ("canary-by-header-pattern", _) => "a",
        (_, Value::Bool) => "true",
        (_, Value::OneOf(values)) => values[0],
        (_, Value::Int | Value::Seconds | Value::Size) => "301",
        (_, Value::Cidrs) => "10.0.0.0/8",
        (_, Value::Url) => "https://a.example",
        ("cors-allow-origin", _) => "https://a.example",
        ("cors-allow-methods", _) => "GET",
        ("auth-cache-duration", _) => "200 5m",
        ("proxy-ssl-ciphers", _) => "AES128-SHA",
        ("proxy-ssl-protocols", _) => "TLSv1.2",
        ("proxy-ssl-server-name", _) => "on",
        ("auth-cache-key" | "auth-request-redirect", _) => "$request_uri",
        ("auth-method", _) => "GET",
        _ => "web",
    };
    let nothing = read(&json!({}), &Globals::default()).0;
    for (name, requirement) in REQUIREMENTS {
        let annotation = catalogue::find(name).unwrap();
        let value = value(name, annotation.value);
        let (alone, reports) = with(name, value);
        let expected = match requirement {
            Requirement::Any(names) => names.join(" or "),
            Requirement::On(name) => format!("{name}: \"true\""),
            Requirement::Value(name, value) => format!("{name}: {value}"),
        };
        let expected = format!("annotation {name}: requires {expected}, which is not set");
        let [report] = reports.as_slice() else {
            panic!("{name}: {value}: {reports:?}");
        };
        if report.contains(&expected) {
            assert_eq!(alone, nothing, "{name}: {value}: {report}");
        } else {
            assert_eq!(annotation.role, Role::AccessControl, "{name}: {report}");
            assert!(report.contains("503"), "{name}: {report}");
        }
        let beside = match requirement {
            Requirement::Any(names) => (names[0], "1"),
            Requirement::On(name) => (*name, "true"),
            Requirement::Value(name, value) => (*name, *value),
        };
        let annotations = json!({
            format!("nginx.ingress.kubernetes.io/{name}"): value,
            format!("nginx.ingress.kubernetes.io/{}", beside.0): beside.1,
        });
        let reports = read(&annotations, &Globals::default()).1;
        assert!(
            !reports.iter().any(|report| report.contains(&expected)),
            "{name}: {reports:?}"
        );
    }
}

#[test]
fn reports_name_an_annotation_as_it_is_written() {
    let aliases = GROUPS.iter().flat_map(|group| group.annotations);
    for alias in aliases.filter(|annotation| annotation.alias_of.is_some()) {
        let (_, reports) = with(alias.name, "no such: value?!");
        let field = format!("annotation {}: ", alias.name);
        assert!(
            reports.iter().any(|report| report.contains(&field)),
            "{}: {reports:?}",
            alias.name
        );
    }
}
