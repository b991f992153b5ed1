//! Envoy is given more than routes, and may refuse any of it: filter chains of hosts, clusters, certificates. Each costs the object
//! that it comes from, whenever the controller or its data plane starts. Faults of the controller (`tasks/fault.rs`) make a real
//! Envoy refuse them; nginx has all of that in one file.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::connection::Connection;
use sluice_tests::faults::Faults;
use sluice_tests::http::{Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{process, wait};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    rejected_filter_chain_affects_only_its_host,
    rejected_cluster_affects_only_its_backend,
    rejected_certificate_affects_only_its_host,
);

const INNOCENT: usize = 9;
const BAD: &str = "bad.test";
/// No other host has them in this order.
const CIPHERS: &str = "AES256-SHA:AES128-SHA";
/// One of them, as Envoy has them: one by one, and by default none of those without ephemeral keys.
const CIPHER: &str = "AES256-SHA";

/// Innocent hosts with certificates, and a culprit among them.
struct Site {
    plane: Plane,
    tenants: Tenants,
    faults: Faults,
    sluice: Sluice,
    former: Vec<Sluice>,
}

impl Site {
    /// Everything is there before the first one looks.
    async fn start(plane: Plane, faults: Faults, culprit: &[Value]) -> Result<Site> {
        let tenants = Tenants::start().await?;
        for number in 0..INNOCENT {
            tenants.write(
                &format!("own-{number}.yaml"),
                &host(OWNER, &innocent(number), &format!("own-{number}"))?,
            )?;
        }
        tenants.write("bad.yaml", culprit)?;
        let sluice = options(plane, &tenants, &faults).start().await?;
        Ok(Site {
            plane,
            tenants,
            faults,
            sluice,
            former: Vec::new(),
        })
    }

    async fn restart_controller(&mut self) -> Result<()> {
        self.sluice.kill()?;
        let next = options(self.plane, &self.tenants, &self.faults)
            .after(&self.sluice)
            .start()
            .await?;
        self.former.push(std::mem::replace(&mut self.sluice, next));
        Ok(())
    }

    async fn restart_data_plane(&self) -> Result<()> {
        let former = self.sluice.data_plane_pid().context("no data plane")?;
        process::kill(former);
        let again = async || self.sluice.data_plane_pid().filter(|pid| *pid != former);
        wait::until("another data plane", again).await.map(drop)
    }

    fn write(&self, culprit: &[Value]) -> Result<()> {
        self.tenants.write("bad.yaml", culprit)
    }

    async fn answers(&self, host: &str, what: &str, is: impl Fn(&Response) -> bool) -> Result<()> {
        let answers = async || https(&self.sluice, host).await.ok().filter(&is);
        let waited = wait::until(&format!("{host} to answer {what}"), answers).await;
        waited
            .map(drop)
            .with_context(|| format!("the log ends\n{}", self.sluice.log().tail()))
    }

    async fn is_served(&self, host: &str, pod: &str) -> Result<()> {
        self.answers(host, pod, |page| page.pod() == Some(pod))
            .await
    }

    async fn is_not_served(&self) -> Result<()> {
        self.answers(BAD, "with 503", |page| page.status == 503)
            .await
    }

    /// Those who did nothing, and one that comes now, with a certificate of its own.
    async fn others_are_served(&self, late: &str) -> Result<()> {
        for number in 0..INNOCENT {
            self.is_served(&innocent(number), OWNER).await?;
        }
        self.tenants
            .write(&format!("{late}.yaml"), &host(OWNER, late, late)?)?;
        self.is_served(late, OWNER).await?;
        let other = Connection::open_tls(self.sluice.https(), "nobody.test").await?;
        let presents = async || {
            let connection = Connection::open_tls(self.sluice.https(), late).await.ok()?;
            (connection.certificate() != other.certificate()).then_some(())
        };
        let waited = wait::until(&format!("{late} to present its own certificate"), presents).await;
        waited
            .map(drop)
            .with_context(|| format!("the log ends\n{}", self.sluice.log().tail()))
    }
}

fn options(plane: Plane, tenants: &Tenants, faults: &Faults) -> Options {
    faults.for_controller(plane.options(&tenants.manifests))
}

async fn https(sluice: &Sluice, host: &str) -> Result<Response> {
    Connection::open_tls(sluice.https(), host)
        .await?
        .send(&Request::get(host, "/"))
        .await
}

fn innocent(number: usize) -> String {
    format!("own-{number}.test")
}

/// An Ingress with a certificate.
fn ingress(namespace: &str, host: &str, name: &str) -> (Ingress, Value) {
    let ingress = Ingress::new(namespace, name)
        .host(host)
        .path("/", "web", 80);
    (ingress, json!([{"hosts": [host], "secretName": name}]))
}

