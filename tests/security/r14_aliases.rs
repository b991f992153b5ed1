//! R14: a name that is kept for old objects has the parser, the limits and the risk of the name that it stands for.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::hostile::TEXTS;
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};
use crate::translation::{
    all, is_reported, is_same_config, some_data_plane, translate_annotation, translate_annotations,
};

on_every_plane!(alias_denies_the_clients_that_its_name_denies);

const VALUES: &[&str] = &[
    "10.0.0.0/8",
    "127.0.0.0/8",
    "10.0.0.0/8,2001:db8::/32",
    "0.0.0.0/0",
    "10.0.0.0/33",
    "10.0.0.0/8,nonsense",
    ",",
];

/// Pairs of an alias and its name.
fn aliases() -> Vec<(&'static str, &'static str)> {
    let aliases: Vec<_> = all()
        .filter_map(|alias| Some((alias.name, alias.alias_of?)))
        .collect();
    assert!(aliases.len() >= 2, "{aliases:?}");
    aliases
}

fn settings(level: &str) -> Value {
    json!({"annotations-risk-level": level})
}

#[test]
fn alias_equals_its_name_at_every_risk_level() {
    for (alias, name) in aliases() {
        for (number, value) in VALUES.iter().chain(TEXTS).enumerate() {
            for level in ["Low", "Medium", "Critical"] {
                let data_plane = some_data_plane(0, number);
                let by_alias = translate_annotation(alias, value, &settings(level), data_plane);
                let by_name = translate_annotation(name, value, &settings(level), data_plane);
                assert!(
                    is_same_config(&by_alias, &by_name),
                    "{alias}: {value:?} at {level}"
                );
                let is_told = is_reported(&by_alias, alias) || is_reported(&by_alias, name);
                assert_eq!(
                    is_told,
                    is_reported(&by_name, name),
                    "{alias}: {value:?} at {level}"
                );
            }
        }
    }
}

/// In either order, whatever the other says.
#[test]
fn name_overrides_its_alias_and_the_alias_is_reported() {
    for (alias, name) in aliases() {
        for (value, other) in [
            ("10.0.0.0/8", "0.0.0.0/0"),
            ("10.0.0.0/8", "nonsense"),
            ("nonsense", "0.0.0.0/0"),
        ] {
            let more = [("limit-rps", "5"), (alias, other), (name, value)];
            let both = translate_annotations(&more, &settings("Critical"), None);
            let alone = translate_annotations(&[more[0], more[2]], &settings("Critical"), None);
            assert!(
                is_same_config(&both, &alone),
                "{alias}={other} beside {name}={value}"
            );
            assert!(is_reported(&both, alias), "{alias}");
        }
    }
}

async fn alias_denies_the_clients_that_its_name_denies(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let guards = ["allowlist-source-range", "whitelist-source-range"];
    let mut hosts = Vec::new();
    let mut objects = Vec::new();
    for namespace in [OWNER, FOREIGN] {
        for (number, value) in VALUES.iter().enumerate() {
            for (guard, host) in guards
                .iter()
                .map(|guard| (guard, format!("{guard}-{number}.{namespace}.test")))
            {
                let ingress = Ingress::new(namespace, &host)
                    .annotation(guard, value)
                    .host(&host);
                objects.push(ingress.path("/", "web", 80).to_json());
                hosts.push((host, *guard, *value, namespace));
            }
        }
    }
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (host, guard, value, namespace) in hosts {
        let answer = sluice.get(&host, "/").await?;
        let expected = ["127.0.0.0/8", "0.0.0.0/0"]
            .contains(&value)
            .then_some(namespace);
        ensure!(answer.pod() == expected, "{guard}: {value:?}: {answer:?}");
    }
    sluice.stop()
}
