use std::collections::BTreeSet;

use serde_json::json;

use super::table::Rule;
use super::*;

/// Names of all values of ingress-nginx's chart 4.15, those in comments among them.
const KEYS: &str = include_str!("keys.txt");
const SCHEMA: &str = include_str!("../../deploy/helm/sluice/values.schema.json");

fn converted_from(theirs: &Value) -> String {
    converted(&theirs.to_string()).unwrap()
}

/// Values of an output but for the defaults that every output has.
pub(super) fn ours(output: &str) -> Value {
    let mut ours = Conversion::default();
    let Value::Object(all) = serde_saphyr::from_str(output).unwrap() else {
        panic!("{output}");
    };
    ours.ours = all;
    let mut own = Conversion::default();
    own.keep_their_defaults();
    for (place, _) in &own.defaults_set {
        if ours.get(place) == own.get(place) {
            ours.remove(place);
        }
    }
    Value::Object(ours.ours)
}

/// `{"a": {"b": value}}` for `a.b`.
fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.')
        .fold(value, |value, key| json!({ key: value }))
}

#[test]
fn every_value_of_ingress_nginx_is_mapped_or_said_to_have_no_counterpart() {
    for path in KEYS.lines() {
        let output = converted_from(&nested(path, json!("7")));
        assert!(!output.contains("has no such value"), "{path}: {output}");
        let above = path.match_indices('.').map(|(end, _)| &path[..end]);
        let mut named = above.chain([path]);
        let without = named.any(|named| output.contains(&format!("#   {named}: ")));
        let is_set = ours(&output) != json!({});
        let is_conditional = matches!(
            rule(path),
            Some(Rule::Choice(..) | Rule::On(_) | Rule::Flags | Rule::ImageName)
        );
        assert!(without || is_set || is_conditional, "{path}: {output}");
    }
}

#[test]
fn the_table_names_values_of_ingress_nginx_and_no_others() {
    let mut seen = BTreeSet::new();
    for (path, _) in table::rows() {
        let below = format!("{path}.");
        let exists = |key: &str| key == *path || key.starts_with(&below);
        assert!(KEYS.lines().any(exists), "{path}");
        assert!(seen.insert(path), "{path} twice");
    }
}

#[test]
fn counterparts_are_values_of_the_chart() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let places = |rule: &Rule| match rule {
        Rule::Copy(places) | Rule::Changed(places) | Rule::LookAt(places, _) => places.to_vec(),
        Rule::ImageName => vec!["defaultBackend.image.repository"],
        Rule::Number(place) | Rule::Text(place) | Rule::Switch(place) | Rule::Choice(place, _) => {
            vec![*place]
        }
        Rule::Namespace => vec!["controller.scope.enabled", "controller.scope.namespace"],
        Rule::Flags | Rule::None(_) | Rule::On(_) => vec![],
    };
    let rules = table::rows().map(|(_, rule)| rule).chain(flags::rules());
    for place in rules.flat_map(places) {
        let mut at = &schema;
        for key in place.split('.') {
            let Some(below) = at["properties"].get(key) else {
                // The user's own keys.
                assert!(
                    at["properties"].is_null() && at["type"] == "object",
                    "{place}"
                );
                break;
            };
            at = below;
        }
    }
}

