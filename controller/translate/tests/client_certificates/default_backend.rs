//! Guards of an Ingress that has a default backend and no rules: they are those of a rule without a host.

use super::*;

const CATCH_ALL: &str = "";

/// One with a default backend, or with a rule without a host, beside a path of another namespace.
fn objects(annotations: &[(&str, &str)], by_rule: bool) -> Vec<Value> {
    let mut web = ingress(OWNER, "web", 2019, "/", annotations);
    let mut other = ingress(FOREIGN, "other", 2020, "/other", &[]);
    other["spec"]["rules"][0]["host"] = json!("");
    if by_rule {
        web["spec"]["rules"][0]["host"] = json!("");
    } else {
        let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
        web["spec"] = json!({"ingressClassName": "nginx", "defaultBackend": backend});
    }
    let trust = json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    let mut all = vec![web, other, config_map(&trust)];
    all.extend(authorities(&Authority::new()));
    all
}

/// Open paths, and the fields of reports.
fn served(annotations: &[(&str, &str)], by_rule: bool) -> (BTreeSet<String>, BTreeSet<String>) {
    let translation = translated(&objects(annotations, by_rule));
    let mut open = open_paths(&translation, CATCH_ALL);
    open.remove("/healthz");
    let reports = reports_of(&translation, "web").into_iter();
    (open, reports.map(|report| report.field.clone()).collect())
}

#[test]
fn a_default_backend_has_the_guards_of_a_rule_without_a_host() {
    let all = || ["/", "/other"].map(str::to_owned).into();
    assert_eq!(served(&[], false), (all(), BTreeSet::new()));
    for (annotation, value, expected) in [
        ("auth-tls-secret", "ca", [].as_slice()),
        ("auth-tls-secret", "missing", &[]),
        ("auth-tls-match-cn", "me", &[]),
        ("server-snippet", "deny all; mirror /x;", &["/other"]),
        (
            "server-snippet",
            "allow 192.0.2.1; deny all;",
            &["/", "/other"],
        ),
        (
            "server-snippet",
            "client_header_buffer_size 2k;",
            &["/", "/other"],
        ),
    ] {
        let (open, fields) = served(&[(annotation, value)], false);
        let expected: BTreeSet<String> = expected.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(open, expected, "{annotation}: {value}");
        let (by_rule, told) = served(&[(annotation, value)], true);
        assert_eq!((open, &fields), (by_rule, &told), "{annotation}: {value}");
        assert!(
            fields.contains(&format!("annotation {annotation}")),
            "{fields:?}"
        );
    }
}

#[test]
fn a_default_backend_has_the_server_snippet_of_its_namespace() {
    let snippet = [("server-snippet", "allow 192.0.2.1; deny all;")];
    let translation = translated(&objects(&snippet, false));
    let routes = &translation.config().servers[&ServerName::CatchAll].routes;
    let policies = routes.iter().map(|route| {
        let access = &route.policy.ip_access;
        (
            route.matches.path.text(),
            *access != sluice_ir::IpAccess::default(),
        )
    });
    let policies: BTreeMap<&str, bool> = policies.collect();
    assert_eq!((policies["/"], policies["/other"]), (true, false));
}
