//! Annotations.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls;
use sluice_translate::annotations::{Annotation, GROUPS, Role};

use super::access_controls::{
    ACCESS_CONTROLS, AccessControl, LIMITS, NOT_ACCESS_CONTROL, RESTRICTIONS, UNTESTED_RESTRICTIONS,
};
use super::bad_values;
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    invalid_access_control_annotation_denies_every_client,
    invalid_restriction_takes_its_strictest_value
);

#[test]
fn every_annotation_is_classified() {
    let is_access_control = ACCESS_CONTROLS
        .iter()
        .chain(LIMITS)
        .map(|access_control| access_control.name);
    let restriction = RESTRICTIONS
        .iter()
        .map(|restriction| restriction.name)
        .chain(UNTESTED_RESTRICTIONS.iter().copied());
    let classes: Vec<&str> = is_access_control
        .clone()
        .chain(restriction.clone())
        .chain(NOT_ACCESS_CONTROL.iter().copied())
        .collect();
    let known: Vec<&Annotation> = GROUPS.iter().flat_map(|group| group.annotations).collect();
    let names: BTreeSet<&str> = known.iter().map(|annotation| annotation.name).collect();
    let without: Vec<_> = names
        .iter()
        .filter(|name| !classes.contains(name))
        .collect();
    assert!(
        without.is_empty(),
        "annotations without a class: {without:?}"
    );
    assert_eq!(
        classes.len(),
        names.len(),
        "each has one class, and each class is of an annotation"
    );
    for annotation in known {
        let expected = match annotation.role {
            Role::AccessControl | Role::Snippet => is_access_control
                .clone()
                .any(|name| name == annotation.name),
            Role::Narrows(_) => restriction.clone().any(|name| name == annotation.name),
            Role::Plain | Role::Paths => NOT_ACCESS_CONTROL.contains(&annotation.name),
        };
        assert!(
            expected,
            "{} has the role {:?}",
            annotation.name, annotation.role
        );
    }
}

/// Objects of the table of guards: users, an authentication service that denies everybody, authorities, a pod with TLS.
struct Fixture {
    tenants: Tenants,
    _auth: Echo,
    _secure: Echo,
    _ports: [Port; 2],
}

impl Fixture {
    async fn start() -> Result<Fixture> {
        let tenants = Tenants::start().await?;
        let ports = [Port::reserve()?, Port::reserve()?];
        let auth = Echo::start(ports[0].addr(), EchoIdentity::of("auth", "auth")).await?;
        auth.script(Script::status(401));
        tenants
            .manifests
            .service(OWNER, "auth", 80, &[ports[0].addr()])?;
        let identity = Pair::of(&["web.test"])?.identity()?;
        let tls = Some(tls::server_config(identity)?);
        let setup = Setup {
            tls,
            ..Setup::default()
        };
        let secure =
            Echo::start_with(ports[1].addr(), EchoIdentity::of("secure", "secure"), setup).await?;
        tenants
            .manifests
            .service(OWNER, "secure", 443, &[ports[1].addr()])?;
        for namespace in [OWNER, FOREIGN] {
            let object = |kind: &str, name: &str, field: &str, data: Value| {
                let metadata = json!({"namespace": namespace, "name": name});
                tenants.manifests.object(
                    &json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, field: data}),
                )
            };
            object(
                "Secret",
                "users",
                "stringData",
                json!({"auth": "ada:{PLAIN}secret\n"}),
            )?;
            object(
                "Secret",
                "ca",
                "stringData",
                json!({"ca.crt": Pair::of(&["authority"])?.pem}),
            )?;
            object("ConfigMap", "headers", "data", json!({"X-Team": "shop"}))?;
            object(
                "ConfigMap",
                "unreadable",
                "data",
                json!({"X-Team": "$nonsense"}),
            )?;
            object("ConfigMap", "nothing", "data", json!({}))?;
        }
        Ok(Fixture {
            tenants,
            _auth: auth,
            _secure: secure,
            _ports: ports,
        })
    }

    /// Writes all Ingresses and waits until the last is served.
    async fn serve(&self, plane: Plane, mut ingresses: Vec<Value>) -> Result<Sluice> {
        ingresses.push(
            Ingress::new(OWNER, "last")
                .host("last.test")
                .path("/", "web", 80)
                .to_json(),
        );
        self.tenants.write("all.yaml", &ingresses)?;
        let sluice = plane.options(&self.tenants.manifests).start().await?;
        sluice.wait_for_status("last.test", "/", 200).await?;
        Ok(sluice)
    }
}

/// One Ingress with a host of its own.
struct Case {
    host: String,
    annotation: &'static str,
    value: String,
}

