//! Rules for whoever runs both controllers beside each other and then leaves one.

use serde_json::json;

use super::tests::ours;
use super::*;

const TAKEN: &str = "taken by ingress-nginx while both run; leave it out until the switch";

pub(super) fn at(values: &Value, path: &str) -> Value {
    let found = path
        .split('.')
        .try_fold(values, |above, key| above.get(key));
    found.cloned().unwrap_or_default()
}

/// Lines below a title.
pub(super) fn notes<'a>(output: &'a str, title: &str) -> Vec<&'a str> {
    let (_, notes) = output
        .split_once(&format!("# {title}:\n"))
        .unwrap_or_default();
    let lines = notes.lines().map_while(|line| line.strip_prefix("#   "));
    lines.collect()
}

#[test]
fn what_only_one_controller_can_have_is_kept_and_said_to_be_taken() {
    let service = "
      loadBalancerIP: 192.0.2.1
      clusterIP: 10.0.0.9
      externalIPs: [192.0.2.2]
      nodePorts: {http: 30080, https: '30443', tcp: {9000: 30900}, udp: {53: 30053}}
      annotations: {external-dns.alpha.kubernetes.io/hostname: a.example, metallb.universe.tf/loadBalancerIPs: 192.0.2.1, a: b}";
    let text = format!(
        "controller:\n  hostPort: {{enabled: true}}\n  service:{service}\n    internal:\n      enabled: true\n"
    );
    for (text, place) in [
        (text.replace("      ", "    "), "dataPlane.service"),
        (
            format!(
                "controller:\n  hostPort: {{enabled: true}}\n  service:\n    internal:\n      enabled: true{service}\n"
            ),
            "dataPlane.service.internal",
        ),
    ] {
        let output = converted(&text.replace("    internal:\n    enabled: true\n", "")).unwrap();
        let notes = notes(&output, "To be looked at");
        let fields = [
            "loadBalancerIP",
            "clusterIP",
            "externalIPs",
            "nodePorts.http",
            "nodePorts.https",
            "nodePorts.tcp",
            "nodePorts.udp",
            "annotations.external-dns.alpha.kubernetes.io/hostname",
            "annotations.metallb.universe.tf/loadBalancerIPs",
        ];
        for field in fields {
            let note = format!("{place}.{field}: {TAKEN}");
            assert!(notes.contains(&note.as_str()), "{note}: {output}");
        }
        let host_port = format!("dataPlane.hostPort: {TAKEN}");
        assert!(notes.contains(&host_port.as_str()), "{output}");
        assert_eq!(notes.len(), fields.len() + 1, "{output}");
        let ours = ours(&output);
        assert_eq!(at(&ours, &format!("{place}.nodePorts.http")), 30080);
        assert_eq!(at(&ours, &format!("{place}.loadBalancerIP")), "192.0.2.1");
    }
}

#[test]
fn what_any_service_may_have_is_not_said_to_be_taken() {
    let theirs = "controller: {service: {clusterIP: None, type: NodePort, nodePorts: {http: ''}, healthCheckNodePort: 0, annotations: {a: b}}}";
    let output = converted(theirs).unwrap();
    assert_eq!(notes(&output, "To be looked at"), [""; 0], "{output}");
}

#[test]
fn a_flag_without_a_value_stays_one_and_null_is_no_flag() {
    let output = converted(
        "controller: {extraArgs: {enable-ssl-passthrough: '', default-ssl-certificate: null, enable-metrics: '', watch-ingress-without-class: 'T', v: 2}}",
    )
    .unwrap();
    let expected = json!({
        "controller": {"extraArgs": {"enable-ssl-passthrough": "", "v": "2"}, "watchIngressWithoutClass": true},
        "metrics": {"enabled": true},
    });
    assert_eq!(ours(&output), expected, "{output}");
}

#[test]
fn a_list_or_a_map_is_no_flag_and_no_setting() {
    let output = converted(
        "controller: {extraArgs: {default-ssl-certificate: [a], publish-service: {a: b}, enable-metrics: [a]}, config: {a: [b], c: {d: e}, f: null, g: 1.5, h: 8m}}",
    )
    .unwrap();
    let expected = json!({"controller": {"config": {"g": "1.5", "h": "8m"}}});
    assert_eq!(ours(&output), expected, "{output}");
    let unknown = notes(&output, "Not understood, and left out");
    for place in [
        "controller.extraArgs.default-ssl-certificate: expected a text",
        "controller.extraArgs.publish-service: expected a text",
        "controller.extraArgs.enable-metrics: expected a text",
        "controller.config.a: expected string",
        "controller.config.c: expected string",
    ] {
        assert!(
            unknown.iter().any(|note| note.starts_with(place)),
            "{place}: {output}"
        );
    }
    let output = converted("controller: {extraArgs: text}").unwrap();
    assert!(
        output.contains("controller.extraArgs: expected a map of flags"),
        "{output}"
    );
}

