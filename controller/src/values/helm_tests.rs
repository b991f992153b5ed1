//! Values as Helm reads them.

use serde_json::json;

use super::*;

/// As Helm 4.2 prints them with `toJson`.
#[test]
fn a_scalar_means_what_helm_takes_it_for() {
    for (text, expected) in [
        ("0400", json!(256)),
        ("010", json!(8)),
        ("-010", json!(-8)),
        ("08", json!(8)),
        ("07.5", json!(7.5)),
        ("00", json!(0)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("+0X1f", json!(31)),
        ("-0b11", json!(-3)),
        ("1_000", json!(1000)),
        ("+1", json!(1)),
        ("1.", json!(1)),
        ("1.0", json!(1)),
        (".5", json!(0.5)),
        ("-.5e1", json!(-5)),
        ("1e3", json!(1000)),
        (
            "12345678901234567890",
            json!(12_345_678_901_234_567_890_u64),
        ),
        (
            "0777777777777777777777777",
            json!(777_777_777_777_777_777_777_777_f64),
        ),
        ("!!float 010", json!(8)),
        ("y", json!(true)),
        ("Off", json!(false)),
        ("yEs", json!("yEs")),
        ("nULL", json!("nULL")),
        ("0x", json!("0x")),
        ("1e", json!("1e")),
        ("0x1p4", json!("0x1p4")),
        ("Infinity", json!("Infinity")),
        ("1:30", json!("1:30")),
        ("2001-01-01", json!("2001-01-01")),
        ("_1", json!("_1")),
    ] {
        let read = helm::read(&format!("é: &x {text}\nother: *x\n"));
        let expected = json!({"é": expected, "other": expected});
        assert_eq!(read.unwrap(), expected, "{text}");
        // So does Helm with the output.
        let mut written = String::new();
        yaml::write(expected.as_object().unwrap(), 0, &mut written);
        assert_eq!(helm::read(&written).unwrap(), expected, "{written}");
    }
}

#[test]
fn a_text_with_a_mark_is_a_text() {
    for (text, expected) in [
        ("\"010\"", json!("010")),
        ("'0x1F'", json!("0x1F")),
        ("!!str 010", json!("010")),
        ("|-\n   010", json!("010")),
        ("a\n   b", json!("a b")),
    ] {
        let read = helm::read(&format!("é: {text}\nother: 1\n"));
        assert_eq!(read.unwrap(), json!({"é": expected, "other": 1}), "{text}");
    }
}

#[test]
fn a_key_is_the_text_that_helm_takes_it_for() {
    for (text, expected) in [
        ("010", "8"),
        ("0x50", "80"),
        ("1_000", "1000"),
        ("yes", "true"),
        ("yEs", "yEs"),
        ("\"010\"", "010"),
        ("!!str 010", "010"),
    ] {
        let read = helm::read(&format!("{text}: a\n")).unwrap();
        assert_eq!(read, json!({expected: "a"}), "{text}");
    }
}

#[test]
fn a_scalar_that_can_be_read_in_two_ways_is_an_error_that_names_it() {
    for (text, said) in [
        (
            "tcp: {9000: 1__0}",
            "tcp.9000: expected a number or a text, got 1__0, which Helm reads as 10",
        ),
        (
            "tcp: {9000: 0_7}",
            "tcp.9000: expected a number or a text, got 0_7, which Helm reads as 7",
        ),
        ("tcp: {9000: !!str &x 010}", "tcp.9000: "),
        (
            "tcp: {9000: !!int \"10\"}",
            "tcp.9000: expected a text in quotes, got a tag before it",
        ),
        (
            "tcp: {!!str &x 010: a}",
            "tcp: expected a text as key, got 010, which Helm reads as 8",
        ),
        ("tcp: {1.5: a}", "tcp: expected a text as key, got 1.5"),
        (
            "tcp: {1e7: a}",
            "tcp: expected a text as key, got 1e7, which Helm reads as 10000000",
        ),
        ("1.5: a", "values: expected a text as key, got 1.5"),
        (
            "tcp: {yes: a, on: b}",
            "tcp.true: expected one value, got two",
        ),
        ("tcp: {9000: !foo 3}", "!foo"),
        ("tcp: {9000: .inf}", ".inf"),
        ("tcp: {9000: 1e400}", "1e400"),
    ] {
        let error = converted(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}
