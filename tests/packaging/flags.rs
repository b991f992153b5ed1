//! The command lines of the pods, read by the program that they are for.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts;

use crate::cases::cases;
use crate::chart::{objects, values};
use crate::pods::pods;

/// Runs `sluice` with these arguments.
fn sluice(args: &[&str]) -> Result<std::process::Output> {
    Command::new(artifacts::sluice()?)
        .args(args)
        .output()
        .context("sluice")
}

fn help(command: &str) -> Result<String> {
    let output = sluice(&[command, "--help"])?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The text after `[default: ` in the help of a flag.
fn default_of(help: &str, flag: &str) -> Result<String> {
    let (_, rest) = help
        .split_once(&format!("{flag} <"))
        .with_context(|| format!("no {flag}"))?;
    let (_, rest) = rest
        .split_once("[default: ")
        .with_context(|| format!("{flag} has no default"))?;
    Ok(rest.split(']').next().unwrap_or_default().to_owned())
}

/// With `--help` at its end, a command line is read to the end and nothing is started.
#[test]
fn every_command_line_parses() -> Result<()> {
    for (case, values) in cases() {
        for pod in pods(&objects(&values)?) {
            for container in pod.sluice_containers() {
                let args = container["args"].as_array().context("no args")?;
                let mut args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
                args.push("--help");
                let output = sluice(&args)?;
                let error = String::from_utf8_lossy(&output.stderr);
                ensure!(
                    output.status.success(),
                    "{case}: {}: {args:?}: {error}",
                    pod.name
                );
            }
        }
    }
    Ok(())
}

#[test]
fn unknown_flag_is_detected() -> Result<()> {
    for args in [
        ["run", "--nonsense=1", "--help"],
        ["run", "--http-port=x", "--help"],
    ] {
        ensure!(!sluice(&args)?.status.success(), "{args:?}");
    }
    Ok(())
}

#[test]
fn values_match_the_defaults_of_the_flags() -> Result<()> {
    let (run, envoy, values) = (help("run")?, help("envoy")?, values()?);
    for (help, flag, pointer) in [
        (&run, "--http-port", "/dataPlane/containerPort/http"),
        (&run, "--https-port", "/dataPlane/containerPort/https"),
        (&run, "--ingress-class", "/controller/ingressClass"),
        (
            &run,
            "--controller-class",
            "/controller/ingressClassResource/controllerValue",
        ),
    ] {
        let value = values.pointer(pointer).context(pointer)?;
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        ensure!(
            default_of(help, flag)? == value,
            "{pointer} is {value}, {flag} {}",
            default_of(help, flag)?
        );
    }
    let metrics = default_of(&envoy, "--healthz-port")?;
    for pod in pods(&objects(&json!({}))?)
        .iter()
        .filter(|pod| pod.kind != "Job")
    {
        for container in pod.containers() {
            let mut ports = container["ports"].as_array().into_iter().flatten();
            let port = ports
                .find(|port| port["name"] == "metrics")
                .context("no metrics port")?;
            ensure!(
                port["containerPort"].as_u64().map(|port| port.to_string())
                    == Some(metrics.clone()),
                "{}: {port}",
                pod.name
            );
        }
    }
    Ok(())
}

/// The command line of the controller.
fn controller(values: &Value) -> Result<Vec<String>> {
    let pods = pods(&objects(values)?);
    let pod = pods
        .iter()
        .find(|pod| pod.name.ends_with("-controller"))
        .context("no controller")?;
    let args = pod
        .sluice_containers()
        .next()
        .and_then(|container| container["args"].as_array())
        .context("no args")?;
    Ok(args
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect())
}

fn with_extra(flag: &str) -> Value {
    json!({"controller": {"extraArgs": {flag: "x"}}})
}

#[test]
fn extra_args_reach_the_controller() -> Result<()> {
    let flags = json!({"status-update-interval": 1_000_000, "update-status": false, "v": "2"});
    let args = controller(&json!({"controller": {"extraArgs": flags}}))?;
    let expected = [
        "--status-update-interval=1000000",
        "--update-status=false",
        "--v=2",
    ];
    ensure!(args.ends_with(&expected.map(str::to_owned)), "{args:?}");
    Ok(())
}

/// As in ingress-nginx's chart.
#[test]
fn extra_args_without_a_value_are_flags_alone() -> Result<()> {
    let flags = json!({"enable-ssl-passthrough": "", "update-status": null});
    let args = controller(&json!({"controller": {"extraArgs": flags}}))?;
    let expected = ["--enable-ssl-passthrough", "--update-status"];
    ensure!(args.ends_with(&expected.map(str::to_owned)), "{args:?}");
    let backend = json!({"enabled": true, "extraArgs": {"verbose": ""}});
    let objects = objects(&json!({"defaultBackend": backend}))?;
    let pods = pods(&objects);
    let pod = pods
        .iter()
        .find(|pod| pod.name.ends_with("-default-backend"));
    let container = pod.and_then(|pod| pod.containers().next());
    let container = container.context("no default backend")?;
    ensure!(container["args"] == json!(["--verbose"]), "{container}");
    Ok(())
}

#[test]
fn extra_args_are_names_of_flags_without_dashes_and_values() {
    for flag in ["--v", "-v", "v=2"] {
        let error = format!("{:#}", objects(&with_extra(flag)).unwrap_err());
        let said = format!("controller.extraArgs.{flag}: expected the name of a flag");
        assert!(error.contains(&said), "{error}");
    }
}

/// Flags of `sluice run` that `sluice envoy` has too: the data plane would keep its own.
#[test]
fn extra_args_reject_flags_of_the_data_plane_and_name_its_value() {
    for (flag, value) in [
        ("shutdown-grace-period", "set dataPlane.shutdownGracePeriod"),
        ("drain-timeout", "set dataPlane.drainTimeout"),
        ("envoy-concurrency", "set dataPlane.concurrency"),
        ("zone", "set dataPlane.zone"),
        ("healthz-port", "the port 10254"),
    ] {
        let error = format!("{:#}", objects(&with_extra(flag)).unwrap_err());
        let said = format!("controller.extraArgs.{flag}: the chart sets --{flag} itself; ");
        assert!(error.contains(&said) && error.contains(value), "{error}");
    }
}

/// Both would be on the command line, and the rights, ports and mounts of the chart would belong to only one of them.
#[test]
fn extra_args_reject_flags_that_the_chart_sets() -> Result<()> {
    for (case, values) in cases() {
        let extra = values
            .pointer("/controller/extraArgs")
            .cloned()
            .unwrap_or_default();
        for flag in controller(&values)? {
            let Some((flag, _)) = flag
                .strip_prefix("--")
                .and_then(|flag| flag.split_once('='))
            else {
                continue;
            };
            if flag == "publish-service" || extra.get(flag).is_some() {
                continue;
            }
            let Err(error) = objects(&with_extra(flag)) else {
                bail!("{case}: a second --{flag} is rendered")
            };
            let said = format!("controller.extraArgs.{flag}: the chart sets --{flag} itself; ");
            ensure!(format!("{error:#}").contains(&said), "{case}: {error:#}");
        }
    }
    Ok(())
}

#[test]
fn publish_flags_in_extra_args_replace_the_charts_service() -> Result<()> {
    for flag in ["publish-service", "publish-status-address"] {
        let args = controller(&with_extra(flag))?;
        let published: Vec<_> = args
            .iter()
            .filter(|arg| arg.starts_with("--publish"))
            .collect();
        ensure!(published == [&format!("--{flag}=x")], "{args:?}");
    }
    Ok(())
}
