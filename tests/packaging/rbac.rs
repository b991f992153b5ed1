//! Rights, as one line each: a change of them is a change of a file that somebody reads.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;

use crate::cases::cases;
use crate::chart::objects;

const SNAPSHOT: &str = "tests/packaging/rbac.txt";

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// `kind name (namespace): group/resource [names]: verbs`, and who has it.
fn permissions(objects: &[Value]) -> Result<String> {
    let mut text = String::new();
    for role in objects.iter().filter(|object| object["rules"].is_array()) {
        let (kind, name) = (
            role["kind"].as_str().context("kind")?,
            role["metadata"]["name"].as_str().context("name")?,
        );
        let place = role["metadata"]["namespace"]
            .as_str()
            .unwrap_or("everywhere");
        writeln!(text, "{kind} {name} ({place})")?;
        for binding in objects.iter().filter(|object| {
            object["roleRef"]["name"] == name && object["kind"] == format!("{kind}Binding")
        }) {
            for subject in binding["subjects"].as_array().into_iter().flatten() {
                writeln!(
                    text,
                    "  for {} {}/{}",
                    subject["kind"], subject["namespace"], subject["name"]
                )?;
            }
        }
        for rule in role["rules"].as_array().into_iter().flatten() {
            let names = strings(&rule["resourceNames"]).join(" ");
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    let verbs = strings(&rule["verbs"]).join(" ");
                    writeln!(text, "  {group}/{resource} [{names}]: {verbs}")?;
                }
            }
        }
    }
    Ok(text.replace('"', ""))
}

#[test]
fn permissions_match_the_snapshot() -> Result<()> {
    let mut found = String::new();
    for (title, values) in [
        ("By default", json!({})),
        (
            "With controller.scope: one namespace",
            json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}}}),
        ),
        (
            "With controller.scope: namespaces with labels",
            json!({"controller": {"scope": {"namespaceSelector": "a=b"}}}),
        ),
        (
            "With controller.podWeights",
            json!({"controller": {"podWeights": true}}),
        ),
        (
            "On ports of nodes",
            json!({"dataPlane": {"hostPort": {"enabled": true}}}),
        ),
    ] {
        writeln!(found, "# {title}\n\n{}", permissions(&objects(&values)?)?)?;
    }
    let (path, found) = (
        repository().join(SNAPSHOT),
        format!("{}\n", found.trim_end()),
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &found)?;
    }
    assert_eq!(
        fs::read_to_string(&path)?,
        found,
        "UPDATE_GOLDEN=1 writes {SNAPSHOT}"
    );
    Ok(())
}

#[test]
fn no_permission_is_a_wildcard_and_only_the_certgen_job_creates_secrets() -> Result<()> {
    for (case, values) in cases() {
        let permissions = permissions(&objects(&values)?)?;
        ensure!(!permissions.contains('*'), "{case}: {permissions}");
        let mut role = "";
        for line in permissions.lines() {
            if !line.starts_with(' ') {
                role = line;
            }
            let may = match role {
                "Role sluice-certgen (sluice-system)" => &["create"][..],
                // A Secret that has lost the other is written again.
                "Role sluice-certgen-xds (sluice-system)"
                    if line.contains("/secrets [sluice-xds") =>
                {
                    &["update"]
                }
                "Role sluice-certgen-xds (sluice-system)" => &["create"],
                _ => &[],
            };
            for verb in ["create", "update", "patch", "delete"]
                .iter()
                .filter(|_| line.contains("/secrets ["))
            {
                ensure!(
                    !line.contains(verb) || may.contains(verb),
                    "{case}: {role}: {line}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn scoped_role_reads_no_other_namespace() -> Result<()> {
    let scoped = json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}}});
    let permissions = permissions(&objects(&scoped)?)?;
    let controllers = |line: &&str| line.starts_with("ClusterRole sluice-controller");
    let everywhere = permissions
        .split("\n")
        .skip_while(|line| !controllers(line))
        .skip(1);
    let resources = everywhere
        .take_while(|line| line.starts_with(' '))
        .filter(|line| line.contains('['));
    let resources: Vec<&str> = resources.map(str::trim).collect();
    ensure!(
        resources == ["networking.k8s.io/ingressclasses []: list watch"],
        "{resources:?}"
    );
    Ok(())
}
