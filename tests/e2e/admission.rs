//! The validating webhook, asked over TLS as the API server asks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::http::Request;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{http, wait};

use crate::fixture::{Fixture, HOST};

const NAME: &str = "webhook.sluice.svc";

/// A self-signed certificate in the two files that the flags name, as a mounted Secret has them.
pub(crate) struct Certificate {
    folder: tempfile::TempDir,
}

impl Certificate {
    pub(crate) fn new() -> Result<Self> {
        let certificate = Certificate {
            folder: tempfile::tempdir()?,
        };
        certificate.renew()?;
        Ok(certificate)
    }

    fn renew(&self) -> Result<()> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        fs::write(self.key(), made.signing_key.serialize_pem())?;
        fs::write(self.chain(), made.cert.pem())?;
        Ok(())
    }

    fn chain(&self) -> PathBuf {
        self.folder.path().join("cert")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// Arguments of a controller that serves the webhook here.
    pub(crate) fn arguments(&self, port: &Port) -> Vec<String> {
        let flags = [
            ("--validating-webhook", port.addr().to_string()),
            (
                "--validating-webhook-certificate",
                self.chain().display().to_string(),
            ),
            ("--validating-webhook-key", self.key().display().to_string()),
        ];
        flags
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect()
    }
}

struct Webhook {
    sluice: Sluice,
    port: Port,
    certificate: Certificate,
}

impl Webhook {
    async fn start(fixture: &Fixture) -> Result<Self> {
        let (port, certificate) = (Port::reserve()?, Certificate::new()?);
        let sluice = Options::new(&fixture.manifests)
            .arguments(certificate.arguments(&port))
            .start()
            .await?;
        Ok(Webhook {
            sluice,
            port,
            certificate,
        })
    }

    /// Asks on a connection of its own, trusting this authority.
    async fn review(&self, authority: &Path, ingress: &Value) -> Result<Value> {
        let authority = fs::read_to_string(authority)?;
        let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"});
        let request = json!({
            "uid": "9", "kind": kind, "namespace": "default", "name": ingress["metadata"]["name"], "object": ingress,
        });
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let request = Request::new("POST", NAME, "/networking/v1/ingresses?timeout=10s")
            .header("content-type", "application/json")
            .body(review.to_string());
        let answer = Connection::open_trusted(self.port.addr(), NAME, &authority)
            .await?
            .send(&request)
            .await?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
        Ok(answer.json()?["response"].take())
    }
}

fn ingress(name: &str, host: &str, path: &str) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name},
        "spec": {"ingressClassName": "nginx", "rules": [
            {"host": host, "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]}},
        ]},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_denies_ingresses_that_would_not_be_served() -> Result<()> {
    let webhook = Webhook::start(&Fixture::start(1, 1).await?).await?;
    let authority = webhook.certificate.chain();
    let good = webhook
        .review(&authority, &ingress("new", "new.test", "/"))
        .await?;
    ensure!(good == json!({"uid": "9", "allowed": true}), "{good}");
    let taken = webhook
        .review(&authority, &ingress("new", HOST, "/"))
        .await?;
    let message = taken["status"]["message"].as_str().unwrap_or_default();
    ensure!(
        message.contains("is already defined in ingress default/web"),
        "{taken}"
    );
    let owner = webhook
        .review(&authority, &ingress("web", HOST, "/"))
        .await?;
    ensure!(owner["allowed"] == true, "{owner}");
    let metrics = http::get(webhook.sluice.health(), "metrics", "/metrics")
        .await?
        .text();
    let refused = metrics
        .lines()
        .find(|line| line.starts_with("nginx_ingress_controller_check_errors{"));
    ensure!(
        refused.is_some_and(|line| line.contains("ingress=\"new\"") && line.ends_with(" 1")),
        "{refused:?}"
    );
    webhook.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_loads_a_renewed_certificate_and_ignores_a_broken_one() -> Result<()> {
    let webhook = Webhook::start(&Fixture::start(1, 1).await?).await?;
    let old = webhook.certificate.folder.path().join("old");
    fs::copy(webhook.certificate.chain(), &old)?;
    webhook.certificate.renew()?;
    let renewed = async || {
        webhook
            .review(
                &webhook.certificate.chain(),
                &ingress("new", "new.test", "/"),
            )
            .await
            .ok()
    };
    wait::until("the new certificate", renewed).await?;
    ensure!(
        webhook
            .review(&old, &ingress("new", "new.test", "/"))
            .await
            .is_err(),
        "the old one is gone"
    );
    let authority = webhook.certificate.folder.path().join("authority");
    fs::copy(webhook.certificate.chain(), &authority)?;
    fs::write(webhook.certificate.key(), "no key")?;
    let reported = async || {
        let lines = webhook.sluice.log().lines();
        lines
            .iter()
            .any(|line| line.contains("previous one kept"))
            .then_some(())
    };
    wait::until("the log to name the broken key", reported).await?;
    ensure!(
        webhook
            .review(&authority, &ingress("new", "new.test", "/"))
            .await?["allowed"]
            == true
    );
    webhook.sluice.stop()
}