fn secret(namespace: &str, host: &str, name: &str) -> Result<Value> {
    let pair = Pair::of(&[host])?;
    let data = json!({"tls.crt": pair.pem, "tls.key": pair.key, "ca.crt": pair.pem});
    let metadata = json!({"namespace": namespace, "name": name});
    Ok(
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "stringData": data}),
    )
}

fn host(namespace: &str, host: &str, name: &str) -> Result<[Value; 2]> {
    with(namespace, host, name, &[])
}

fn with(
    namespace: &str,
    host: &str,
    name: &str,
    annotations: &[(&str, &str)],
) -> Result<[Value; 2]> {
    let (ingress, tls) = ingress(namespace, host, name);
    let said = annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    });
    let mut object = said.to_json();
    object["spec"]["tls"] = tls;
    Ok([object, secret(namespace, host, name)?])
}

fn faults(plane: Plane) -> Result<Faults> {
    let faults = Faults::new()?;
    match plane {
        Plane::Nginx => faults.spoil(CIPHERS)?,
        Plane::EnvoyTable | Plane::EnvoyScopes => faults.spoil_xds(CIPHER)?,
    }
    Ok(faults)
}

async fn rejected_filter_chain_affects_only_its_host(plane: Plane) -> Result<()> {
    let culprit = || with(FOREIGN, BAD, "bad", &[("ssl-ciphers", CIPHERS)]);
    let mut site = Site::start(plane, faults(plane)?, &culprit()?).await?;
    site.others_are_served("late.test").await?;
    site.is_not_served().await?;
    let reported = "Ingress foreign/bad: spec.rules of host bad.test: refused by the data plane";
    site.sluice.log().wait_for(reported).await?;
    site.restart_controller().await?;
    site.others_are_served("later.test").await?;
    site.is_not_served().await?;
    site.restart_data_plane().await?;
    site.others_are_served("last.test").await?;
    site.is_not_served().await?;

    site.write(&host(FOREIGN, BAD, "bad")?)?;
    site.is_served(BAD, FOREIGN).await?;
    site.others_are_served("between.test").await?;
    // What was accepted is served on, with what it presents.
    site.write(&culprit()?)?;
    site.sluice
        .log()
        .wait_for("what was accepted before is served")
        .await?;
    site.others_are_served("very-last.test").await?;
    site.is_served(BAD, FOREIGN).await?;
    site.sluice.stop()
}

async fn rejected_cluster_affects_only_its_backend(plane: Plane) -> Result<()> {
    let towards_pods = [
        ("backend-protocol", "HTTPS"),
        ("proxy-ssl-secret", "foreign/bad"),
        ("proxy-ssl-ciphers", CIPHERS),
    ];
    let culprit = || with(FOREIGN, BAD, "bad", &towards_pods);
    let mut site = Site::start(plane, faults(plane)?, &culprit()?).await?;
    site.others_are_served("late.test").await?;
    site.is_not_served().await?;
    site.sluice.log().wait_for("Ingress foreign/bad: ").await?;
    site.sluice
        .log()
        .wait_for("refused by the data plane")
        .await?;
    site.restart_controller().await?;
    site.others_are_served("later.test").await?;
    site.restart_data_plane().await?;
    site.others_are_served("last.test").await?;
    site.is_not_served().await?;
    site.write(&host(FOREIGN, BAD, "bad")?)?;
    site.is_served(BAD, FOREIGN).await?;
    site.write(&culprit()?)?;
    site.others_are_served("very-last.test").await?;
    site.sluice.stop()
}

/// nginx reads a certificate when a client asks for it.
async fn rejected_certificate_affects_only_its_host(plane: Plane) -> Result<()> {
    if plane == Plane::Nginx {
        return Ok(());
    }
    let faults = Faults::new()?;
    faults.spoil_secret(FOREIGN, "bad")?;
    let mut site = Site::start(plane, faults, &host(FOREIGN, BAD, "bad")?).await?;
    site.others_are_served("late.test").await?;
    site.sluice
        .log()
        .wait_for("Secret foreign/bad: data: refused by the data plane")
        .await?;
    ensure!(
        https(&site.sluice, BAD).await.is_err(),
        "it presents a certificate that was refused"
    );
    site.restart_controller().await?;
    site.others_are_served("later.test").await?;
    site.restart_data_plane().await?;
    site.others_are_served("last.test").await?;
    site.faults.clear()?;
    site.write(&host(FOREIGN, BAD, "bad")?)?;
    site.is_served(BAD, FOREIGN).await?;
    site.faults.spoil_secret(FOREIGN, "bad")?;
    site.write(&host(FOREIGN, BAD, "bad")?)?;
    site.others_are_served("very-last.test").await?;
    // Envoy keeps what it had.
    site.is_served(BAD, FOREIGN).await?;
    site.sluice.stop()
}
