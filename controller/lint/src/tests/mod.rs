use std::fs;

use sluice_source::{Input, Reading, read_inputs};
use sluice_translate::{DataPlane, Severity};

use super::finding::{Finding, Verdict};
use super::remark::Remark;
use super::*;
use crate::Output;

mod absent;
mod classes;
mod passthrough;
mod patterns;
mod written;

fn read_once(folder: &std::path::Path) -> Result<Reading, impl std::fmt::Debug> {
    read_inputs(&[Input::Path(folder.to_owned())])
}

fn write(findings: &Findings, output: Output) -> String {
    super::write(findings, output, false)
}

fn findings(manifests: &str) -> Findings {
    findings_in(manifests, None)
}

fn findings_in(manifests: &str, watch_namespace: Option<&str>) -> Findings {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.yaml"), manifests).unwrap();
    let options = Options {
        class_is_implied: true,
        watch_ingress_without_class: true,
        watch_namespace: watch_namespace.map(str::to_owned),
        ..Options::default()
    };
    examine(read_once(folder.path()).unwrap(), &options, Extent::Part)
}

fn ingress(name: &str, annotations: &str, spec: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\n\
         spec:\n  ingressClassName: nginx\n{spec}\n---\n"
    )
}

const RULE: &str = "  rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, \
                    port: {number: 80}}}}]}}]";

fn only(manifests: &str) -> Finding {
    let mut findings = findings(manifests);
    assert_eq!(findings.documents, []);
    assert_eq!(findings.ingresses.len(), 1);
    findings.ingresses.remove(0)
}

#[test]
fn a_service_elsewhere_is_no_difference() {
    let finding = only(&ingress("shop", "", RULE));
    assert_eq!(finding.verdict, Verdict::Unchanged);
    assert_eq!(finding.remarks[0].severity, Severity::Note);
    assert!(
        finding.remarks[0]
            .text
            .contains("Service default/web is not among these manifests")
    );
}

#[test]
fn a_namespace_that_is_not_watched_is_no_other_class() {
    let manifest = ingress("shop", "", RULE);
    let verdict = |watched| findings_in(&manifest, watched).ingresses.remove(0);
    assert_eq!(verdict(Some("default")).verdict, Verdict::Unchanged);
    let left_out = verdict(Some("other"));
    assert_eq!(left_out.verdict, Verdict::NotWatched);
    let text = "default is not watched (--watch-namespace other); left out";
    assert_eq!(left_out.remarks[0].text, text);
}

#[test]
fn an_ingress_without_any_route_that_works_does_not_work_at_all() {
    let rule = RULE.replace("a.b", "not_a_host");
    assert_eq!(only(&ingress("shop", "", &rule)).verdict, Verdict::NotAtAll);
    let both = format!("{RULE}\n  tls: [{{hosts: [a.b]}}]");
    assert_ne!(only(&ingress("shop", "", &both)).verdict, Verdict::NotAtAll);
}

#[test]
fn an_ingress_of_an_old_version_is_judged_like_any_other() {
    let manifest = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: shop}\nspec: {rules: [{host: a.b, \
                    http: {paths: [{backend: {serviceName: web, servicePort: 80}}]}}]}\n";
    let findings = findings(manifest);
    assert_eq!(findings.ingresses[0].verdict, Verdict::Unchanged);
    assert!(
        findings.documents[0]
            .reason
            .contains("not served since Kubernetes 1.22")
    );
    assert!(
        findings.ingresses[0]
            .remarks
            .iter()
            .any(|remark| remark.text.starts_with("names no class"))
    );
}

/// True if a check fails: of a file that is named itself, and of its folder.
fn fails(text: &str) -> [bool; 2] {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.yaml");
    fs::write(&file, text).unwrap();
    [file.as_path(), folder.path()].map(|path| {
        let reading = read_once(path).unwrap();
        examine(reading, &Options::default(), Extent::Part).fail(FailOn::Error)
    })
}

/// No Ingress that was not checked is passed over.
#[test]
fn only_documents_that_are_no_objects_are_harmless_and_only_in_a_folder() {
    let shop = ingress("shop", "", RULE);
    let other = ingress(
        "shop",
        "nginx.ingress.kubernetes.io/ssl-redirect: 'no'",
        RULE,
    );
    for (text, expected) in [
        (shop.clone(), [false, false]),
        (format!("{shop}replicas: 2\n"), [true, false]),
        (format!("{shop}replicas: [\n"), [true, false]),
        (
            format!("{shop}kind: {{{{ .Values.kind }}}}\n"),
            [true, false],
        ),
        (format!("{shop}kind: [\n"), [true, true]),
        (format!("{shop}# {{{{ docs }}}}\nkind: [\n"), [true, true]),
        (
            shop.replace("name: shop", "name: Shop_A # {{ docs }}\n"),
            [true, true],
        ),
        (format!("{shop}{other}"), [true, true]),
        (format!("{shop}{shop}"), [false, false]),
    ] {
        assert_eq!(fails(&text), expected, "{text}");
    }
}

