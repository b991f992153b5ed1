//! Jobs that make certificates: no key is in a manifest, and a change of a Job is another Job.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cases::cases;
use crate::chart::{NAMESPACE, objects};
use crate::values::{all_leaves, changed};

fn jobs(objects: &[Value]) -> BTreeMap<String, &Value> {
    let jobs = objects.iter().filter(|object| object["kind"] == "Job");
    let name = |job: &Value| {
        job["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    jobs.map(|job| (name(job), &job["spec"])).collect()
}

#[test]
fn no_rendering_has_a_secret() -> Result<()> {
    for (case, values) in cases() {
        for object in objects(&values)? {
            ensure!(
                object["kind"] != "Secret",
                "{case}: {}",
                object["metadata"]["name"]
            );
            ensure!(
                !object.to_string().contains("PRIVATE KEY"),
                "{case}: {}",
                object["metadata"]["name"]
            );
        }
    }
    Ok(())
}

/// The API server refuses another template for the same Job.
#[test]
fn jobs_that_differ_have_different_names() -> Result<()> {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    let mut compare = |path: &str, values: &Value| -> Result<()> {
        // What the chart refuses has no Jobs.
        for (name, spec) in objects(values).iter().flat_map(|objects| jobs(objects)) {
            let before = seen.entry(name.clone()).or_insert_with(|| spec.clone());
            ensure!(before == spec, "{path}: {name} would be changed");
        }
        Ok(())
    };
    compare("defaults", &json!({}))?;
    for (path, value) in all_leaves()? {
        compare(&path, &changed(&path, &value)?)?;
    }
    Ok(())
}

#[test]
fn xds_certificates_are_made_for_the_names_and_secrets_in_use() -> Result<()> {
    let values = json!({"xds": {"controllerSecret": "one", "dataPlaneSecret": "two"}, "fullnameOverride": "edge"});
    let objects = objects(&values)?;
    let jobs = jobs(&objects);
    let job = jobs
        .iter()
        .find(|(name, _)| name.starts_with("edge-certgen-xds-"));
    let (_, spec) = job.context("no Job")?;
    let args = &spec["template"]["spec"]["containers"][0]["args"];
    let expected = json!([
        "certgen",
        "xds",
        format!("--host=edge-controller.{NAMESPACE}.svc"),
        format!("--namespace={NAMESPACE}"),
        "--controller-secret=one",
        "--data-plane-secret=two",
    ]);
    ensure!(*args == expected, "{args}");
    for (workload, secret) in [("edge-controller", "one"), ("edge-data-plane", "two")] {
        let mut pods = objects
            .iter()
            .filter(|object| object["kind"] == "Deployment");
        let pod = pods.find(|object| object["metadata"]["name"] == workload);
        let volumes = pod.context(workload)?["spec"]["template"]["spec"]["volumes"].to_string();
        ensure!(
            volumes.contains(&format!("\"secretName\":\"{secret}\"")),
            "{volumes}"
        );
    }
    Ok(())
}
