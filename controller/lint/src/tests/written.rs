//! Names, places and forms of remarks, and the exit code.

use super::*;

/// Remarks of one Ingress, as `FIELD: TEXT`.
fn said(annotations: &str, prefix: &str) -> Vec<String> {
    let manifests = ingress("shop", annotations, RULE) + &config_map(SNIPPETS);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.yaml"), manifests).unwrap();
    let options = Options {
        class_is_implied: true,
        annotations_prefix: prefix.to_owned(),
        configmap: Some(sluice_translate::ObjectKey::new("sluice", "settings")),
        ..Options::default()
    };
    let findings = examine(read_once(folder.path()).unwrap(), &options, Extent::Part);
    let remarks = findings.ingresses[0].remarks.iter();
    remarks
        .map(|remark| format!("{}: {}", remark.field, remark.text))
        .collect()
}

const SNIPPETS: &str = "allow-snippet-annotations: 'true', annotations-risk-level: Critical";

#[test]
fn an_annotation_is_named_as_it_was_written() {
    for prefix in ["nginx.ingress.kubernetes.io", "ours.example"] {
        for name in ["whitelist-source-range", "limit-whitelist"] {
            let canonical = name.replace("whitelist", "allowlist");
            for value in ["everybody", "10.0.0.0/8,x", ""] {
                let said = said(&format!("{prefix}/{name}: '{value}'"), prefix);
                let start = format!("annotation {name}: ");
                assert!(said.iter().any(|text| text.starts_with(&start)), "{said:?}");
                assert!(
                    !said.iter().any(|text| text.contains(&canonical)),
                    "{said:?}"
                );
            }
        }
        let beside = format!(
            "{prefix}/whitelist-source-range: 10.0.0.0/8, {prefix}/configuration-snippet: 'deny 10.1.0.0/16; deny all;'"
        );
        let said = said(&beside, prefix);
        let text = "cannot be combined with whitelist-source-range and";
        assert!(said.iter().any(|one| one.contains(text)), "{said:?}");
    }
    let foreign = said(
        "nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8",
        "ours.example",
    );
    let text = "annotation nginx.ingress.kubernetes.io/whitelist-source-range: \
                expected ours.example/whitelist-source-range, ";
    assert!(
        foreign.iter().any(|one| one.starts_with(text)),
        "{foreign:?}"
    );
}

#[test]
fn remarks_have_the_line_of_their_field() {
    let manifest = "\
# Shops.
apiVersion: v1
kind: List
items:
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    name: shop
    annotations:
      ours.example/proxy-read-timeout: soon
      nginx.org/rewrites: x
      ours.example/whitelist-source-range: 10.0.0.0/8
  spec:
    rules:
    - host: not_a_host
    - host: a.example
      http:
        paths:
        - path: /
          pathType: Prefix
          backend:
            service: {name: web, port: {number: 80}}
";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.yaml"), manifest).unwrap();
    let options = Options {
        annotations_prefix: "ours.example".to_owned(),
        watch_ingress_without_class: true,
        ..Options::default()
    };
    let findings = examine(read_once(folder.path()).unwrap(), &options, Extent::Part);
    let finding = &findings.ingresses[0];
    let line = |location: &Option<sluice_source::Location>| {
        let location = location.as_ref().unwrap();
        assert!(location.file.ends_with("/in.yaml"), "{}", location.file);
        location.line
    };
    assert_eq!(line(&finding.location), 5);
    for (field, expected) in [
        ("annotation proxy-read-timeout", 10),
        ("annotation nginx.org/rewrites", 11),
        ("spec.rules[0].host", 15),
        ("spec.rules[1].http.paths[0].backend.service.name", 22),
        ("spec.ingressClassName", 13),
    ] {
        let remark = finding.remarks.iter().find(|remark| remark.field == field);
        let remark = remark.unwrap_or_else(|| panic!("{field}: {finding:#?}"));
        assert_eq!(line(&remark.location), expected, "{field}");
    }
}