#[test]
fn an_object_that_is_not_checked_is_counted() {
    let other = ingress(
        "shop",
        "nginx.ingress.kubernetes.io/ssl-redirect: 'no'",
        RULE,
    );
    let findings = findings(&(ingress("shop", "", RULE) + &other));
    let summary = findings.summary();
    assert_eq!((summary.unreadable, summary.duplicates), (0, 1));
    let text = write(&findings, Output::Table);
    assert!(
        text.ends_with("; 1 not checked (same name as another)\n"),
        "{text}"
    );
    assert!(text.contains("error: "), "{text}");
}

#[test]
fn annotations_of_look_alikes_are_named() {
    let annotations = "nginx.org/rewrites: x, ingress.kubernetes.io/ssl-redirect: \"true\"";
    let finding = only(&ingress("shop", annotations, RULE));
    assert_eq!(finding.verdict, Verdict::Unchanged);
    let fields: Vec<&str> = finding
        .remarks
        .iter()
        .map(|remark| remark.field.as_str())
        .collect();
    assert!(
        fields.contains(&"annotation nginx.org/rewrites"),
        "{fields:?}"
    );
    let said = fields
        .iter()
        .filter(|field| **field == "annotation ingress.kubernetes.io/ssl-redirect")
        .count();
    assert_eq!(said, 1, "{fields:?}");
}

#[test]
fn a_hostile_text_stays_in_its_cell() {
    let rule = RULE.replace("path: /,", "path: \"/a|b <x>\",");
    let text = write(&findings(&ingress("shop", "", &rule)), Output::Markdown);
    let row = text
        .lines()
        .find(|line| line.contains("default/shop"))
        .unwrap();
    assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
    assert!(row.contains("&lt;x>"), "{row}");
}

#[test]
fn every_form_says_the_sum() {
    let findings =
        findings(&(ingress("shop", "", RULE) + &ingress("cart", "", &RULE.replace("a.b", "_"))));
    let sum = "2 Ingresses: 1 works unchanged, 1 does not work";
    assert!(write(&findings, Output::Table).ends_with(&format!("\n{sum}\n")));
    assert!(write(&findings, Output::Markdown).contains(sum));
    let json: serde_json::Value = serde_json::from_str(&write(&findings, Output::Json)).unwrap();
    assert_eq!(json["summary"]["not_at_all"], 1);
    assert_eq!(json["ingresses"][1]["ingress"], "default/shop");
}

fn config_map(data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings, namespace: sluice}}\ndata: {{{data}}}\n---\n"
    )
}

#[test]
fn settings_of_the_operator_count_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        class_is_implied: true,
        configmap: Some(sluice_translate::ObjectKey::new("sluice", "settings")),
        ..Options::default()
    };
    let examined = |data: &str| {
        let manifests = ingress("shop", "", RULE) + &config_map(data);
        fs::write(folder.path().join("in.yaml"), manifests).unwrap();
        examine(read_once(folder.path()).unwrap(), &options, Extent::Part)
    };
    let closed = examined("block-user-agents: '~*(?!x)y'");
    assert_eq!(closed.ingresses[0].verdict, Verdict::NotAtAll);
    assert!(closed.fail(FailOn::Error));
    for output in [Output::Table, Output::Json, Output::Markdown] {
        let text = write(&closed, output);
        assert!(text.contains("ConfigMap sluice/settings"), "{text}");
        assert!(text.contains("block-user-agents"), "{text}");
    }
    let open = examined("use-gzip: 'true'");
    assert_eq!(open.settings, []);
    assert!(!open.fail(FailOn::Error));
}

#[test]
fn a_config_map_of_a_controller_that_no_flag_names_is_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let notes = |data: &str| {
        let manifests = ingress("shop", "", RULE) + &config_map(data);
        fs::write(folder.path().join("in.yaml"), manifests).unwrap();
        let reading = read_once(folder.path()).unwrap();
        let findings = examine(reading, &Options::default(), Extent::Part);
        assert!(!findings.fail(FailOn::Warning));
        let settings = findings.settings.iter();
        let remarks = settings.flat_map(|finding| &finding.remarks);
        remarks
            .map(|remark| remark.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        notes("use-gzip: 'true', server-tokens: 'false'"),
        ["not read; its settings count with --configmap sluice/settings"]
    );
    for of_others in ["X-Header: a", "use-gzip: 'true', nginx.conf: ''", ""] {
        assert_eq!(notes(of_others), [""; 0], "{of_others}");
    }
}

