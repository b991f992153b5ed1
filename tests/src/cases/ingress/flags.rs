//! The controller's flags: which it knows, and what a case gives it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::check::PublicPorts;
use super::model::{CONTROLLER_NAMESPACE, Model};
use super::objects::{CONFIGMAP, TCP_CONFIGMAP};
use crate::artifacts;

/// Public ports of a deployment.
const PUBLIC: [(&str, &str); 2] = [("http-port", "80"), ("https-port", "443")];
/// Further flags that are not a case's to choose: they open the listeners that the runner reserves.
const OWN: [&str; 4] = [
    "healthz-port",
    "validating-webhook",
    "validating-webhook-certificate",
    "validating-webhook-key",
];

/// The arguments for a case, without the listeners.
///
/// # Errors
/// The first flag that the controller does not know, and what it was for.
pub fn of(model: &Model) -> Result<Vec<String>, String> {
    let own = |flag: &str| PUBLIC.iter().any(|(name, _)| *name == flag) || OWN.contains(&flag);
    let mut flags: Vec<String> = model
        .given
        .flags
        .iter()
        .filter(|flag| !own(name_of(flag)))
        .map(|flag| with_dashes(flag))
        .collect();
    if model.given.configmap.is_some() && model.flag("configmap").is_none() {
        flags.push(format!("--configmap={CONTROLLER_NAMESPACE}/{CONFIGMAP}"));
    }
    if !model.given.tcp.is_empty() && model.flag("tcp-services-configmap").is_none() {
        flags.push(format!(
            "--tcp-services-configmap={CONTROLLER_NAMESPACE}/{TCP_CONFIGMAP}"
        ));
    }
    // What ingress-nginx writes down of itself, Sluice writes down where it is told to.
    if !model.given.tcp.is_empty() && model.flag("access-log").is_none() {
        flags.push("--access-log".to_owned());
    }
    let known = known().map_err(|error| format!("{error:#}"))?;
    match flags.iter().find(|flag| !known.contains(name_of(flag))) {
        Some(unknown) => Err(format!("the controller has no flag --{}", name_of(unknown))),
        None => Ok(flags),
    }
}

/// Returns `true` if the controller has a flag.
pub fn is_known(name: &str) -> bool {
    known().is_ok_and(|known| known.contains(name))
}

/// The ports of a deployment that these flags make.
pub fn public_ports(model: &Model, http: u16, https: u16) -> PublicPorts {
    let public = |(flag, default): (&str, &str)| model.flag(flag).unwrap_or(default).to_owned();
    PublicPorts::new(vec![(http, public(PUBLIC[0])), (https, public(PUBLIC[1]))])
}

fn with_dashes(flag: &str) -> String {
    format!("--{}", flag.trim_start_matches('-'))
}

fn name_of(flag: &str) -> &str {
    flag.trim_start_matches('-')
        .split(['=', ' '])
        .next()
        .unwrap_or_default()
}

/// The flags of `sluice run`, from its own help.
fn known() -> Result<&'static BTreeSet<String>> {
    static KNOWN: OnceLock<BTreeSet<String>> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let output = Command::new(artifacts::sluice()?)
        .args(["run", "--help"])
        .output()
        .context("sluice run --help")?;
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let names = help
        .split("--")
        .skip(1)
        .filter_map(|text| text.split(is_end).next());
    Ok(KNOWN.get_or_init(|| names.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_flag_is_known_when_the_help_names_it() {
        let model = |flags| Model {
            given: serde_json::from_value(json!({ "flags": flags })).unwrap(),
            ..Model::default()
        };
        let flags = of(&model(json!([
            "--ingress-class=x",
            "watch-namespace=y",
            "--http-port=1080"
        ])));
        assert_eq!(flags.unwrap(), ["--ingress-class=x", "--watch-namespace=y"]);
        assert_eq!(
            of(&model(json!(["--fly=true"]))),
            Err("the controller has no flag --fly".to_owned())
        );
        let ports = public_ports(&model(json!(["--http-port=1080"])), 17_000, 17_001);
        assert_eq!(ports.publish("http://a:17000/"), "http://a:1080/");
        assert_eq!(
            (ports.publish("17001"), ports.publish("170010")),
            ("443".to_owned(), "170010".to_owned())
        );
    }
}
