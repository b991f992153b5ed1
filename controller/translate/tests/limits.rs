//! Limits of one Ingress (docs/annotations.md, "Limits of an Ingress"): as much is served, the rest is not, and is
//! reported with its field (R5 of the security rules).

use serde_json::{Value, json};
use sluice_ir::{Action, Server, ServerName};
use sluice_translate::{
    DataPlane, LIMITS, Object, ObjectKey, Options, Resources, Severity, Translation, translate,
};

fn most(what: &str) -> usize {
    let limit = LIMITS.iter().find(|limit| limit.what == what).unwrap();
    usize::try_from(limit.most).unwrap()
}

fn path(text: &str) -> Value {
    json!({"path": text, "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}})
}

/// Two rules of one host.
fn ingress(annotations: &Value, paths: usize) -> Value {
    let paths: Vec<Value> = (0..paths).map(|n| path(&format!("/p{n}"))).collect();
    let (first, second) = paths.split_at(1);
    let rule = |paths: &[Value]| json!({"host": "a.example", "http": {"paths": paths}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "app", "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [rule(first), rule(second)]},
    })
}

fn translated(objects: &[Value]) -> Translation {
    let mut resources = Resources::default();
    for object in objects {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    translate(
        &resources,
        &Options {
            class_is_implied: true,
            ..Options::default()
        },
    )
}

/// On nginx, where the operator permits snippets.
fn with_snippets(ingress: &Value) -> Translation {
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sluice", "namespace": "app"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    let mut resources = Resources::default();
    for object in [settings, ingress.clone()] {
        resources.apply(Object::from_value(object).unwrap());
    }
    translate(
        &resources,
        &Options {
            class_is_implied: true,
            configmap: Some(ObjectKey::new("app", "sluice")),
            data_plane: Some(DataPlane::Nginx),
            ..Options::default()
        },
    )
}

fn server(translation: &Translation) -> &Server {
    &translation.config().servers[&ServerName::parse("a.example").unwrap()]
}

/// Reports about a field.
fn reported(translation: &Translation, field: &str) -> Vec<Severity> {
    let reports = translation.reports().into_iter();
    let about = reports.filter(|report| report.field == field && report.reason.contains("at most"));
    about.map(|report| report.severity).collect()
}

#[test]
fn paths_beyond_the_limit_are_reported_and_not_served() {
    let most = most("paths of an Ingress");
    let field = format!("spec.rules[1].http.paths[{}]", most - 1);
    for (paths, reports) in [
        (most, vec![]),
        (most + 1, vec![Severity::Error]),
        (2 * most, vec![Severity::Error]),
    ] {
        let translation = translated(&[ingress(&json!({}), paths)]);
        // One more takes what no path matches.
        assert_eq!(server(&translation).routes.len(), most + 1, "{paths}");
        assert_eq!(reported(&translation, &field), reports, "{paths}");
    }
}

#[test]
fn paths_beyond_the_limit_that_guard_access_close_the_host_for_their_namespace() {
    let guard = json!({"nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8"});
    let mut open = ingress(&json!({}), 2);
    open["metadata"]["name"] = json!("open");
    open["spec"]["rules"][0]["http"]["paths"][0] = path("/");
    for (paths, is_closed) in [
        (most("paths of an Ingress"), false),
        (most("paths of an Ingress") + 1, true),
    ] {
        let translation = translated(&[ingress(&guard, paths), open.clone()]);
        let mut routes = server(&translation).routes.iter();
        assert!(
            routes.all(|route| (route.action == Action::Denied) == is_closed),
            "{paths}"
        );
    }
}

/// Large patterns on one host, and one more on another rule: `/admin/[a-z0-9]+/secret(/|$)(.*)`.
fn with_patterns(count: usize, guarded: bool) -> Value {
    let mut annotations = json!({"nginx.ingress.kubernetes.io/use-regex": "true"});
    if guarded {
        annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] = json!("10.0.0.0/8");
    }
    let mut object = ingress(&annotations, 2);
    let paths: Vec<Value> = (0..count).map(|n| path(&large_pattern(n))).collect();
    object["spec"]["rules"][0]["http"]["paths"] = paths.into();
    object["spec"]["rules"][1]["http"]["paths"] = json!([path("/admin/[a-z0-9]+/secret(/|$)(.*)")]);
    object
}

fn large_pattern(n: usize) -> String {
    format!("/p{n}[ab]*a[ab]{{7}}")
}

/// Patterns that cost just less than an Ingress may have, and just more.
fn around_the_budget() -> [usize; 2] {
    let one = sluice_pattern::check(&large_pattern(10), sluice_pattern::Subject::Path).unwrap();
    let most = most("cost of all patterns of paths of an Ingress (half a second to measure them)");
    let fit = most / usize::try_from(one.cost).unwrap();
    // The numbers in them have more digits, and fewer.
    [fit - 8, fit + 8]
}

#[test]
fn patterns_beyond_the_budget_of_their_ingress_are_not_served() {
    let last = "spec.rules[1].http.paths[0].path";
    let [few, many] = around_the_budget();
    for (count, expected) in [(few, vec![]), (many, vec![Severity::Error])] {
        let translation = translated(&[with_patterns(count, false)]);
        assert_eq!(
            reported(&translation, "spec.rules[0].http.paths[0].path"),
            []
        );
        assert_eq!(reported(&translation, last), expected, "{count}");
    }
    // One that is measured already costs nothing.
    let mut same = with_patterns(few, false);
    same["spec"]["rules"][0]["http"]["paths"] = vec![path(&large_pattern(1)); few].into();
    let mut other_host = same["spec"]["rules"][0].clone();
    other_host["host"] = json!("b.example");
    same["spec"]["rules"]
        .as_array_mut()
        .unwrap()
        .insert(1, other_host);
    assert_eq!(
        reported(&translated(&[same]), "spec.rules[2].http.paths[0].path"),
        []
    );
}

/// In its own place: what comes behind it in the order of patterns, longer texts of others as well, stays behind it.
#[test]
fn a_pattern_beyond_the_budget_that_guards_closes_what_it_would_have_taken() {
    let [_, many] = around_the_budget();
    for (open, annotations) in [
        ("/admin/x/secret", json!({})),
        (
            "/admin/.*",
            json!({"nginx.ingress.kubernetes.io/use-regex": "true"}),
        ),
    ] {
        let mut other = ingress(&annotations, 2);
        other["metadata"]["name"] = json!("open");
        other["spec"]["rules"][0]["http"]["paths"] = json!([path(open)]);
        let translation = translated(&[with_patterns(many, true), other]);
        let mut routes = server(&translation).routes.iter();
        let of_admin = routes.find(|route| route.matches.path.text().contains("/admin"));
        assert_eq!(
            of_admin.map(|route| &route.action),
            Some(&Action::Denied),
            "{open}"
        );
    }
}

/// Plain paths are measured where another Ingress of the host has patterns.
#[test]
fn paths_that_another_ingress_makes_patterns_have_the_budget() {
    let [_, many] = around_the_budget();
    let mut plain = with_patterns(many, false);
    plain["metadata"]["annotations"] = json!({});
    let mut other = ingress(&json!({"nginx.ingress.kubernetes.io/use-regex": "true"}), 2);
    other["metadata"]["name"] = json!("other");
    let last = format!("spec.rules[0].http.paths[{}].path", many - 1);
    for costly in [".*a.......b".to_owned(), ".".repeat(150)] {
        let paths = (0..many).map(|n| path(&format!("/p{n}{costly}")));
        plain["spec"]["rules"][0]["http"]["paths"] = paths.collect::<Vec<_>>().into();
        let alone = translated(&[plain.clone()]);
        let both = translated(&[plain.clone(), other.clone()]);
        assert_eq!(reported(&alone, &last), []);
        assert_eq!(reported(&both, &last), [Severity::Error], "{costly}");
    }
}

#[test]
fn tls_entries_and_aliases_beyond_the_limit_are_reported_and_not_used() {
    let entries = most("entries of `spec.tls`");
    let mut object = ingress(&json!({}), 2);
    object["spec"]["tls"] =
        vec![json!({"hosts": ["a.example"], "secretName": "s"}); entries + 1].into();
    assert_eq!(
        reported(&translated(&[object]), &format!("spec.tls[{entries}]")),
        [Severity::Error]
    );
    let names = most("names in `server-alias`");
    for (count, reports) in [(names, 0), (names + 1, 1), (2 * names, 1)] {
        let aliases: Vec<String> = (0..count).map(|n| format!("n{n}.example")).collect();
        let annotations = json!({"nginx.ingress.kubernetes.io/server-alias": aliases.join(",")});
        let translation = translated(&[ingress(&annotations, 2)]);
        assert_eq!(server(&translation).aliases.len(), names, "{count}");
        assert_eq!(
            reported(&translation, "annotation server-alias").len(),
            reports,
            "{count}"
        );
    }
}

#[test]
fn annotations_times_paths_are_bounded() {
    const NAME: &str = "nginx.ingress.kubernetes.io/x-forwarded-prefix";
    let most = most("bytes of the annotations that are read, times the paths of the Ingress");
    for paths in [20, 21, 500, 5000] {
        let longest = most / paths - NAME.len();
        for (length, is_served) in [(longest, true), (longest + 1, false)] {
            let annotations =
                json!({NAME: "x".repeat(length), "of.another/product": "y".repeat(1000)});
            let translation = translated(&[ingress(&annotations, paths)]);
            let mut routes = server(&translation).routes.iter();
            let closed = routes.any(|route| route.action == Action::Denied);
            assert_eq!(closed, !is_served, "{paths} paths, {length} bytes");
            let reports = reported(&translation, "metadata.annotations").len();
            assert_eq!(
                reports,
                usize::from(!is_served),
                "{paths} paths, {length} bytes"
            );
        }
    }
}

#[test]
fn response_headers_beyond_the_limit_close_the_paths() {
    let most = most("names in `auth-response-headers`");
    for (count, closes) in [(most, false), (most + 1, true), (10 * most, true)] {
        let names: Vec<String> = (0..count).map(|n| format!("x-{n}")).collect();
        let annotations = json!({
            "nginx.ingress.kubernetes.io/auth-url": "http://a.example/",
            "nginx.ingress.kubernetes.io/auth-response-headers": names.join(","),
        });
        let translation = translated(&[ingress(&annotations, 2)]);
        let mut routes = server(&translation)
            .routes
            .iter()
            .filter(|route| route.id.as_str().contains("/p"));
        assert!(
            routes.all(|route| (route.action == Action::Denied) == closes),
            "{count}"
        );
        let reports = reported(&translation, "annotation auth-response-headers").len();
        assert_eq!(reports, usize::from(closes), "{count}");
    }
}

#[test]
fn rules_of_a_firewall_beyond_the_limits_close_the_paths() {
    let directives = most("directives of `modsecurity-snippet`");
    let bytes = most("bytes of `modsecurity-snippet`");
    let rules = |count: usize| "SecRuleEngine On\n".repeat(count);
    let long = |bytes: usize| format!("SecRuleEngine On\n#{}", "x".repeat(bytes - 18));
    for (snippet, is_served) in [
        (rules(directives), true),
        (rules(directives + 1), false),
        (long(bytes), true),
        (long(bytes + 1), false),
    ] {
        let annotations = json!({
            "nginx.ingress.kubernetes.io/enable-modsecurity": "true",
            "nginx.ingress.kubernetes.io/modsecurity-snippet": snippet,
        });
        let translation = with_snippets(&ingress(&annotations, 2));
        let reports = reported(&translation, "annotation modsecurity-snippet");
        assert_eq!(reports.is_empty(), is_served, "{} bytes", snippet.len());
        let route = &server(&translation).routes[0];
        assert_eq!(route.action == Action::Denied, !is_served);
    }
}

#[test]
fn fastcgi_parameters_beyond_the_limit_are_not_set() {
    let most = most("bytes of names and values in `fastcgi-params-configmap`");
    for (length, is_set) in [(most / 2 - 1, true), (most / 2, false)] {
        let value = "x".repeat(length);
        let params = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "params", "namespace": "app"},
            "data": {"A": value, "B": value},
        });
        let annotations = json!({
            "nginx.ingress.kubernetes.io/backend-protocol": "FCGI",
            "nginx.ingress.kubernetes.io/fastcgi-params-configmap": "params",
        });
        let translation = translated(&[params, ingress(&annotations, 2)]);
        let route = &server(&translation).routes[0];
        assert_eq!(!route.policy.fastcgi.params.is_empty(), is_set, "{length}");
        let reports = reported(&translation, "annotation fastcgi-params-configmap");
        assert_eq!(reports.len(), usize::from(!is_set), "{length}");
    }
}
