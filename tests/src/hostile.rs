//! Texts that somebody writes who wants to break out of where they are put, in every field of an Ingress.

use serde_json::{Map, Value, json};
use sluice_translate::annotations::GROUPS;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Texts that break configurations: of nginx, of Envoy, of YAML, of shells, of regular expressions.
pub const TEXTS: &[&str] = &[
    "",
    " ",
    "evil",
    "\"; evil on; #",
    "'; evil on; #",
    "x;}\nevil { on; }\n",
    "x\r\nEvil: yes\r\n\r\n",
    "$evil",
    "${evil}",
    "$(evil)",
    "$1$9",
    "%EVIL%",
    "%REQ(evil)%",
    "%",
    "\\",
    "\\\"",
    "a\u{0}b",
    "\u{202e}\u{e9}\u{1f600}",
    "{{ evil }}",
    "/",
    "..",
    "/../evil",
    "*",
    "-1",
    "99999999999999999999",
    "1e9",
    "true\nfalse",
    "(",
    "(?=evil)",
    "(a*)*[",
    "http://[::1",
    "http://evil.example/%zz\"",
    "https://evil.example/;}evil on;",
    "http://127.0.0.1:1/",
    "evil/evil",
    "evil,evil;evil",
    "404,503;evil",
    "10.0.0.0/8; evil",
];

/// Annotations without which others have no effect.
const COMPANIONS: &[(&str, &str)] = &[
    ("affinity", "cookie"),
    ("auth-realm", "realm"),
    ("auth-tls-secret", "default/missing"),
    ("default-backend", "web"),
    ("enable-cors", "true"),
    ("limit-rps", "5"),
    ("mirror-target", "http://copy.example/$request_uri"),
    ("rewrite-target", "/$1"),
    ("upstream-hash-by", "$request_uri"),
];

/// Each annotation gets one in so many of the texts, and each text comes to one in so many annotations: all pairs would
/// take a debug build too long.
const SHARE: usize = 8;

/// Ingresses for `service`, each on a host of its own, with one text in one place.
#[must_use]
pub fn ingresses(service: &str) -> Vec<Value> {
    let names = GROUPS
        .iter()
        .flat_map(|group| group.annotations)
        .map(|annotation| annotation.name);
    let mut all = Vec::new();
    for (position, name) in names.enumerate() {
        for text in TEXTS.iter().skip(position % SHARE).step_by(SHARE) {
            let number = all.len();
            all.push(annotated(number, service, &[(name, text)], number % 2 == 0));
        }
    }
    for text in TEXTS {
        for place in PLACES {
            let mut ingress = annotated(all.len(), service, &[], false);
            put(&mut ingress, place, json!(text));
            all.push(ingress);
        }
    }
    all
}

/// Every string of an Ingress that is none of an annotation, as JSON pointers.
const PLACES: &[&str] = &[
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/labels/evil",
    "/spec/ingressClassName",
    "/spec/tls/0/hosts/0",
    "/spec/tls/0/secretName",
    "/spec/rules/0/host",
    "/spec/rules/0/http/paths/0/path",
    "/spec/rules/0/http/paths/0/pathType",
    "/spec/rules/0/http/paths/0/backend/service/name",
    "/spec/rules/0/http/paths/0/backend/service/port/name",
];

fn put(object: &mut Value, place: &str, value: Value) {
    if let Some(port) = object.pointer_mut("/spec/rules/0/http/paths/0/backend/service/port")
        && place.ends_with("/port/name")
    {
        *port = json!({ "name": value });
    } else if let Some(found) = object.pointer_mut(place) {
        *found = value;
    }
}

fn annotated(number: usize, service: &str, own: &[(&str, &str)], in_company: bool) -> Value {
    let mut annotations = Map::new();
    let companions = COMPANIONS.iter().filter(|_| in_company);
    for (name, text) in companions.chain(own) {
        let whole = if name.contains('/') {
            (*name).to_owned()
        } else {
            format!("{PREFIX}/{name}")
        };
        annotations.insert(whole, json!(text));
    }
    let host = format!("h{number}.hostile.test");
    let backend = json!({"service": {"name": service, "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": format!("hostile-{number}"),
            "namespace": "default",
            "uid": "11111111-1111-1111-1111-111111111111",
            "resourceVersion": "1",
            "labels": {"evil": "no"},
            "annotations": annotations,
        },
        "spec": {
            "ingressClassName": "nginx",
            "tls": [{"hosts": [host], "secretName": "missing"}],
            "rules": [{
                "host": host,
                "http": {"paths": [{"path": "/a", "pathType": "Prefix", "backend": backend}]},
            }],
        },
    })
}