#[test]
fn values_are_where_our_chart_has_them() {
    let output = converted_from(&json!({
        "controller": {
            "replicaCount": 3,
            "config": {"proxy-body-size": "8m", "use-gzip": true},
            "allowSnippetAnnotations": true,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "service": {"type": "NodePort", "nodePorts": {"http": "30080", "https": "", "tcp": {"9000": "30900"}}},
            "admissionWebhooks": {"certManager": {"enabled": true}, "patch": {"nodeSelector": {"a": "b"}, "image": {"tag": "v1"}}},
            "extraArgs": {"default-ssl-certificate": "a/b", "watch-namespace": "shop", "v": 2, "maxmind-license-key": "x", "nonsense": ""},
            "resources": {"limits": {"memory": "90Mi"}},
        },
        "tcp": {"9000": "default/redis:6379"},
    }));
    let selector = json!({"kubernetes.io/os": "linux"});
    let expected = json!({
        "certgen": {"nodeSelector": {"a": "b"}},
        "controller": {
            "admission": {"certificates": "cert-manager"},
            "config": {"allow-snippet-annotations": "true", "proxy-body-size": "8m", "use-gzip": true},
            "extraArgs": {"default-ssl-certificate": "a/b", "v": "2"},
            "nodeSelector": selector,
            "scope": {"enabled": true, "namespace": "shop"},
        },
        "dataPlane": {
            "nodeSelector": selector,
            "replicaCount": 3,
            "service": {"nodePorts": {"http": 30080, "tcp": {"9000": 30900}}, "type": "NodePort"},
        },
        "tcp": {"9000": "default/redis:6379"},
    });
    assert_eq!(ours(&output), expected, "{output}");
    for comment in [
        "#   controller.resources: it fits nginx",
        "#   controller.admissionWebhooks.patch.image: Jobs that make certificates",
        "#   controller.extraArgs.maxmind-license-key: not served yet",
        "#   controller.extraArgs.nonsense: `sluice run` has no such flag",
    ] {
        assert!(output.contains(comment), "{comment}: {output}");
    }
}

#[test]
fn unknown_values_are_named() {
    let output = converted_from(&json!({
        "controller": {"replicas": 3, "autoscaling": {"max": 1}, "service": 5, "image.tag": "x"},
        "ingress": {},
    }));
    assert_eq!(ours(&output), json!({}), "{output}");
    let (_, unknown) = output
        .split_once("# Not understood, and left out:\n")
        .unwrap();
    let named: Vec<&str> = unknown
        .lines()
        .filter_map(|line| line.strip_prefix("#   ")?.split(':').next())
        .collect();
    let expected = [
        "controller.autoscaling.max",
        "controller.image.tag",
        "controller.replicas",
        "controller.service",
        "ingress",
    ];
    assert_eq!(named, expected);
}

#[test]
fn what_is_to_be_looked_at_is_said() {
    let output = converted_from(&json!({
        "controller": {"affinity": {"podAntiAffinity": {}}, "config": {"a": "{{ .Release.Name }}"}},
    }));
    for comment in [
        "#   dataPlane.affinity: its label selectors",
        "#   controller.config: controller.config has a template",
    ] {
        assert!(output.contains(comment), "{comment}: {output}");
    }
}

#[test]
fn any_text_is_written_as_yaml_that_reads_back_and_comments_stay_comments() {
    for text in [
        "yes",
        "NO",
        "1",
        "0x1f",
        "1e3",
        "~",
        "null",
        "a: b",
        "- a",
        "#a",
        "a #b",
        "é",
        "a\nb",
        "\"",
        "'",
        "",
        " a",
        "a ",
        "2001-01-01",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "{a}",
        "[a]",
        "a:",
        "\u{7}",
        "\u{2028}",
        "1:30",
        "=",
        "<<",
    ] {
        let config =
            json!({"x": text, text: [text, {text: text, "l": [[text], {}]}], "n": 1.5, "b": false});
        let output = converted_from(&json!({"controller": {"updateStrategy": config}}));
        assert_eq!(
            ours(&output)["dataPlane"]["updateStrategy"],
            config,
            "{output}"
        );
        let output = converted_from(&json!({ text: {"a\nb": 1} }));
        assert_eq!(ours(&output), json!({}), "{output}");
    }
}

#[test]
fn texts_that_are_no_map_of_values_are_errors() {
    assert_eq!(ours(&converted("").unwrap()), json!({}));
    assert!(converted("[a]").is_err() && converted("a: [").is_err());
}