#[test]
fn a_check_fails_on_what_is_as_bad_as_it_shall_be() {
    let guard = "nginx.ingress.kubernetes.io/auth-tls-verify-client: 'on'";
    let half = ingress(
        "half",
        "",
        "  rules: [{host: not_a_host}, {host: a.b, http: {paths: \
                [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]",
    );
    let number = ingress(
        "a",
        "nginx.ingress.kubernetes.io/proxy-read-timeout: soon",
        RULE,
    );
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n\
                   spec: {ports: [{port: 80}]}\n---\n";
    let clean = ingress("a", "", RULE) + service;
    let foreign = format!("{clean}replicas: 2\n");
    for (manifests, fails) in [
        (clean, [false, false, false]),
        (foreign, [false, false, true]),
        (ingress("a", "", RULE), [false, false, true]),
        (number, [false, true, true]),
        (half, [true; 3]),
        (
            ingress("a", "nginx.ingress.kubernetes.io/enable-cors: 'yes'", RULE),
            [true; 3],
        ),
        (ingress("a", "", &RULE.replace("a.b", "_")), [true; 3]),
        (ingress("a", guard, RULE), [true; 3]),
    ] {
        let findings = findings(&manifests);
        let found = [FailOn::Error, FailOn::Warning, FailOn::Note].map(|on| findings.fail(on));
        assert_eq!(found, fails, "{manifests}{findings:#?}");
        assert!(!findings.fail(FailOn::Never));
    }
}

#[test]
fn paths_that_a_missing_object_closes_are_expected_to_be_open_in_the_cluster() {
    let annotation = "nginx.ingress.kubernetes.io/custom-headers: default/headers";
    let missing = findings(&ingress("shop", annotation, RULE));
    assert_eq!(missing.summary().closed, 0, "{missing:#?}");
    assert!(!missing.fail(FailOn::Error));
    let guard = "nginx.ingress.kubernetes.io/auth-tls-verify-client: 'on'";
    let both = findings(&ingress("shop", &format!("{annotation}, {guard}"), RULE));
    assert_eq!(both.summary().closed, 1, "{both:#?}");
}

/// Some paths are closed, and others served.
#[test]
fn closed_paths_are_counted_and_fail() {
    let path = |path: &str| {
        format!(
            "{{path: {path}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}"
        )
    };
    let spec = format!(
        "  rules: [{{host: a.b, http: {{paths: [{}, {}]}}}}]",
        path("/a"),
        path("/b")
    );
    let one = spec.replace(&format!(", {}", path("/b")), "");
    let guard = "nginx.ingress.kubernetes.io/auth-tls-verify-client: 'on'";
    let snippet = "nginx.ingress.kubernetes.io/server-snippet: 'auth_jwt on;'";
    let guarded = findings(&ingress("shop", guard, &one));
    assert_eq!(guarded.summary().closed, 1, "{guarded:#?}");
    let both = findings(&(ingress("shop", snippet, &one) + &ingress("other", "", &spec)));
    assert_eq!(both.summary().closed, 2, "{both:#?}");
    assert!(both.fail(FailOn::Error));
    for output in [Output::Table, Output::Markdown, Output::Github] {
        let text = write(&both, output);
        assert!(text.contains("; 2 with closed paths (503)"), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&write(&both, Output::Json)).unwrap();
    assert_eq!(json["summary"]["closed"], 2);
    assert_eq!(json["ingresses"][0]["closed"], true);
}

#[test]
fn colours_are_around_severities_verdicts_and_places_and_nowhere_else() {
    let annotation = "nginx.ingress.kubernetes.io/proxy-read-timeout: soon";
    let findings = findings(&ingress("shop", annotation, RULE));
    let coloured = crate::write(&findings, Output::Table, true);
    assert!(
        coloured.contains("\u{1b}[33mworks with differences\u{1b}[0m"),
        "{coloured:?}"
    );
    assert!(
        coloured.contains("\u{1b}[33mwarning \u{1b}[0m"),
        "{coloured:?}"
    );
    let plain = write(&findings, Output::Table);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let mut rest = String::new();
    for (position, part) in coloured.split('\u{1b}').enumerate() {
        rest += match position {
            0 => part,
            _ => part.split_once('m').map_or(part, |(_, text)| text),
        };
    }
    assert_eq!(rest, plain);
}

#[test]
fn the_name_of_a_file_moves_no_cursor_and_begins_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\n::error::b\u{1b}[2J,line=9|<x>.yaml";
    fs::write(
        folder.path().join(name),
        ingress("shop", "", RULE) + "kind: [\n",
    )
    .unwrap();
    let findings = examine(
        read_once(folder.path()).unwrap(),
        &Options::default(),
        Extent::Part,
    );
    let table = write(&findings, Output::Table);
    assert!(
        !table.contains('\u{1b}') && !table.contains("\n::error"),
        "{table:?}"
    );
    let github = write(&findings, Output::Github);
    assert!(
        !github.contains("\n::error::b") && github.contains("%2Cline=9"),
        "{github:?}"
    );
    let sarif = write(&findings, Output::Sarif);
    assert!(
        sarif.contains("a%0A%3A%3Aerror%3A%3Ab%1B%5B2J%2Cline%3D9%7C%3Cx%3E.yaml"),
        "{sarif}"
    );
}
