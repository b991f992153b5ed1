//! R8: whoever serves holds nothing that the controller may do. What the chart gives to whom is checked in tests/packaging and
//! tests/cluster; here is what the processes have.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::apiserver::Cluster;
use sluice_tests::certificate::Pair;
use sluice_tests::manifests::Ingress;
use sluice_tests::proc;
use sluice_tests::sluice::{Options, Sluice};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    data_plane_holds_nothing_of_the_controller,
    private_files_are_readable_only_by_their_owner
);

/// The data plane and all that it has started.
fn data_plane(sluice: &Sluice) -> Result<BTreeSet<u32>> {
    let mut processes = BTreeSet::new();
    let mut next = vec![sluice.data_plane_pid().context("no data plane")?];
    while let Some(pid) = next.pop() {
        next.extend(proc::children(pid));
        processes.insert(pid);
    }
    Ok(processes)
}

fn open_files(pid: u32) -> Result<BTreeSet<String>> {
    let all = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    Ok(all
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.display().to_string()))
        .collect())
}

/// With an API server, its token and its Secrets: none of its connections and files is the data plane's, and no Secret was asked
/// for that no Ingress names.
async fn data_plane_holds_nothing_of_the_controller(plane: Plane) -> Result<()> {
    let cluster = Cluster::fake().await?;
    let namespace = cluster.namespace().to_owned();
    let pods = cluster.pods("web", 1).await?;
    cluster.service("web", &pods).await?;
    for name in ["named", "unnamed"] {
        let pair = Pair::of(&["web.test"])?;
        let data = json!({"tls.crt": pair.pem, "tls.key": pair.key});
        let metadata = json!({"namespace": namespace, "name": name});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
        cluster.apply(&secret).await?;
    }
    let mut ingress = cluster
        .ingress("web")
        .host("web.test")
        .path("/", "web", 80)
        .to_json();
    ingress["spec"]["tls"] = json!([{"hosts": ["web.test"], "secretName": "named"}]);
    cluster.apply(&ingress).await?;
    let sluice = plane.on(Options::in_cluster(&cluster)).start().await?;
    sluice.wait_for_status("web.test", "/", 308).await?;

    let kubeconfig = cluster.kubeconfig().display().to_string();
    let own = open_files(sluice.pid())?;
    for pid in data_plane(&sluice)? {
        let open = open_files(pid)?;
        ensure!(!open.contains(&kubeconfig), "{pid} has the kubeconfig open");
        let shared: Vec<_> = open
            .intersection(&own)
            .filter(|file| file.starts_with("socket:"))
            .collect();
        ensure!(
            shared.is_empty(),
            "{pid} has sockets of the controller: {shared:?}"
        );
    }
    let reads = |name: &str| {
        cluster
            .gate()
            .count("GET", &format!("/namespaces/{namespace}/secrets/{name}"))
    };
    ensure!(
        reads("named") > 0 && reads("unnamed") == 0,
        "a Secret that nobody names is read"
    );
    sluice.stop()
}

/// Keys, passwords and sockets: the folder lets nobody else in, or the file does not.
async fn private_files_are_readable_only_by_their_owner(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = Vec::new();
    for namespace in [OWNER, FOREIGN] {
        let host = format!("{namespace}.test");
        let pair = Pair::of(&[&host])?;
        let secret = |name: &str, data: serde_json::Value| {
            let metadata = json!({"namespace": namespace, "name": name});
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
        };
        objects.push(secret(
            "tls",
            json!({"tls.crt": pair.pem, "tls.key": pair.key}),
        ));
        objects.push(secret(
            "users",
            json!({"auth": "ada:{PLAIN}a-password-of-a-tenant\n"}),
        ));
        let ingress = Ingress::new(namespace, "web")
            .host(&host)
            .path("/", "web", 80);
        let mut ingress = ingress
            .annotation("auth-type", "basic")
            .annotation("auth-secret", "users")
            .to_json();
        ingress["spec"]["tls"] = json!([{"hosts": [host], "secretName": "tls"}]);
        objects.push(ingress);
    }
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("owner.test", "/", 308).await?;
    let mut seen = 0;
    walk(sluice.run_dir(), false, &mut seen)?;
    ensure!(
        seen > 0,
        "there are no files in {}",
        sluice.run_dir().display()
    );
    sluice.stop()
}

/// Walks a folder; `is_closed` says that a folder above denies other users.
fn walk(folder: &Path, is_closed: bool, seen: &mut usize) -> Result<()> {
    let is_private =
        |path: &Path| fs::metadata(path).map(|found| found.permissions().mode() & 0o077 == 0);
    let is_closed = is_closed || is_private(folder)?;
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, is_closed, seen)?;
            continue;
        }
        *seen += 1;
        let text = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        ensure!(
            !text.contains("a-password-of-a-tenant"),
            "{} has a password",
            path.display()
        );
        let is_secret =
            text.contains("PRIVATE KEY") || path.extension().is_some_and(|end| end == "sock");
        ensure!(
            !is_secret || is_closed || is_private(&path)?,
            "others can read {}",
            path.display()
        );
    }
    Ok(())
}
