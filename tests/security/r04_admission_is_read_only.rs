//! R4: an admission is a function of the object and of what is known already. It starts nothing, writes nothing, opens nothing
//! and tells the data plane nothing, whatever the object says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;
use sluice_tests::connection::Connection;
use sluice_tests::hostile::ingresses;
use sluice_tests::http::Request;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::proc;
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(admission_review_has_no_side_effects);

const NAME: &str = "webhook.sluice.svc";
/// Every so many of the hostile objects: each costs a handshake.
const STEP: usize = 8;

/// Places where a side effect would show.
#[derive(Debug, PartialEq, Eq)]
struct SideEffects {
    processes: BTreeSet<u32>,
    /// Open files, without sockets and pipes.
    open: BTreeSet<String>,
    files: BTreeSet<(String, u64, SystemTime)>,
}

impl SideEffects {
    fn observe(sluice: &Sluice) -> Result<SideEffects> {
        let mut processes = BTreeSet::new();
        let mut next = vec![sluice.pid()];
        while let Some(pid) = next.pop() {
            next.extend(proc::children(pid));
            processes.insert(pid);
        }
        let open = fs::read_dir(format!("/proc/{}/fd", sluice.pid()))?.flatten();
        let open =
            open.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.display().to_string()));
        let mut files = BTreeSet::new();
        walk(sluice.run_dir(), &mut files)?;
        Ok(SideEffects {
            processes,
            open: open.filter(|file| file.starts_with('/')).collect(),
            files,
        })
    }
}

/// Logs grow by themselves.
fn walk(folder: &Path, found: &mut BTreeSet<(String, u64, SystemTime)>) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_none_or(|extension| extension != "log") {
            found.insert((
                path.display().to_string(),
                metadata.len(),
                metadata.modified()?,
            ));
        }
    }
    Ok(())
}

async fn review(port: &Port, authority: &str, object: &Value) -> Result<bool> {
    let metadata = &object["metadata"];
    let request = json!({
        "uid": "9", "kind": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"},
        "namespace": metadata["namespace"], "name": metadata["name"], "object": object,
    });
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let request = Request::new("POST", NAME, "/networking/v1/ingresses").body(review.to_string());
    let answer = Connection::open_trusted(port.addr(), NAME, authority)
        .await?
        .send(&request)
        .await?;
    ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
    answer.json()?["response"]["allowed"]
        .as_bool()
        .context("an answer")
}

/// Flags of a webhook, and the authority of its certificate.
fn webhook(port: &Port, folder: &Path) -> Result<(Vec<String>, String)> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let file = |name: &str| folder.join(name).display().to_string();
    fs::write(file("key"), made.signing_key.serialize_pem())?;
    fs::write(file("chain"), made.cert.pem())?;
    let flags = vec![
        format!("--validating-webhook={}", port.addr()),
        format!("--validating-webhook-certificate={}", file("chain")),
        format!("--validating-webhook-key={}", file("key")),
    ];
    Ok((flags, made.cert.pem()))
}

async fn admission_review_has_no_side_effects(plane: Plane) -> Result<()> {
    let (tenants, port, folder) = (
        Tenants::start().await?,
        Port::reserve()?,
        tempfile::tempdir()?,
    );
    let (flags, authority) = webhook(&port, folder.path())?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "own")
            .host("own.test")
            .path("/", "web", 80),
    )?;
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flags)
        .start()
        .await?;
    sluice.wait_for_pod("own.test", OWNER).await?;
    // What is read once is read.
    review(&port, &authority, &Ingress::new(FOREIGN, "first").to_json()).await?;
    let before = SideEffects::observe(&sluice)?;
    let (mut allowed, mut refused, mut hosts) = (0, 0, Vec::new());
    for mut object in ingresses("web").into_iter().step_by(STEP) {
        object["metadata"]["namespace"] = FOREIGN.into();
        let is_allowed = review(&port, &authority, &object).await?;
        (allowed, refused) = (
            allowed + usize::from(is_allowed),
            refused + usize::from(!is_allowed),
        );
        let host = object["spec"]["rules"][0]["host"].as_str();
        hosts.extend(host.filter(|_| is_allowed).map(str::to_owned));
    }
    ensure!(
        allowed > 10 && refused > 10,
        "{allowed} were let in, {refused} were refused"
    );
    ensure!(
        SideEffects::observe(&sluice)? == before,
        "{before:?}\n{:?}",
        SideEffects::observe(&sluice)?
    );
    for host in hosts
        .iter()
        .filter(|host| host.ends_with(".hostile.test"))
        .step_by(STEP)
    {
        ensure!(
            sluice.get(host, "/a").await?.status == 404,
            "{host} is served"
        );
    }
    ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
    sluice.stop()
}

/// The translation, which judges, has no access to files, processes or a network.
#[test]
fn translation_performs_no_io() -> Result<()> {
    let banned = [
        "std::fs",
        "std::process",
        "std::net::Tcp",
        "std::net::Udp",
        "UnixStream",
        "std::env",
        "tokio",
        "unsafe",
    ];
    let mut files = Vec::new();
    for folder in [
        "controller/translate/src",
        "controller/translate/engine/src",
        "controller/translate/syntax/src",
        "controller/pattern/src",
        "controller/ir/src",
    ] {
        collect(&repository().join(folder), &mut files)?;
    }
    ensure!(files.len() > 100, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file)?;
        let code = text.lines().filter_map(|line| line.split("//").next());
        let found = code.flat_map(|line| banned.iter().filter(move |word| line.contains(**word)));
        let found: BTreeSet<_> = found.collect();
        ensure!(found.is_empty(), "{}: {found:?}", file.display());
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
