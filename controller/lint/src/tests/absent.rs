//! Objects that are not among the manifests, and are expected in the cluster.

use super::*;

/// With a ConfigMap of the controller, and ports of TCP.
fn with_settings(manifests: &str, data: &str) -> Findings {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{manifests}{}", config_map(data));
    fs::write(folder.path().join("in.yaml"), text).unwrap();
    let key = |name: &str| sluice_translate::ObjectKey::new("sluice", name);
    let options = Options {
        class_is_implied: true,
        configmap: Some(key("settings")),
        tcp_services: Some(key("tcp")),
        default_certificate: Some(key("certificate")),
        ..Options::default()
    };
    examine(read_once(folder.path()).unwrap(), &options, Extent::Part)
}

fn said(findings: &Findings) -> Vec<(Severity, String)> {
    let settings = findings.settings.iter().flat_map(|one| &one.remarks);
    let said = settings.map(|remark| {
        (
            remark.severity,
            format!("{}: {}", remark.field, remark.text),
        )
    });
    said.collect()
}

fn is_expected(what: &str) -> String {
    format!("{what} is not among these manifests; expected to exist in the cluster")
}

const AUTH: &str =
    "nginx.ingress.kubernetes.io/auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users";

#[test]
fn what_settings_of_the_operator_name_is_expected_in_the_cluster() {
    let tcp = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: sluice}\n\
               data: {'5432': 'db/pg:5432'}\n---\n";
    let soon = "nginx.ingress.kubernetes.io/proxy-read-timeout: soon";
    let shops = ingress("shop", "", RULE) + &ingress("late", soon, &RULE.replace("a.b", "c.d"));
    let data = "proxy-set-headers: ing/sent, add-headers: ing/added";
    let found = with_settings(&(shops.clone() + tcp), data);
    let expected = [
        ("data.add-headers", "ConfigMap ing/added"),
        ("data.proxy-set-headers", "ConfigMap ing/sent"),
        ("data.5432", "Service db/pg"),
        ("--default-ssl-certificate", "Secret sluice/certificate"),
    ]
    .map(|(field, what)| (Severity::Note, format!("{field}: {}", is_expected(what))));
    assert_eq!(said(&found), expected);
    assert_eq!(found.summary().closed, 0, "{found:#?}");
    // Of what else an Ingress says nothing is lost.
    let verdicts: Vec<Verdict> = found.ingresses.iter().map(|one| one.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Differences, Verdict::Unchanged],
        "{found:#?}"
    );
    assert!(!found.fail(FailOn::Error));
    let without = with_settings(&shops, "use-gzip: 'true'");
    let flag = format!(
        "--tcp-services-configmap: {}",
        is_expected("ConfigMap sluice/tcp")
    );
    assert!(
        said(&without).contains(&(Severity::Note, flag)),
        "{without:#?}"
    );
}

/// The cluster may have the Secret, and the paths are closed all the same.
#[test]
fn paths_that_a_setting_closes_do_not_work_whatever_the_cluster_has() {
    let manifests =
        ingress("shop", "", RULE) + &ingress("guarded", AUTH, &RULE.replace("a.b", "c.d"));
    let reason = "its paths answer 503, because access control in the ConfigMap or the flags cannot be enforced";
    for data in [
        "global-auth-url: 'not a url'",
        "block-user-agents: '~*(?!x)y'",
    ] {
        let found = with_settings(&manifests, data);
        for one in &found.ingresses {
            assert_eq!(
                (one.verdict, one.closed),
                (Verdict::NotAtAll, true),
                "{one:#?}"
            );
            assert!(
                one.remarks.iter().any(|remark| remark.text == reason),
                "{one:#?}"
            );
        }
    }
    let open = with_settings(&manifests, "use-gzip: 'true'");
    for one in &open.ingresses {
        assert_eq!(
            (one.verdict, one.closed),
            (Verdict::Unchanged, false),
            "{one:#?}"
        );
    }
}

/// A setting that closes nothing, and is wrong, closes nothing.
#[test]
fn an_error_elsewhere_does_not_close_what_the_cluster_opens() {
    let tcp = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tcp, namespace: sluice}\n\
               data: {'5432': 'pg'}\n---\n";
    let found = with_settings(&(ingress("guarded", AUTH, RULE) + tcp), "use-gzip: 'true'");
    assert_eq!(found.summary().settings, 1, "{found:#?}");
    let one = &found.ingresses[0];
    assert_eq!(
        (one.verdict, one.closed),
        (Verdict::Unchanged, false),
        "{one:#?}"
    );
}
