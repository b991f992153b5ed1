//! R15: an annotation of a higher risk than the operator takes is refused loudly and alone: nothing that it says counts, what
//! it would have guarded is closed, and the rest of its object is served.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_translate::DataPlane;
use sluice_translate::annotations::{Annotation, Risk, Role};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};
use crate::translation::{
    all, is_allowed_at, is_closed, is_honoured, is_reported, is_same_config, some_data_plane,
    translate_annotation, translate_companions,
};

on_every_plane!(annotation_above_the_risk_level_is_rejected_alone);

const LEVELS: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
/// Something for everybody: each annotation can read one of them.
const VALUES: [&str; 8] = [
    "true",
    "7",
    "on",
    "/a",
    "http://a.example/",
    "10.0.0.0/8",
    "cookie",
    "proxy_set_header X-A b;",
];

/// Two of the values, and where they stand: each annotation meets all of them, at one level or another.
fn some_values(number: usize) -> impl Iterator<Item = (usize, &'static str)> {
    VALUES
        .iter()
        .copied()
        .enumerate()
        .skip(number % 4)
        .step_by(4)
}

fn settings(level: Risk) -> Value {
    json!({"annotations-risk-level": level.to_string()})
}

#[test]
fn annotations_above_the_risk_level_have_no_effect_and_nothing_else_is_lost() {
    for (number, annotation) in all().enumerate() {
        let levels = LEVELS.into_iter().enumerate();
        for (level, (position, value)) in levels
            .flat_map(|(place, level)| some_values(number + place).map(move |value| (level, value)))
        {
            let data_plane = some_data_plane(number, position);
            if annotation.risk > level {
                ensure_only_it_is_rejected(annotation, value, level, data_plane);
            } else if is_allowed_at(annotation, level) {
                let found =
                    translate_annotation(annotation.name, value, &settings(level), data_plane);
                let most = translate_annotation(
                    annotation.name,
                    value,
                    &settings(Risk::Critical),
                    data_plane,
                );
                assert!(
                    is_same_config(&found, &most),
                    "{}: {value} at {level}",
                    annotation.name
                );
            }
        }
    }
}

#[track_caller]
fn ensure_only_it_is_rejected(
    annotation: &Annotation,
    value: &str,
    level: Risk,
    data_plane: Option<DataPlane>,
) {
    let (name, settings) = (annotation.name, settings(level));
    let found = translate_annotation(name, value, &settings, data_plane);
    let is_reported = is_reported(&found, name) || !is_honoured(annotation, data_plane);
    assert!(is_reported, "{name}: {value} at {level} is not reported");
    let other = translate_annotation(name, "something else", &settings, data_plane);
    assert!(
        is_same_config(&found, &other),
        "{name}: {value} counts at {level}"
    );
    match annotation.role {
        Role::AccessControl | Role::Snippet => {
            assert!(is_closed(&found), "{name}: {value} at {level}");
        }
        Role::Plain => {
            assert!(
                is_same_config(&found, &translate_companions(name, &settings, data_plane)),
                "{name}: {value} at {level}"
            );
        }
        Role::Paths | Role::Narrows(_) => {}
    }
}

#[test]
fn critical_annotations_have_no_effect_by_default() {
    for (number, annotation) in all().enumerate() {
        for (_, value) in some_values(number) {
            let unsaid = translate_annotation(annotation.name, value, &json!({}), None);
            let high = translate_annotation(annotation.name, value, &settings(Risk::High), None);
            assert!(is_same_config(&unsaid, &high), "{}", annotation.name);
        }
    }
}

/// Each annotation on a host of its own, at the lowest level.
async fn annotation_above_the_risk_level_is_rejected_alone(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let metadata = json!({"namespace": "ops", "name": "settings"});
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": settings(Risk::Low)});
    tenants.manifests.object(&settings)?;
    let own = Ingress::new(OWNER, "own").host("own.test");
    let mut objects = vec![own.path("/", "web", 80).to_json()];
    let risky: Vec<_> = all()
        .filter(|annotation| annotation.risk > Risk::Low)
        .collect();
    let host = |name: &str| format!("{}.test", name.replace(['/', '.'], "-"));
    for annotation in &risky {
        let name = annotation.name.replace(['/', '.'], "-");
        let ingress = Ingress::new(FOREIGN, &name).annotation(annotation.name, "http://a.example/");
        // Low, and still honoured.
        let ingress = ingress
            .annotation("enable-cors", "true")
            .host(&host(annotation.name));
        objects.push(ingress.path("/", "web", 80).to_json());
    }
    tenants.write("all.yaml", &objects)?;
    let flags = ["--configmap", "ops/settings"].map(str::to_owned).into();
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flags)
        .start()
        .await?;
    ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
    ensure!(risky.len() > 20, "{}", risky.len());
    for annotation in risky {
        let request =
            Request::get(&host(annotation.name), "/").header("origin", "https://other.example");
        let answer = http::send(sluice.http(), &request).await?;
        match annotation.role {
            Role::AccessControl | Role::Snippet => {
                ensure!(
                    answer.status == 503 && answer.pod().is_none(),
                    "{}: {answer:?}",
                    annotation.name
                );
            }
            Role::Plain => {
                ensure!(
                    answer.pod() == Some(FOREIGN),
                    "{}: {answer:?}",
                    annotation.name
                );
                let origin = answer.header("access-control-allow-origin");
                ensure!(
                    origin.is_some(),
                    "{}: the rest of its object is lost",
                    annotation.name
                );
            }
            Role::Paths | Role::Narrows(_) => {}
        }
    }
    sluice.stop()
}
