//! Values that nobody means.

use serde_json::json;

use super::tests::ours;
use super::*;

/// The output for values, which YAML does not have with control characters in them.
fn output_of(theirs: &Value) -> String {
    let mut text = String::new();
    yaml::write(theirs.as_object().unwrap(), 0, &mut text);
    converted(&text).unwrap()
}

fn is_raw(letter: char) -> bool {
    letter != '\n' && sluice_syntax::is_unprintable(letter)
}

#[test]
fn what_is_not_printable_is_escaped_wherever_it_stands() {
    let hostile = "a\u{1b}[2J\u{7}\u{9b}\u{202e}\u{7f}\u{85}b";
    for theirs in [
        json!({hostile: 1}),
        json!({"controller": {hostile: hostile}}),
        json!({"controller": {"kind": hostile, "replicaCount": hostile, "image": {hostile: 1}}}),
        json!({"controller": {"extraArgs": {hostile: hostile}, "config": {hostile: format!("{hostile}{{{{")}}}),
        json!({"tcp": {hostile: hostile}}),
    ] {
        let output = output_of(&theirs);
        assert!(!output.contains(is_raw), "{output:?}");
        ours(&output);
    }
    let config = json!({hostile: hostile});
    let output = output_of(&json!({"controller": {"config": config}}));
    assert_eq!(ours(&output)["controller"]["config"], config);
    for text in [
        "a: \u{1b}[2J",
        "\u{202e}: [",
        "\"\\e\\x9b\"",
        "a: {\"\\e\": 1__0}",
        "- \"\\x9b\"",
    ] {
        let error = converted(text).unwrap_err().to_string();
        assert!(!error.contains(is_raw), "{error:?}");
    }
}

#[test]
fn a_port_is_a_number_from_1_to_65535() {
    for (theirs, said) in [
        (
            "tcp: {99999: a/b:1}",
            "tcp: 99999: expected a port from 1 to 65535, got \"99999\"",
        ),
        ("tcp: {0: a/b:1}", "tcp: 0: expected a port"),
        ("udp: {'053': a/b:1}", "udp: 053: expected a port"),
        ("tcp: {http: a/b:1}", "tcp: http: expected a port"),
        (
            "tcp: {9000: a/b:99999}",
            "tcp: 9000: expected a port from 1 to 65535, got \"99999\"",
        ),
        (
            "controller: {service: {ports: {http: 99999}}}",
            "service.ports.http: expected a number from 1 to 65535, got 99999",
        ),
        (
            "controller: {service: {ports: {https: 0}}}",
            "controller.service.ports.https: ",
        ),
        (
            "controller: {service: {nodePorts: {http: '99999'}}}",
            "controller.service.nodePorts.http: ",
        ),
        (
            "controller: {service: {nodePorts: {tcp: {9000: 99999}}}}",
            "service.nodePorts.tcp: 9000: ",
        ),
        (
            "controller: {service: {internal: {nodePorts: {udp: {99999: 30000}}}}}",
            "internal.nodePorts.udp: 99999: ",
        ),
        (
            "controller: {hostPort: {ports: {http: 65536}}}",
            "controller.hostPort.ports.http: ",
        ),
        (
            "controller: {extraArgs: {http-port: '99999'}}",
            "controller.extraArgs.http-port: ",
        ),
        ("defaultBackend: {port: 99999}", "defaultBackend.port: "),
        (
            "defaultBackend: {service: {servicePort: 99999}}",
            "defaultBackend.service.servicePort: ",
        ),
    ] {
        let output = converted(theirs).unwrap();
        assert!(output.contains(said), "{said}: {output}");
        assert_eq!(ours(&output), json!({}), "{output}");
    }
    let good = json!({"tcp": {"1": "a/b:http", "65535": "a/b:65535:PROXY"}});
    assert_eq!(ours(&output_of(&good)), good);
}

#[test]
fn each_flag_takes_as_long_as_one() {
    let flags: Map<String, Value> = (0..60_000)
        .map(|number| (format!("flag-{number}"), json!("a")))
        .collect();
    let started = std::time::Instant::now();
    let output = output_of(&json!({"controller": {"extraArgs": flags}}));
    assert_eq!(output.matches("has no such flag").count(), 60_000);
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn values_beyond_the_limit_are_too_large_whatever_they_are() {
    let limit = usize::try_from(LARGEST).unwrap();
    let error = |bytes: Vec<u8>, size| text_within_limit(bytes, size).unwrap_err().to_string();
    // An unfinished letter, and no YAML.
    let cut = read([b"[".repeat(limit), vec![0xc3; 9]].concat().as_slice()).unwrap();
    assert_eq!(cut.len(), limit + 1);
    let said = "expected at most 4194304 bytes (4 MiB) of values, got ";
    assert_eq!(
        error(cut.clone(), Some(5_000_000)),
        format!("{said}5000000")
    );
    assert_eq!(error(cut, None), format!("{said}4194305 or more"));
    assert!(text_within_limit(vec![b'a'; limit], None).is_ok());
    assert!(error(vec![0xff], Some(1)).contains("not UTF-8"));
}
