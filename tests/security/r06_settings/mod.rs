//! R6: a setting that keeps somebody out and has a value that cannot be honoured keeps everybody out, or as many as it could;
//! it is never taken for one that is not there.
//!
//! The tables are complete: an annotation or a key of the ConfigMap without a class fails the tests.

mod access_controls;
mod annotations;
mod configmap;
mod deleted_config_map;
mod trusted_proxies;

/// Values that are none, whatever is asked for: blank, of another type, too long, and not of one line.
fn bad_values() -> Vec<String> {
    let texts = [
        "",
        "  ",
        "no such: value?!",
        "[1]",
        "{}",
        "\u{e9}",
        "a\nb",
        "a\tb",
        "\u{1}",
        "absent/absent",
        "foreign/users",
    ];
    let long = "x".repeat(5000);
    texts.into_iter().map(str::to_owned).chain([long]).collect()
}