#[test]
fn values_that_the_chart_refuses_are_left_out_and_said() {
    for (theirs, said) in [
        (
            json!({"controller": {"kind": "Both"}}),
            "controller.kind: expected one of",
        ),
        (
            json!({"controller": {"replicaCount": "two"}}),
            "controller.replicaCount: expected a number",
        ),
        (
            json!({"controller": {"tolerations": {"a": 1}}}),
            "controller.tolerations: expected array",
        ),
        (
            json!({"commonLabels": ["a"]}),
            "commonLabels: expected object",
        ),
    ] {
        let output = converted_from(&theirs);
        assert!(output.contains(said), "{output}");
        assert_eq!(ours(&output), json!({}), "{output}");
    }
}

#[test]
fn ports_of_services_are_not_those_of_the_data_plane() {
    let output = converted_from(&json!({"tcp": {"8080": "a/b:1", "9000": "a/b:2"}}));
    let expected = json!({"tcp": {"8080": "a/b:1", "9000": "a/b:2"}, "dataPlane": {"containerPort": {"http": 18080}}});
    assert_eq!(ours(&output), expected);
    assert!(
        output.contains("dataPlane.containerPort.http: 8080 is a port of tcp"),
        "{output}"
    );
}

#[test]
fn values_of_a_dependency_are_those_of_the_chart_itself() {
    let theirs = json!({"controller": {"replicaCount": 2}});
    let dependency = json!({"ingress-nginx": theirs, "other": {"a": 1}});
    assert_eq!(converted_from(&dependency), converted_from(&theirs));
}

/// A key of ingress-nginx that is none of ours: Helm's error is the constant that it is to have.
#[test]
fn the_schema_names_the_counterpart_of_each_key_of_ingress_nginx() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut old = std::collections::BTreeMap::<String, Vec<&Rule>>::new();
    for (path, rule) in table::rows() {
        let mut keys = path.split('.');
        let first = keys.next().unwrap();
        let key = match (first, keys.next()) {
            ("controller", Some(second)) => format!("controller.{second}"),
            _ => first.to_owned(),
        };
        old.entry(key).or_default().push(rule);
    }
    let mut missing = Vec::new();
    for (key, rules) in old {
        let mut at = &schema;
        for part in key.split('.') {
            at = &at["properties"][part];
        }
        if at["deprecated"].is_null() && !at.is_null() {
            continue;
        }
        let text = here(&rules);
        let expected = json!({"deprecated": true, "description": format!("Of ingress-nginx's chart; {text}."), "const": text});
        if *at != expected {
            missing.push(format!("{key}\t{expected}"));
        }
    }
    assert!(
        missing.is_empty(),
        "values.schema.json lacks\n{}",
        missing.join("\n")
    );
}

/// Says where a key of theirs is here.
fn here(rules: &[&Rule]) -> String {
    let places: BTreeSet<&str> = rules
        .iter()
        .flat_map(|rule| match rule {
            Rule::Copy(places) | Rule::Changed(places) | Rule::LookAt(places, _) => places.to_vec(),
            Rule::Number(place)
            | Rule::Text(place)
            | Rule::Switch(place)
            | Rule::Choice(place, _) => {
                vec![*place]
            }
            Rule::Namespace | Rule::Flags | Rule::ImageName | Rule::None(_) | Rule::On(_) => vec![],
        })
        .collect();
    let converts = "`sluice values` converts a whole file";
    let places: Vec<&str> = places.into_iter().collect();
    match (places.as_slice(), rules) {
        ([], [Rule::None(reason), ..]) => format!("no counterpart: {reason}"),
        (places, _) if places.len() <= 2 => {
            format!("here it is {}; {converts}", places.join(" and "))
        }
        (places, _) => {
            let mut roots: Vec<&str> = places.iter().map(|place| root(place)).collect();
            roots.dedup();
            format!("here it is below {}; {converts}", roots.join(" and "))
        }
    }
}

/// `dataPlane.service` of `dataPlane.service.ports.http`.
fn root(place: &str) -> &str {
    let end = place.match_indices('.').nth(1).map(|(end, _)| end);
    &place[..end.unwrap_or(place.len())]
}
