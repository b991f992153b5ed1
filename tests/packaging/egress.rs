//! Egress of controller and data plane: any upstream, on any port, and no metadata service (R9).

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_translate::METADATA_NETWORKS;

use crate::cases::cases;
use crate::chart::objects;

/// Refused as a whole by the controller's own policy; metadata services of most clouds are in them.
const LINK_LOCAL: [&str; 2] = ["169.254.0.0/16", "fe80::/10"];

fn array<'a>(value: &'a Value, pointer: &str) -> Vec<&'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

/// The peers of a rule, unless it is for DNS servers only.
fn is_only_dns(rule: &Value) -> bool {
    let ports = array(rule, "/ports");
    !ports.is_empty() && ports.iter().all(|port| port["port"] == 53)
}

/// A policy that leaves out these networks and nothing else.
fn ensure_open(policy: &Value, expected: &BTreeSet<String>) -> Result<()> {
    ensure!(
        array(policy, "/spec/policyTypes")
            .iter()
            .any(|kind| **kind == "Egress"),
        "no Egress"
    );
    let rules = array(policy, "/spec/egress");
    let wide: Vec<&Value> = rules
        .into_iter()
        .filter(|rule| !is_only_dns(rule))
        .collect();
    let [rule] = wide.as_slice() else {
        anyhow::bail!("{wide:?}")
    };
    ensure!(rule.get("ports").is_none(), "only some ports: {rule}");
    let peers = array(rule, "/to");
    // A rule without peers leads everywhere.
    ensure!(!peers.is_empty(), "everywhere");
    let pods = peers
        .iter()
        .any(|peer| peer["namespaceSelector"] == serde_json::json!({}));
    ensure!(pods, "no pods, which some networks find by no address");
    let blocks: Vec<&Value> = peers
        .iter()
        .map(|peer| &peer["ipBlock"])
        .filter(|b| !b.is_null())
        .collect();
    let whole: BTreeSet<&str> = blocks
        .iter()
        .filter_map(|block| block["cidr"].as_str())
        .collect();
    ensure!(whole == BTreeSet::from(["0.0.0.0/0", "::/0"]), "{whole:?}");
    let excepted = blocks.iter().flat_map(|block| array(block, "/except"));
    let excepted: BTreeSet<String> = excepted
        .map(|range| range.as_str().map(str::to_owned).context("a range"))
        .collect::<Result<_>>()?;
    ensure!(
        excepted == *expected,
        "expected {expected:?}, got {excepted:?}"
    );
    Ok(())
}

#[test]
fn egress_allows_upstreams_on_any_port_except_metadata_services() -> Result<()> {
    let metadata = METADATA_NETWORKS
        .iter()
        .map(|(network, length)| format!("{network}/{length}"));
    let expected: BTreeSet<String> = metadata.chain(LINK_LOCAL.map(str::to_owned)).collect();
    let mut policies = 0;
    for (case, values) in cases() {
        let objects = objects(&values)?;
        for policy in objects
            .iter()
            .filter(|object| object["kind"] == "NetworkPolicy")
            // The default backend asks nobody.
            .filter(|policy| policy["spec"]["egress"] != serde_json::json!([]))
        {
            policies += 1;
            ensure_open(policy, &expected)
                .with_context(|| format!("{case}: {}", policy["metadata"]["name"]))?;
        }
    }
    ensure!(policies > 2, "{policies} policies");
    Ok(())
}