/// An Ingress of a Service for each value.
fn cases(
    annotation: &'static str,
    beside: &[(&str, &str)],
    values: impl Iterator<Item = String>,
) -> Vec<(Case, Value)> {
    let others: Vec<_> = beside
        .iter()
        .filter(|(name, _)| *name != annotation)
        .collect();
    let speaks_tls = others.iter().any(|(name, _)| *name == "backend-protocol");
    let (service, port) = if speaks_tls {
        ("secure", 443)
    } else {
        ("web", 80)
    };
    let case = |(number, value): (usize, String)| {
        let name = format!("{annotation}-{number}");
        let host = format!("{name}.test");
        let ingress = Ingress::new(OWNER, &name)
            .annotation(annotation, &value)
            .host(&host)
            .path("/", service, port);
        let ingress = others.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        let mut object = ingress.to_json();
        object["spec"]["tls"] = json!([{"hosts": [host]}]);
        // Plain http leads nowhere else but for those that are about that.
        if !annotation.contains("ssl-redirect") {
            object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/ssl-redirect"] =
                json!("false");
        }
        (
            Case {
                host,
                annotation,
                value,
            },
            object,
        )
    };
    values.enumerate().map(case).collect()
}

async fn invalid_access_control_annotation_denies_every_client(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let own = |access_control: &AccessControl| {
        let bad = access_control.bad.iter();
        bad.map(|bad| (*bad).to_owned()).collect::<Vec<_>>()
    };
    let is_access_control = ACCESS_CONTROLS.iter().flat_map(|access_control| {
        let values = bad_values()
            .into_iter()
            .chain(own(access_control))
            .chain([access_control.good.to_owned()]);
        cases(access_control.name, access_control.beside, values)
    });
    let limits = LIMITS.iter().flat_map(|access_control| {
        let values = bad_values().into_iter().chain(own(access_control));
        cases(access_control.name, access_control.beside, values)
    });
    let translated = LIMITS.iter().flat_map(|access_control| {
        let good = [access_control.good.to_owned()].into_iter();
        cases(access_control.name, access_control.beside, good)
    });
    let translated: Vec<(Case, Value)> = translated
        .map(|(case, mut object)| {
            // Beside the others of its annotation.
            object["metadata"]["name"] = json!(format!("{}-good", case.annotation));
            let host = format!("good-{}", case.host);
            object["spec"]["rules"][0]["host"] = json!(host);
            (Case { host, ..case }, object)
        })
        .collect();
    let (closed, closed_objects): (Vec<Case>, Vec<Value>) = is_access_control.chain(limits).unzip();
    let (open, open_objects): (Vec<Case>, Vec<Value>) = translated.into_iter().unzip();
    let sluice = fixture
        .serve(plane, [closed_objects, open_objects].concat())
        .await?;
    let mut wrong = Vec::new();
    for (case, is_open) in closed
        .iter()
        .map(|case| (case, false))
        .chain(open.iter().map(|case| (case, true)))
    {
        let answer = sluice.get(&case.host, "/").await?;
        if answer.pod().is_some() != is_open {
            let (name, value) = (&case.annotation, &case.value);
            wrong.push(format!("{name}: {value:.40?}: {}", answer.status));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        closed.len() + open.len(),
        wrong.join("\n")
    );
    sluice.stop()
}

async fn invalid_restriction_takes_its_strictest_value(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let all = RESTRICTIONS.iter().flat_map(|restriction| {
        let own = restriction.bad.iter().map(|bad| (*bad).to_owned());
        let values = bad_values()
            .into_iter()
            .filter(|value| !is_valid(restriction.name, value))
            .chain(own);
        cases(restriction.name, restriction.beside, values)
            .into_iter()
            .map(move |(case, object)| ((case, restriction), object))
    });
    let (cases, objects): (Vec<_>, Vec<Value>) = all.unzip();
    let sluice = fixture.serve(plane, objects).await?;
    let mut wrong = Vec::new();
    for (case, restriction) in &cases {
        let request = Request::get(&case.host, "/").header("origin", "https://evil.example");
        let mut answer = http::send(sluice.http(), &request).await?;
        for _ in 0..3 {
            answer = http::send(sluice.http(), &request).await.context("again")?;
        }
        if !(restriction.is_right)(&answer) {
            wrong.push(format!(
                "{}: {:.40?}: {answer:?}",
                case.annotation, case.value
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    sluice.stop()
}

/// Names of headers and methods are nearly anything, and no origin is every origin, as if the annotation were not there.
fn is_valid(annotation: &str, value: &str) -> bool {
    let is_text = |others: &str| {
        value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
    };
    match annotation {
        "cors-allow-origin" => value.trim().is_empty(),
        "cors-allow-methods" => {
            !value.trim().is_empty() && value.chars().all(|c| c.is_ascii_alphabetic())
        }
        "cors-allow-headers" | "cors-expose-headers" => {
            !value.trim().is_empty() && is_text("-_, *")
        }
        _ => false,
    }
}
