//! `sluice compare` between an Envoy and an nginx of ours: alike where they serve the same, and a difference where one of them serves
//! something else.

mod canary;
mod live;
mod recorded;

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts;
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::echo::Echo;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST};

fn page(body: &str) -> Script {
    let answer = Answer {
        headers: vec![
            ("x-app".to_owned(), "1".to_owned()),
            ("set-cookie".to_owned(), "theme=dark; Path=/".to_owned()),
        ],
        body: Some(body.to_owned()),
        ..Answer::default()
    };
    Script::echo().answer("*", answer)
}

/// A few of everything that an Ingress can ask of a data plane.
struct Site {
    fixture: Fixture,
    _canary: Vec<Echo>,
    _network: Network,
}

impl Site {
    async fn start() -> Result<Site> {
        let fixture = Fixture::start(2, 2).await?;
        for pod in &fixture.pods {
            pod.script(page("hello"));
        }
        let network = Network::reserve()?;
        let canary = Echo::start_all("new", &network.pods(1)).await?;
        canary[0].script(page("new"));
        let manifests = &fixture.manifests;
        manifests.service("default", "new", 80, &[canary[0].addr()])?;
        // Canaries of a Service are those of all Ingresses that it is behind.
        let pods: Vec<_> = fixture.pods.iter().map(Echo::addr).collect();
        manifests.service("default", "own", 80, &pods)?;
        manifests.object(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"},
            "stringData": {"auth": format!("foo:{}\n", bcrypt::hash("bar", 4)?)},
        }))?;
        for (name, annotations) in INGRESSES {
            manifests.ingress(&ingress(name, annotations))?;
        }
        let chosen = Ingress::new("default", "canary")
            .host("sticky.test")
            .path("/", "new", 80);
        let chosen = chosen.annotation("canary", "true");
        manifests.ingress(&chosen.annotation("canary-by-header", "x-new"))?;
        Pair::renew(manifests, "certificate", &["secure.test"])?;
        manifests.object(&presented("secure", "secure.test", "certificate"))?;
        Ok(Site {
            fixture,
            _canary: canary,
            _network: network,
        })
    }

    fn manifests(&self) -> &Manifests {
        &self.fixture.manifests
    }

    /// A copy, in which one Ingress is another.
    fn changed(&self, name: &str, annotations: &[(&str, &str)]) -> Result<Manifests> {
        let copy = Manifests::copy_of(self.manifests().dir())?;
        copy.ingress(&ingress(name, annotations))?;
        Ok(copy)
    }
}

const INGRESSES: &[(&str, &[(&str, &str)])] = &[
    ("api", &[("use-regex", "true"), ("rewrite-target", "/$2")]),
    (
        "cors",
        &[
            ("enable-cors", "true"),
            ("cors-allow-origin", "https://app.example"),
        ],
    ),
    ("login", &[("auth-type", "basic"), ("auth-secret", "users")]),
    ("moved", &[("permanent-redirect", "https://new.example/x")]),
    ("root", &[("app-root", "/start")]),
    ("sticky", &[("affinity", "cookie")]),
];

fn ingress(name: &str, annotations: &[(&str, &str)]) -> Ingress {
    let host = format!("{name}.test");
    let ingress = Ingress::new("default", name).host(&host);
    let ingress = match name {
        "api" => ingress.typed_path("ImplementationSpecific", "/api(/|$)(.*)", "web", 80),
        _ => ingress
            .path("/", "web", 80)
            .typed_path("Exact", "/only", "web", 80),
    };
    annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    })
}

