//! R5: what an Ingress costs a proxy is its text, times a small number, whatever it says. Together with the limit of the bytes of
//! annotations times paths (`controller/translate/tests/limits.rs`) that bounds what one Ingress costs.

use serde_json::json;
use sluice_ir::Config;
use sluice_nginx::Engine;
use sluice_xds::{FilterCode, RenderedResources};

use crate::translation::{all, translate_annotation, translate_companions};

/// Bytes of a value.
const LENGTH: usize = 64 << 10;
/// Rendered bytes for each byte of a value.
const MOST: usize = 48;

/// An element of a list, by its place.
type Element = fn(usize) -> String;

/// Lists of what annotations have lists of, and one long word.
fn values() -> Vec<String> {
    let elements: [(&str, Element); 8] = [
        (",", |n| {
            format!("10.{}.{}.{}/32", n >> 16 & 255, n >> 8 & 255, n & 255)
        }),
        (",", |n| format!("x-{n}")),
        (",", |n| format!("https://h{n}.example")),
        (",", |n| format!("h{n}.example")),
        (",", |n| (400 + n % 200).to_string()),
        (";", |n| format!("k{n}=v")),
        (",", |n| format!("{} {}s", 200 + n % 400, n)),
        ("", |_| "x".to_owned()),
    ];
    let list = |(separator, element): (&str, Element)| {
        let mut text = element(0);
        for n in 1.. {
            let next = element(n);
            if text.len() + separator.len() + next.len() > LENGTH {
                break;
            }
            text.push_str(separator);
            text.push_str(&next);
        }
        text
    };
    elements.into_iter().map(list).collect()
}

/// Rendered bytes for Envoy and for nginx.
pub(crate) fn sizes(config: &Config) -> [usize; 2] {
    let code = FilterCode::File("filter.wasm".into());
    let envoy = RenderedResources::render(config, &sluice_xds::Settings::new(code, Vec::new()));
    let engine = Engine::Sluice {
        module: "module.so".into(),
        wasm: None,
    };
    let [http, https] = [8080, 8443].map(|port| ([127, 0, 0, 1], port).into());
    let nginx = sluice_nginx::render(config, &sluice_nginx::Settings::new(engine, http, https));
    [
        envoy.iter().map(|(_, _, bytes)| bytes.len()).sum(),
        nginx.text.len(),
    ]
}

#[test]
fn no_annotation_makes_an_ingress_large() {
    let settings =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    let values = values();
    let mut largest = 0;
    for annotation in all() {
        let without = translate_companions(annotation.name, &settings, None);
        let without = sizes(without.config());
        for value in &values {
            let with = translate_annotation(annotation.name, value, &settings, None);
            let with = sizes(with.config());
            for (with, without) in with.into_iter().zip(without) {
                largest = largest.max(with);
                assert!(
                    with < without + MOST * LENGTH,
                    "{} = {value:.40}...: {with} bytes for {LENGTH}",
                    annotation.name
                );
            }
        }
    }
    assert!(largest > LENGTH, "no list of this length is honoured");
}
