//! Values by the grammar of what takes them.

use proptest::prelude::*;
use proptest::sample::select;
use sluice_translate::annotations::Value;

use super::secrets;
use super::texts::{any_text, header_name};
use crate::patterns;

/// Around the sizes of integers, of ports, of statuses and of limits.
pub(crate) const INTEGERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "10",
    "16",
    "17",
    "99",
    "100",
    "101",
    "200",
    "255",
    "256",
    "301",
    "404",
    "499",
    "503",
    "599",
    "600",
    "1000",
    "1024",
    "4096",
    "65535",
    "65536",
    "1000000",
    "31536000",
    "31536001",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-1",
    "-2147483648",
    "01",
    "1.5",
];

pub(crate) const SIZES: &[&str] = &[
    "0",
    "1",
    "1k",
    "4k",
    "8k",
    "1m",
    "8M",
    "1g",
    "1023k",
    "1024k",
    "2000000k",
    "8388608g",
    "8589934591g",
    "9223372036854775807",
    "1b",
    "64k",
    "15",
    "0k",
];

pub(crate) const TIMES: &[&str] = &[
    "0", "1", "500ms", "1s", "60s", "1m", "1h", "24h", "49d", "50d", "0s", "4294967s", "1h30m",
    "31536000",
];

const CIDRS: &[&str] = &[
    "10.0.0.0/8",
    "10.0.0.1",
    "0.0.0.0/0",
    "::/0",
    "fd00::/8",
    "::1",
    "10.0.0.1/32",
    "2001:db8::/128",
    "127.0.0.1",
    "10.1.2.3/9",
];

const URLS: &[&str] = &[
    "https://auth.example/verify",
    "http://svc.tenant.svc.cluster.local/x",
    "http://auth.example:8080/a?b=c",
    "/sign-in",
    "/",
    "https://$host/start?rd=$escaped_request_uri",
    "http://[2001:db8::1]/",
    "https://a.example",
    "http://auth.example$request_uri",
    "https://auth.example/%41",
    "http://a.example/a%b",
    "https://auth.example/'x'(y)",
];

pub(crate) fn list(
    of: impl Strategy<Value = String>,
    most: usize,
) -> impl Strategy<Value = String> {
    prop::collection::vec(of, 1..most).prop_map(|all| all.join(","))
}

pub(crate) fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(values).prop_map(str::to_owned)
}

pub(crate) fn url() -> impl Strategy<Value = String> {
    prop_oneof![6 => one_of(URLS), 1 => (1..2100usize).prop_map(|length| format!("http://auth.example/{}", "a".repeat(length)))]
}

pub(crate) fn cidrs() -> impl Strategy<Value = String> {
    prop_oneof![5 => list(one_of(CIDRS), 5), 1 => (1..300u16).prop_map(|count| {
        let all: Vec<String> = (0..count).map(|n| format!("10.{}.{}.0/24", n >> 8, n & 255)).collect();
        all.join(",")
    })]
}

pub(crate) fn header_names() -> impl Strategy<Value = String> {
    list(header_name(), 12)
}

/// Of the kind that the catalogue says.
pub(crate) fn of_kind(value: Value) -> BoxedStrategy<String> {
    match value {
        Value::Bool => one_of(&["true", "true", "true", "false", "1", "yes"]).boxed(),
        Value::Cidrs => cidrs().boxed(),
        Value::ConfigMap => {
            one_of(&["headers", "tenant/headers", "other/headers", "missing"]).boxed()
        }
        Value::Int => one_of(INTEGERS).boxed(),
        Value::List => list(header_name(), 6).boxed(),
        Value::OnOff => one_of(&["on", "off"]).boxed(),
        Value::OneOf(values) => one_of(values).boxed(),
        Value::Regex => patterns::pattern().boxed(),
        Value::Seconds => one_of(INTEGERS).boxed(),
        Value::Secret => one_of(secrets::NAMES).boxed(),
        Value::Service => one_of(&["svc", "outside", "missing", "tenant/svc"]).boxed(),
        Value::Size => one_of(SIZES).boxed(),
        Value::Text => any_text().boxed(),
        Value::Url => url().boxed(),
    }
}