#[test]
fn an_ingress_that_says_nothing_does_not_work() {
    let finding = only("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n");
    assert_eq!(finding.verdict, Verdict::NotAtAll);
    let said = |remark: &Remark| remark.text.contains("nothing to serve");
    assert!(finding.remarks.iter().any(said), "{finding:?}");
    let canary = ingress("b", "nginx.ingress.kubernetes.io/canary: 'true'", RULE);
    let findings = findings(&(ingress("a", "", RULE) + &canary));
    assert_ne!(findings.ingresses[1].verdict, Verdict::NotAtAll);
}

/// Two Ingresses of one host in the order of their age: annotations and a path of each.
fn pair(older: [&str; 2], newer: [&str; 2]) -> String {
    let [older, newer] = [("older", older), ("newer", newer)].map(|(name, [annotations, path])| {
        let rule = RULE.replace("path: /,", &format!("path: {path:?},"));
        let created = if name == "older" { "2020" } else { "2021" };
        let dated = format!("name: {name}, creationTimestamp: '{created}-01-01T00:00:00Z'");
        ingress(name, annotations, &rule).replace(&format!("name: {name}"), &dated)
    });
    older + &newer
}

/// Whoever closes paths of another Ingress, its owner is told by whom, and is not told that it works.
#[test]
fn a_path_that_another_ingress_closes_does_not_work_and_names_it() {
    const SNIPPET: &str = "nginx.ingress.kubernetes.io/server-snippet: 'auth_jwt on;'";
    const GUARD: &str = "nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8";
    const CANARY: &str = "nginx.ingress.kubernetes.io/canary: 'true', \
                          nginx.ingress.kubernetes.io/canary-weight: '5'";
    let guarded_pattern = format!("{GUARD}, nginx.ingress.kubernetes.io/use-regex: 'true'");
    let by_snippet = "Ingress default/CULPRIT (annotation server-snippet) cannot be enforced, which closes all paths of \
                      namespace default on host a.b";
    let below = "Ingress default/CULPRIT (spec.rules[0].http.paths[0].path) cannot be enforced, which closes everything \
                 below \"/a\"";
    for (older, newer, victim, reason) in [
        (["", "/a"], [SNIPPET, "/b"], "older", by_snippet),
        ([SNIPPET, "/a"], ["", "/b"], "newer", by_snippet),
        (["", "/a"], [GUARD, "/a/b c"], "older", below),
        ([GUARD, "/a/b c"], ["", "/a"], "newer", below),
        (["", "/a"], [GUARD, "/a/é"], "older", below),
        (
            ["", "/a"],
            [guarded_pattern.as_str(), "/a(?R)?"],
            "older",
            below,
        ),
        (
            [SNIPPET, "/a"],
            [CANARY, "/a"],
            "newer",
            "the path of Ingress default/CULPRIT answers 503",
        ),
    ] {
        let found = findings(&pair(older, newer)).ingresses;
        let found = found
            .iter()
            .find(|one| &*one.ingress.name == victim)
            .unwrap();
        let culprit = if victim == "older" { "newer" } else { "older" };
        let reason = reason.replace("CULPRIT", culprit);
        assert_eq!(found.verdict, Verdict::NotAtAll, "{found:#?}");
        let names_it = |remark: &Remark| remark.is_error() && remark.text.contains(&reason);
        assert!(found.remarks.iter().any(names_it), "{reason}: {found:#?}");
    }
}

/// Envoy speaks no FastCGI.
#[test]
fn a_path_that_nobody_can_answer_does_not_work() {
    let manifest = ingress(
        "php",
        "nginx.ingress.kubernetes.io/backend-protocol: FCGI",
        RULE,
    );
    let verdict = |data_plane| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("in.yaml"), &manifest).unwrap();
        let options = Options {
            class_is_implied: true,
            data_plane: Some(data_plane),
            ..Options::default()
        };
        let findings = examine(read_once(folder.path()).unwrap(), &options, Extent::Part);
        findings.ingresses[0].clone()
    };
    assert_eq!(verdict(DataPlane::Nginx).verdict, Verdict::Unchanged);
    let finding = verdict(DataPlane::Envoy);
    assert_eq!(finding.verdict, Verdict::NotAtAll);
    let text = "Envoy does not speak FastCGI to upstreams (--data-plane nginx does); affected paths answer 503";
    assert_eq!(finding.remarks[0].text, text);
}

#[test]
fn a_header_that_the_operator_has_not_listed_names_the_key() {
    let annotation = "nginx.ingress.kubernetes.io/custom-headers: default/headers";
    let headers = config_map("Cache-Control: no-store")
        .replace("name: settings, namespace: sluice", "name: headers");
    let found = findings(&(ingress("shop", annotation, RULE) + &headers));
    let finding = &found.ingresses[0];
    assert_eq!(finding.verdict, Verdict::NotAtAll);
    let text = "header \"Cache-Control\" must be listed in global-allowed-response-headers of the ConfigMap; affected paths \
                answer 503, as in ingress-nginx";
    assert_eq!(finding.remarks[0].text, text);
}
