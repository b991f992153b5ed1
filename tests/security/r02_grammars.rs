//! R2: a field has a grammar of what it may say, and a text that is not in it says nothing: what is served is what a text that
//! is plainly none would come to (R6 says what that is), and the report names the field.

use serde_json::{Value, json};
use sluice_ir::ServerName;
use sluice_tests::hostile::{TEXTS, ingresses};
use sluice_tests::manifests;
use sluice_translate::{Object, Options, Resources, translate};

use crate::translation::{all, is_in, unexpected_effects};

#[test]
fn annotation_text_outside_its_grammar_has_no_effect() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (number, annotation) in all().enumerate() {
        // Blank ones are told apart from bad ones: tests/security/r06_settings.
        let texts = TEXTS.iter().filter(|text| !text.trim().is_empty());
        let texts = texts.filter(|text| is_in(annotation.value, text) == Some(false));
        let texts: Vec<String> = texts.map(|text| (*text).to_owned()).collect();
        wrong.extend(unexpected_effects(number, annotation, &texts));
        count += texts.len();
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count > 1000, "{count}");
}

/// Hosts, paths and names, whoever wrote what into them: the configuration has none that could not have been meant.
#[test]
fn hosts_paths_and_names_outside_their_grammars_are_not_served() {
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
    };
    let mut resources = Resources::default();
    let pods = ["10.0.0.1:80".parse().unwrap()];
    let web = [
        manifests::service("default", "web", 80, &pods),
        manifests::endpoint_slice("default", "web", &pods),
    ];
    for object in ingresses("web")
        .into_iter()
        .chain(web)
        .flat_map(Object::from_value)
    {
        drop(resources.apply(object));
    }
    let translation = translate(
        &resources,
        &Options {
            class_is_implied: true,
            ..Options::default()
        },
    );
    let config = json!(translation.config());
    let names = |field: &str| {
        config[field]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let (servers, backends) = (names("servers"), names("backends"));
    assert!(servers.len() > 1000, "{}", servers.len());
    for name in servers.iter().filter(|name| *name != "_") {
        assert!(ServerName::parse(name).is_ok(), "{name:?}");
    }
    for id in &backends {
        assert!(id.split('/').all(is_name), "{id:?}");
    }
    for server in &servers {
        for route in config["servers"][server]["routes"].as_array().unwrap() {
            let path = path(route);
            assert!(
                path.starts_with('/') && !path.chars().any(char::is_control),
                "{server}: {path:?}"
            );
        }
    }
}

fn path(route: &Value) -> String {
    let path = route["path"]
        .as_object()
        .and_then(|path| path.values().next());
    let text = path.and_then(|path| path.as_str().or_else(|| path["pattern"].as_str()));
    text.unwrap_or_else(|| panic!("{route}")).to_owned()
}
