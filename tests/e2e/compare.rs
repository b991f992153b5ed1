//! `sluice compare` between an Envoy and an nginx of ours: alike where they serve the same, and a difference where one of them serves
//! something else.

use std::fmt::Write;
use std::net::SocketAddr;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::process::Process;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{artifacts, wait};

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
        let arguments = ["--manifests", &folder, "--output", "json"];
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
async fn logs_and_archives_are_sent_again() -> Result<()> {
    let site = Site::start().await?;
    let network = Network::reserve()?;
    let other = Echo::start_all("other", &network.pods(1)).await?;
    other[0].script(page("other"));
    let (old, new) = (site.fixture.pods[0].addr(), other[0].addr());
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let manifests = site.manifests().dir().display().to_string();
    let mut log = String::new();
    for (method, target, upstream) in [
        ("GET", "/a", "default-web-80"),
        ("GET", "/a", "default-web-80"),
        ("POST", "/a", "default-web-80"),
        ("DELETE", "/a", "default-web-80"),
        ("GET", "/a", "default-missing-80"),
    ] {
        writeln!(
            log,
            r#"10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] "{method} {target} HTTP/1.1" 200 5 "-" "-" 93 0.004 [{upstream}] [] 10.1.0.4:80 5 0.004 200 0f1e"#
        )?;
    }
    log += "{\"host\": \"web.test\", \"method\": \"HEAD\", \"uri\": \"/b?c=d\"}\nnonsense\n";
    std::fs::write(path("log"), log)?;
    let arguments = [
        "--manifests",
        &manifests,
        "--access-log",
        &path("log"),
        "--output",
        "json",
    ];
    let output = compare(&old.to_string(), &new.to_string(), &arguments).await?;
    let found = findings(&output)?;
    // Two requests of the log are safe, and one of them, HEAD, has no body to differ.
    ensure!(output.status.code() == Some(1), "{found:#}");
    ensure!(found["summary"]["requests"] == 2, "{found:#}");
    let left_out = found["left_out"].to_string();
    for part in [
        "not readable as a request",
        "no bodies",
        "no Ingress sends the path",
    ] {
        ensure!(left_out.contains(part), "{part}: {left_out}");
    }

    let entry = |method: &str, url: &str| {
        json!({"request": {"method": method, "url": url, "headers": [
            {"name": "cookie", "value": "secret=1"}], "postData": {"text": "x"}}})
    };
    let entries = [
        entry("POST", "http://a.test/x"),
        entry("GET", "http://elsewhere.test/"),
    ];
    std::fs::write(
        path("har"),
        json!({"log": {"entries": entries}}).to_string(),
    )?;
    let har = path("har");
    let (before, without) = (other[0].hits(), ["--har", &har, "--output", "json"]);
    let refused = compare(&old.to_string(), &new.to_string(), &without).await?;
    ensure!(
        refused.status.code() == Some(2),
        "a HAR file without a host: {refused:?}"
    );
    ensure!(other[0].hits() == before, "nothing may be sent");
    let with = [&without[..], &["--host", "a.test", "--methods", "POST"]].concat();
    let output = compare(&old.to_string(), &new.to_string(), &with).await?;
    let found = findings(&output)?;
    // Once to each: it may change something.
    ensure!(
        other[0].hits() == before + 1,
        "{} hits: {found:#}",
        other[0].hits()
    );
    let differences = found["ingresses"][0]["differences"].as_array();
    let mut differences = differences.into_iter().flatten();
    ensure!(differences.any(|it| it["what"] == "body"), "{found:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mirrored_requests_of_envoy_and_nginx_are_compared_as_they_come() -> Result<()> {
    for data_plane in ["envoy", "nginx"] {
        let fixture = Fixture::start(1, 1).await?;
        let network = Network::reserve()?;
        let pods = Echo::start_all("side", &network.pods(2)).await?;
        pods[0].script(page("old"));
        pods[1].script(page("new"));
        let port = Port::reserve()?;
        let mirrored = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80)
            .annotation(
                "mirror-target",
                &format!("http://{}$request_uri", port.addr()),
            );
        fixture
            .manifests
            .ingress(&mirrored.annotation("mirror-host", HOST))?;
        let allowed = ["--allow-upstream-cidr", "127.0.0.0/8"].map(str::to_owned);
        let front = Options::new(&fixture.manifests)
            .data_plane(data_plane)
            .arguments(allowed.to_vec());
        let front = front.start().await?;
        front.wait_for_status(HOST, "/", 200).await?;
        let folder = fixture.manifests.dir().display().to_string();

        let mut live = start_live(pods[0].addr(), pods[1].addr(), port.addr(), &folder)?;
        live.log().wait_for("taking mirrored requests").await?;
        let seen = async || {
            front.get(HOST, "/seen").await.ok()?;
            says(&live, "default/web: body: ").then_some(())
        };
        wait::until("a difference", seen)
            .await
            .with_context(|| live.log().tail())?;
        let post = Request::new("POST", HOST, "/changes").body("x");
        http::send(front.http(), &post).await?;
        live.terminate();
        let status = live.stop()?;
        ensure!(status.code() == Some(1), "{status}: {}", live.log().tail());
        ensure!(
            says(&live, "GET http://web.test/seen"),
            "{}",
            live.log().tail()
        );

        // A request that would come back for ever is seen once.
        let mut live = start_live(front.http(), pods[1].addr(), port.addr(), &folder)?;
        live.log().wait_for("taking mirrored requests").await?;
        let before = fixture.pods[0].hits();
        front.get(HOST, "/loop").await?;
        wait::until("the request that comes back", async || {
            (fixture.pods[0].hits() >= before + 2).then_some(())
        })
        .await?;
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let hits = fixture.pods[0].hits() - before;
        live.terminate();
        live.stop()?;
        // The client's, and at most twelve attempts for the one difference.
        ensure!(hits <= 13, "{hits} requests");
        ensure!(says(&live, "mirrored once more"), "{}", live.log().tail());
        front.stop()?;
    }
    Ok(())
}

fn says(process: &Process, text: &str) -> bool {
    let lines = process.log().lines();
    lines.iter().any(|line| line.contains(text))
}

fn start_live(
    old: SocketAddr,
    new: SocketAddr,
    listen: SocketAddr,
    folder: &str,
) -> Result<Process> {
    let mut command = Command::new(artifacts::sluice()?);
    command.args([
        "compare",
        "--old",
        &old.to_string(),
        "--new",
        &new.to_string(),
    ]);
    command.args(["--listen", &listen.to_string(), "--manifests", folder]);
    Process::spawn(command)
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
