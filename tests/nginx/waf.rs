//! ModSecurity's module in nginx: core rules that are parsed once. What all data planes do is in `tests/e2e/firewall.rs`.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST};

const ATTACK: &str = "/?q=1%27%20or%20%271%27=%271%27--%20-";
const SWITCHED_ON: &str = "SecRuleEngine On";

/// An Ingress of a host with all its paths, and these annotations.
fn ingress(name: &str, host: &str, annotations: &[(&str, &str)]) -> Ingress {
    let ingress = Ingress::new("default", name)
        .host(host)
        .path("/", "web", 80);
    annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    })
}

/// Serves these hosts beside one without annotations, under a ConfigMap.
async fn serve(
    settings: &[(&str, &str)],
    hosts: &[(&str, &[(&str, &str)])],
) -> Result<(Fixture, Sluice)> {
    let fixture = Fixture::start(1, 1).await?;
    for (host, annotations) in hosts {
        let name = host.replace('.', "-");
        fixture
            .manifests
            .ingress(&ingress(&name, host, annotations))?;
    }
    configure(&fixture, settings)?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let options = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx");
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok((fixture, sluice))
}

fn configure(fixture: &Fixture, settings: &[(&str, &str)]) -> Result<()> {
    let mut data =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    for (key, value) in settings {
        data[*key] = json!(value);
    }
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"},
        "data": data,
    }))
}

async fn ensure_status(sluice: &Sluice, host: &str, target: &str, status: u16) -> Result<()> {
    let answer = sluice.get(host, target).await?;
    ensure!(
        answer.status == status,
        "{host}{target}: expected {status}, got {answer:?}\n{}",
        sluice.log().tail()
    );
    Ok(())
}

/// The core rules are around both hosts, as the other one has them, too.
#[tokio::test]
async fn a_host_without_core_rules_is_left_alone_by_those_of_others() -> Result<()> {
    let core: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", SWITCHED_ON),
    ];
    let rules = format!("{SWITCHED_ON}\nSecRule ARGS:q \"@streq bad\" \"id:900500,phase:2,deny\"");
    let own: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &rules),
    ];
    let (fixture, sluice) = serve(
        &[],
        &[("a.test", core), ("b.test", core), ("own.test", own)],
    )
    .await?;
    let text = std::fs::read_to_string(sluice.run_dir().join("nginx/nginx.conf"))?;
    ensure!(text.matches("modsecurity on;").count() == 3, "{text}");
    for host in ["a.test", "b.test"] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
    }
    ensure_status(&sluice, "own.test", ATTACK, 200).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    drop(fixture);
    sluice.stop()
}