#[test]
fn ports_of_a_host_network_are_those_of_the_same_output() {
    for (theirs, ports) in [
        ("", "8080 and 8443"),
        ("tcp: {8080: a/b:1}", "18080 and 8443"),
        ("tcp: {8080: a/b:1, 18080: a/b:1}", "28080 and 8443"),
    ] {
        let output = converted(&format!("controller: {{hostNetwork: true}}\n{theirs}")).unwrap();
        assert!(
            output.contains(&format!("of the node, {ports}, and")),
            "{output}"
        );
    }
    let flags = "extraArgs: {http-port: 8081, https-port: '9443'}, hostNetwork: true";
    let theirs = format!(
        "controller: {{{flags}, hostPort: {{enabled: true}}, sysctls: {{a: b}}}}\ntcp: {{8080: a/b:1}}"
    );
    let output = converted(&theirs).unwrap();
    assert!(
        output.contains("of the node, 8081 and 9443, and"),
        "{output}"
    );
    // The API server refuses a hostPort that is none of the container's.
    let expected = json!({"containerPort": {"http": 8081, "https": 9443}, "hostNetwork": true});
    assert_eq!(ours(&output)["dataPlane"], expected, "{output}");
    for note in [
        "dataPlane.hostPort: left out: with dataPlane.hostNetwork the pod's ports are the node's",
        "dataPlane.sysctls: left out",
    ] {
        assert!(output.contains(note), "{output}");
    }
}

#[test]
fn what_ends_a_pod_is_the_data_planes() {
    let output = converted(
        "controller: {extraArgs: {shutdown-grace-period: '30', post-shutdown-grace-period: 5}, config: {worker-shutdown-timeout: 5m}}",
    )
    .unwrap();
    let expected = json!({"dataPlane": {"shutdownGracePeriod": 30, "drainTimeout": 300, "terminationGracePeriodSeconds": 375}});
    assert_eq!(ours(&output), expected, "{output}");
    assert!(!output.contains("worker-shutdown-timeout"), "{output}");
}

/// The chart refuses pods that are killed before they have drained.
#[test]
fn a_pod_is_not_killed_before_it_has_drained() {
    for (theirs, expected) in [
        (
            "terminationGracePeriodSeconds: 256",
            json!({"terminationGracePeriodSeconds": 256}),
        ),
        (
            "terminationGracePeriodSeconds: 60",
            json!({"terminationGracePeriodSeconds": 60, "shutdownGracePeriod": 15, "drainTimeout": 44}),
        ),
        (
            "terminationGracePeriodSeconds: 10, extraArgs: {shutdown-grace-period: 20}",
            json!({"terminationGracePeriodSeconds": 10, "shutdownGracePeriod": 5, "drainTimeout": 4}),
        ),
        (
            "terminationGracePeriodSeconds: 300, extraArgs: {shutdown-grace-period: 60}",
            json!({"terminationGracePeriodSeconds": 345, "shutdownGracePeriod": 60}),
        ),
    ] {
        let output = converted(&format!("controller: {{{theirs}}}")).unwrap();
        assert_eq!(ours(&output)["dataPlane"], expected, "{output}");
        let is_said =
            expected["drainTimeout"].is_null() && expected["shutdownGracePeriod"].is_null();
        assert_eq!(output.contains("To be looked at"), !is_said, "{output}");
    }
}

#[test]
fn a_service_has_no_fields_of_another_type() {
    let fields =
        "loadBalancerIP: 192.0.2.1, allocateLoadBalancerNodePorts: false, nodePorts: {http: 30080}";
    for (kind, left) in [
        (
            "LoadBalancer",
            json!({"type": "LoadBalancer", "loadBalancerIP": "192.0.2.1", "allocateLoadBalancerNodePorts": false, "nodePorts": {"http": 30080}}),
        ),
        (
            "NodePort",
            json!({"type": "NodePort", "nodePorts": {"http": 30080}}),
        ),
        ("ClusterIP", json!({"type": "ClusterIP"})),
    ] {
        let output = converted(&format!(
            "controller: {{service: {{type: {kind}, {fields}}}}}"
        ))
        .unwrap();
        assert_eq!(ours(&output)["dataPlane"]["service"], left, "{output}");
        let is_said = output.contains("left out: a Service of type");
        assert_eq!(is_said, kind != "LoadBalancer", "{output}");
    }
}

