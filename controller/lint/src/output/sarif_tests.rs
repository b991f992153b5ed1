//! A log against the specification, by its sections.

use serde_json::Value;

use super::sarif;
use crate::finding::Findings;
use crate::{Extent, Options, examine};
use sluice_source::{Event, Input, read_inputs};

const MANIFESTS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  annotations:
    nginx.ingress.kubernetes.io/proxy-read-timeout: soon
    nginx.org/rewrites: x
spec:
  rules:
  - host: not_a_host
  - host: a.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
kind: [
";

fn findings() -> Findings {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a b.yaml"), MANIFESTS).unwrap();
    let input = Input::Path(folder.path().join("a b.yaml"));
    let options = Options {
        watch_ingress_without_class: true,
        ..Options::default()
    };
    examine(read_inputs(&[input]).unwrap(), &options, Extent::Part)
}

fn log(findings: &Findings) -> Value {
    serde_json::from_str(&sarif(findings)).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().filter(|text| !text.is_empty()).unwrap()
}

#[test]
fn a_log_has_what_the_specification_requires() {
    let log = log(&findings());
    // 3.13.2, 3.13.3, 3.13.4
    assert_eq!(log["version"], "2.1.0");
    assert!(text(&log["$schema"]).ends_with("sarif-schema-2.1.0.json"));
    let [run] = log["runs"].as_array().unwrap().as_slice() else {
        panic!("one run")
    };
    // 3.14.6, 3.18.2, 3.19.2
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "sluice lint");
    // 3.19.23, 3.49.3: ids are there, and differ.
    let rules = driver["rules"].as_array().unwrap();
    let mut ids: Vec<&str> = rules.iter().map(|rule| text(&rule["id"])).collect();
    for rule in rules {
        // 3.12.3: a message with Markdown has plain text, too.
        text(&rule["shortDescription"]["text"]);
        let uri = text(&rule["helpUri"]);
        assert!(text(&rule["help"]["text"]).contains(uri));
        assert!(text(&rule["help"]["markdown"]).contains(uri));
    }
    let results = run["results"].as_array().unwrap();
    assert!(results.len() > 4, "{results:#?}");
    for result in results {
        // 3.27.11
        text(&result["message"]["text"]);
        // 3.27.5, 3.27.6
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(text(&result["ruleId"]), ids[index]);
        // 3.27.10
        assert!(["error", "warning", "note"].contains(&text(&result["level"])));
        for location in result["locations"].as_array().unwrap() {
            let place = &location["physicalLocation"];
            // 3.4.3, 3.30.5
            let uri = text(&place["artifactLocation"]["uri"]);
            assert!(uri.starts_with("file:///") && uri.ends_with("/a%20b.yaml"));
            assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
        }
    }
    let levels = ["error", "warning", "note"];
    let has = |level: &&str| results.iter().any(|result| result["level"] == *level);
    assert!(levels.iter().all(has), "{results:#?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rules.len());
}

#[test]
fn a_result_is_at_the_line_of_its_field() {
    let log = log(&findings());
    let results = log["runs"][0]["results"].as_array().unwrap();
    for (part, rule, line) in [
        ("annotation proxy-read-timeout", "InvalidValue", 6),
        ("annotation nginx.org/rewrites", "Hint", 7),
        ("spec.rules[0].host", "InvalidValue", 10),
        ("expected YAML", "Document", 14),
    ] {
        let is_it = |result: &&Value| text(&result["message"]["text"]).contains(part);
        let result = results.iter().find(is_it).unwrap();
        assert_eq!(result["ruleId"], rule);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], line, "{part}");
    }
}

#[test]
fn paths_are_uri_references() {
    assert_eq!(super::uri("shop/a b%.yaml"), "shop/a%20b%25.yaml");
    assert_eq!(super::uri("/etc/ü.yaml"), "file:///etc/%C3%BC.yaml");
    assert_eq!(super::uri("a:b.yaml"), "a%3Ab.yaml");
}

/// An object of a cluster has a name, and no file.
#[test]
fn results_of_a_cluster_have_no_files() {
    let events: Vec<Event> = read_inputs(&[Input::Path(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello/manifests"),
    )])
    .unwrap()
    .events;
    let findings = examine(events.into(), &Options::default(), Extent::Whole);
    let log = log(&findings);
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let place = &result["locations"][0];
        assert!(place.get("physicalLocation").is_none(), "{place}");
        text(&place["logicalLocations"][0]["fullyQualifiedName"]);
    }
}

/// 3.49.12: an absolute URI, where the site of the chart's home has the page; and the page has the rule.
#[test]
fn each_rule_leads_to_its_heading() {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |file: &str| std::fs::read_to_string(format!("{repository}/{file}")).unwrap();
    let chart = read("controller/deploy/helm/sluice/Chart.yaml");
    let home = chart.lines().find_map(|line| line.strip_prefix("home: "));
    let page = format!("{}/reports.html#", home.unwrap());
    let text = read("docs/reports.md");
    for (id, _) in super::rules() {
        let uri = super::help_uri(id);
        let anchor = uri.strip_prefix(&page).unwrap();
        let mut headings = text.lines().filter_map(|line| line.strip_prefix("### "));
        let is_its = |heading: &str| heading.replace('`', "").to_lowercase() == anchor;
        assert!(headings.any(is_its), "docs/reports.md has no {id}");
    }
}
