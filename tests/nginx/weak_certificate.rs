//! A certificate for pods that OpenSSL finds too weak costs the paths of its Ingress, and nothing else.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::dial::openssl;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;
use tempfile::TempDir;

use crate::fixture::{Fixture, HOST};
use crate::managed::reloads;

/// A certificate that is signed with SHA-1, and its key: no library of ours makes one.
fn weak() -> Result<(String, String)> {
    let folder = TempDir::new()?;
    let run = |line: &str| -> Result<()> {
        let output = Command::new("openssl")
            .current_dir(&folder)
            .args(line.split(' '))
            .output()?;
        ensure!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    };
    run("req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -keyout ca.key -out ca.crt")?;
    run("req -newkey rsa:2048 -nodes -subj /CN=weak.test -keyout tls.key -out request")?;
    run(
        "x509 -req -sha1 -in request -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out tls.crt",
    )?;
    let read = |name: &str| fs::read_to_string(folder.path().join(name));
    Ok((read("tls.crt")?, read("tls.key")?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weak_upstream_certificate_affects_only_its_ingress() -> Result<()> {
    if !openssl::is_installed() {
        return Ok(());
    }
    let (certificate, key) = weak()?;
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "weak"},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate, "tls.key": key},
    }))?;
    let ingress = Ingress::new("default", "weak")
        .host("weak.test")
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("backend-protocol", "HTTPS")
        .annotation("proxy-ssl-secret", "default/weak");
    fixture.manifests.ingress(&ingress)?;
    // It is judged before nginx sees it, which would answer 500 and say so to nobody.
    sluice.wait_for_status("weak.test", "/", 503).await?;
    let is_told = |line: &String| line.contains("got one with SHA-1 or MD5");
    ensure!(
        sluice.log().lines().iter().any(is_told),
        "{}",
        sluice.log().tail()
    );
    fixture.manifests.ingress(
        &Ingress::new("default", "more")
            .host("more.test")
            .path("/", "web", 80),
    )?;
    sluice.wait_for_status("more.test", "/", 200).await?;
    // The closed path has a profile of its own, the last one has that of the first.
    ensure!(reloads(&sluice) == 1, "{}", sluice.log().tail());
    sluice.stop()
}