#[test]
fn no_flag_of_the_output_is_one_that_the_chart_sets_itself() {
    let helpers = include_str!("../../deploy/helm/sluice/templates/_helpers.tpl");
    let (_, own) = helpers.split_once("$own := dict").unwrap();
    let (own, _) = own.split_once("}}").unwrap();
    let own: Vec<&str> = own.split('"').skip(1).step_by(4).collect();
    assert!(own.len() > 20 && own.contains(&"http-port"), "{own:?}");
    for flag in own {
        let output =
            converted(&json!({"controller": {"extraArgs": {flag: "1"}}}).to_string()).unwrap();
        let flags = at(&ours(&output), "controller.extraArgs");
        assert!(flags.is_null(), "{flag}: {output}");
    }
}

#[test]
fn the_default_backends_image_is_the_one_that_their_chart_would_run() {
    for (theirs, expected) in [
        ("image: {tag: '2'}", json!({"tag": "2"})),
        (
            "image: {registry: r.example, image: errors, tag: 3, digest: 'sha256:ab'}",
            json!({"repository": "r.example/errors", "tag": "3", "digest": "sha256:ab"}),
        ),
        (
            "image: {image: errors, tag: v1}",
            json!({"repository": "registry.k8s.io/errors", "tag": "v1"}),
        ),
        (
            "image: {registry: r.example}",
            json!({"repository": "r.example/defaultbackend-amd64"}),
        ),
        (
            "image: {registry: r.example, image: errors, repository: q.example/e}",
            json!({"repository": "q.example/e"}),
        ),
    ] {
        let output = converted(&format!("defaultBackend: {{{theirs}}}")).unwrap();
        let expected = json!({"defaultBackend": {"image": expected}});
        assert_eq!(ours(&output), expected, "{output}");
        assert!(!output.contains("Without counterpart"), "{output}");
    }
    let output =
        converted("global: {image: {registry: r.example}}\ndefaultBackend: {enabled: true}")
            .unwrap();
    let repository = at(&ours(&output), "defaultBackend.image.repository");
    assert_eq!(repository, "r.example/defaultbackend-amd64", "{output}");
    // Our chart has another default image than that of any tag.
    let output = converted("defaultBackend: {image: {tag: latest}}").unwrap();
    assert!(
        output.contains("defaultBackend.image.tag: expected another value"),
        "{output}"
    );
}

#[test]
fn what_is_not_scaled_has_no_scaling() {
    for (theirs, place) in [
        (
            "kind: DaemonSet, autoscaling: {enabled: true}",
            "dataPlane.autoscaling.enabled",
        ),
        (
            "kind: DaemonSet, keda: {enabled: true}",
            "dataPlane.keda.enabled",
        ),
        (
            "autoscaling: {enabled: true}, keda: {enabled: true}",
            "dataPlane.keda.enabled",
        ),
    ] {
        let output = converted(&format!("controller: {{{theirs}}}")).unwrap();
        assert!(at(&ours(&output), place).is_null(), "{output}");
        assert!(
            output.contains(&format!("#   {place}: left out: ")),
            "{output}"
        );
    }
}

#[test]
fn errors_of_the_parser_are_for_whoever_wrote_the_file() {
    for (text, expected) in [
        (
            "controller:\n  kind: a\n  kind: b\n",
            "line 3: kind: expected one value, got two of the same key",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "line 3: expected one document, got a second one",
        ),
    ] {
        assert_eq!(converted(text).unwrap_err().to_string(), expected);
    }
    for text in [
        "a: [",
        "a: *x",
        "a: !x 1",
        "<<: 1",
        "? [a]\n: b",
        "a:\n\tb: 1",
    ] {
        let error = converted(text).unwrap_err().to_string();
        assert!(
            error.starts_with("not YAML: ") && error.contains("line"),
            "{error}"
        );
        assert!(
            !error.contains("Options") && !error.contains("from_"),
            "{error}"
        );
    }
}
