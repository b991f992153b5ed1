//! The command lines of the pods, read by the program that they are for.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts;

use crate::chart::{cases, objects, values};
use crate::pods::pods;

/// What `sluice` says to these arguments.
fn sluice(args: &[&str]) -> Result<std::process::Output> {
    Command::new(artifacts::sluice()?).args(args).output().context("sluice")
}

fn help(command: &str) -> Result<String> {
    let output = sluice(&[command, "--help"])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// What stands behind `[default: ` in the help of a flag.
fn default_of(help: &str, flag: &str) -> Result<String> {
    let (_, rest) = help.split_once(&format!("{flag} <")).with_context(|| format!("no {flag}"))?;
    let (_, rest) = rest.split_once("[default: ").with_context(|| format!("{flag} has no default"))?;
    Ok(rest.split(']').next().unwrap_or_default().to_owned())
}

/// With `--help` at its end, a command line is read to the end and nothing is started.
#[test]
fn every_command_line_is_understood() -> Result<()> {
    for (case, values) in cases() {
        for pod in pods(&objects(&values)?) {
            for container in pod.containers() {
                let args = container["args"].as_array().context("no args")?;
                let mut args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
                args.push("--help");
                let output = sluice(&args)?;
                let error = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "{case}: {}: {args:?}: {error}", pod.name);
            }
        }
    }
    Ok(())
}

#[test]
fn a_flag_that_does_not_exist_is_seen() -> Result<()> {
    for args in [["run", "--nonsense=1", "--help"], ["run", "--http-port=x", "--help"]] {
        ensure!(!sluice(&args)?.status.success(), "{args:?}");
    }
    Ok(())
}

#[test]
fn the_values_are_the_defaults_of_the_flags() -> Result<()> {
    let (run, envoy, values) = (help("run")?, help("envoy")?, values()?);
    let port = values["xds"]["port"].as_u64().context("xds.port")?;
    ensure!(default_of(&run, "--xds-address")?.ends_with(&format!(":{port}")), "xds.port is {port}");
    for (help, flag, pointer) in [
        (&run, "--http-port", "/dataPlane/containerPort/http"),
        (&run, "--https-port", "/dataPlane/containerPort/https"),
        (&run, "--ingress-class", "/controller/ingressClass"),
        (&run, "--controller-class", "/controller/ingressClassResource/controllerValue"),
    ] {
        let value = values.pointer(pointer).context(pointer)?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        ensure!(default_of(help, flag)? == value, "{pointer} is {value}, {flag} {}", default_of(help, flag)?);
    }
    let metrics = default_of(&envoy, "--healthz-port")?;
    for pod in pods(&objects(&json!({}))?).iter().filter(|pod| pod.kind != "Job") {
        for container in pod.containers() {
            let mut ports = container["ports"].as_array().into_iter().flatten();
            let port = ports.find(|port| port["name"] == "metrics").context("no metrics port")?;
            ensure!(
                port["containerPort"].as_u64().map(|port| port.to_string()) == Some(metrics.clone()),
                "{}: {port}",
                pod.name
            );
        }
    }
    Ok(())
}

#[test]
fn extra_flags_reach_the_controller() -> Result<()> {
    let values = json!({"controller": {"extraArgs": {"drain-timeout": "3"}}});
    let text = serde_json::to_string(&objects(&values)?)?;
    ensure!(text.contains("\"--drain-timeout=3\""), "{text}");
    Ok(())
}