async fn serve(manifests: &Manifests, data_plane: &str) -> Result<Sluice> {
    let sluice = Options::new(manifests)
        .data_plane(data_plane)
        .start()
        .await?;
    for host in ["sticky.test", HOST] {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    Ok(sluice)
}

fn urls(sluice: &Sluice) -> String {
    format!("http://{},https://{}", sluice.http(), sluice.https())
}

/// Runs it beside the pods.
async fn compare(old: &str, new: &str, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(artifacts::sluice()?);
    command.args(["compare", "--old", old, "--new", new, "--insecure"]);
    command.args(["--rate", "100", "--ignore-header", "x-pod"]);
    command.args(arguments);
    Ok(tokio::task::spawn_blocking(move || command.output()).await??)
}

fn findings(output: &Output) -> Result<Value> {
    serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Verdict of each Ingress.
fn verdicts(findings: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = findings["ingresses"].as_array().into_iter().flatten();
    all.map(|finding| (text(&finding["name"]), text(&finding["verdict"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_and_nginx_answer_alike() -> Result<()> {
    let site = Site::start().await?;
    let envoy = serve(site.manifests(), "envoy").await?;
    let nginx = serve(site.manifests(), "nginx").await?;
    let folder = site.manifests().dir().display().to_string();
    let arguments = ["--manifests", &folder, "--output", "json"];
    let output = compare(&urls(&nginx), &urls(&envoy), &arguments).await?;
    let found = findings(&output)?;
    let verdicts = verdicts(&found);
    ensure!(
        output.status.code() == Some(0) && verdicts.iter().all(|(_, verdict)| verdict == "same"),
        "{found:#}"
    );
    let names: Vec<&str> = verdicts.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "api", "cors", "login", "moved", "root", "secure", "sticky", "web",
    ] {
        ensure!(
            names.contains(&format!("default/{name}").as_str()),
            "{names:?}"
        );
    }
    // Nothing of that was said because nothing was asked.
    ensure!(
        found["summary"]["requests"].as_u64() > Some(60),
        "{found:#}"
    );
    envoy.stop()?;
    nginx.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_annotation_is_a_difference_of_its_ingress_alone() -> Result<()> {
    let site = Site::start().await?;
    let old = serve(site.manifests(), "nginx").await?;
    let folder = site.manifests().dir().display().to_string();
    for (name, annotations, what) in [
        (
            "moved",
            &[("permanent-redirect", "https://other.example/x")][..],
            "Location",
        ),
        ("login", &[], "status"),
        (
            "cors",
            &[("enable-cors", "true")],
            "header access-control-allow-origin",
        ),
        (
            "sticky",
            &[("affinity", "cookie"), ("session-cookie-path", "/x")],
            "cookie INGRESSCOOKIE",
        ),
    ] {
        let changed = site.changed(name, annotations)?;
        let new = serve(&changed, "envoy").await?;
        let arguments = [
            "--manifests",
            &folder,
            "--output",
            "json",
            "--max-requests",
            "8",
        ];
        let output = compare(&urls(&old), &urls(&new), &arguments).await?;
        let found = findings(&output)?;
        new.stop()?;
        let differing: Vec<String> = verdicts(&found)
            .into_iter()
            .filter(|(_, verdict)| verdict != "same")
            .map(|(name, _)| name)
            .collect();
        ensure!(
            differing == [format!("default/{name}")],
            "{name}: {found:#}"
        );
        ensure!(output.status.code() == Some(1), "{name}");
        let differences = found["ingresses"].as_array().into_iter().flatten();
        let mut differences = differences
            .flat_map(|it| it["differences"].as_array())
            .flatten();
        ensure!(
            differences.any(|it| it["what"] == what),
            "{name}: {found:#}"
        );
    }
    old.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_verified_and_compared() -> Result<()> {
    let site = Site::start().await?;
    let pair = Pair::renew(site.manifests(), "certificate", &["secure.test"])?;
    let other = Manifests::copy_of(site.manifests().dir())?;
    Pair::renew(&other, "certificate", &["secure.test"])?;
    let old = serve(site.manifests(), "nginx").await?;
    let new = serve(&other, "envoy").await?;
    let folder = site.manifests().dir().display().to_string();
    let (known, unknown) = (site.manifests().dir().join("ca.pem"), "/nonexistent");
    std::fs::write(&known, &pair.pem)?;
    let run = async |new: &Sluice, authorities: &str, more: &[&str]| {
        let mut command = Command::new(artifacts::sluice()?);
        command.args(["compare", "--old", &urls(&old), "--new", &urls(new)]);
        command.args(["--host", "secure.test", "--output", "json"]);
        command.args(["--ignore-header", "x-pod"]);
        command.args(["--manifests", &folder]).args(more);
        command.env("SSL_CERT_FILE", authorities);
        command.env("SSL_CERT_DIR", unknown);
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        Ok::<_, anyhow::Error>(findings(&output)?["ingresses"].to_string())
    };
    let known = known.display().to_string();
    let untrusted = run(&old, unknown, &[]).await?;
    let expected = "old: TLS: its certificate is signed by no authority of this machine; SSL_CERT_FILE names authorities, \
                    and --insecure does not verify certificates";
    ensure!(untrusted.contains(expected), "{untrusted}");
    let trusted = run(&old, &known, &[]).await?;
    ensure!(!trusted.contains("TLS: "), "{trusted}");
    let changed = run(&new, &known, &[]).await?;
    ensure!(changed.contains("new: TLS: "), "{changed}");
    let unverified = run(&new, unknown, &["--insecure"]).await?;
    ensure!(
        unverified.contains("\"what\":\"certificate\"") && !unverified.contains("TLS: "),
        "{unverified}"
    );
    old.stop()?;
    new.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_compared_is_exit_code_2() -> Result<()> {
    let site = Site::start().await?;
    let folder = site.manifests().dir().display().to_string();
    let (gone, old) = (Port::reserve()?, site.fixture.pods[0].addr().to_string());
    let gone = gone.addr().to_string();
    for (old, new) in [(&old, &gone), (&gone, &old), (&gone, &gone)] {
        let arguments = ["--manifests", &folder, "--output", "json"];
        let output = compare(old, new, &arguments).await?;
        let found = findings(&output)?;
        ensure!(output.status.code() == Some(2), "{old} {new}: {found:#}");
        ensure!(found["failure"].is_string(), "{found:#}");
        ensure!(found["summary"]["same"] == 0, "{found:#}");
    }
    let nothing = compare(&old, &old, &[]).await?;
    ensure!(nothing.status.code() == Some(2) && nothing.stdout.is_empty());
    Ok(())
}
