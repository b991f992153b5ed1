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
use sluice_tests::wait;

use super::restart_data_plane;
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    rejected_filter_chain_affects_only_its_host,
    rejected_cluster_affects_only_its_backend,
    rejected_certificate_affects_only_its_host,
);

const UNAFFECTED_HOSTS: usize = 9;
const BAD: &str = "bad.test";
/// No other host has them in this order.
const CIPHERS: &str = "AES256-SHA:AES128-SHA";
/// One of them, as Envoy has them: one by one, and by default none of those without ephemeral keys.
const CIPHER: &str = "AES256-SHA";

/// Innocent hosts with certificates, and a culprit among them.
struct Fixture {
    plane: Plane,
    tenants: Tenants,
    faults: Faults,
    sluice: Sluice,
    former: Vec<Sluice>,
}

impl Fixture {
    /// Everything is there before the first one looks.
    async fn start(plane: Plane, faults: Faults, culprit: &[Value]) -> Result<Fixture> {
        let tenants = Tenants::start().await?;
        for number in 0..UNAFFECTED_HOSTS {
            tenants.write(
                &format!("own-{number}.yaml"),
                &host(OWNER, &unaffected_host(number), &format!("own-{number}"))?,
            )?;
        }
        tenants.write("bad.yaml", culprit)?;
        let sluice = options(plane, &tenants, &faults).start().await?;
        Ok(Fixture {
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

    fn write(&self, culprit: &[Value]) -> Result<()> {
        self.tenants.write("bad.yaml", culprit)
    }

    async fn wait_for_answer(
        &self,
        host: &str,
        what: &str,
        is: impl Fn(&Response) -> bool,
    ) -> Result<()> {
        let answers = async || https(&self.sluice, host).await.ok().filter(&is);
        let waited = wait::until(&format!("{host} to answer {what}"), answers).await;
        waited
            .map(drop)
            .with_context(|| format!("the log ends\n{}", self.sluice.log().tail()))
    }

    async fn wait_until_served(&self, host: &str, pod: &str) -> Result<()> {
        self.wait_for_answer(host, pod, |page| page.pod() == Some(pod))
            .await
    }

    async fn wait_until_not_served(&self) -> Result<()> {
        self.wait_for_answer(BAD, "with 503", |page| page.status == 503)
            .await
    }

    /// Those who did nothing, and one that comes now, with a certificate of its own.
    async fn ensure_others_are_served(&self, late: &str) -> Result<()> {
        for number in 0..UNAFFECTED_HOSTS {
            self.wait_until_served(&unaffected_host(number), OWNER)
                .await?;
        }
        self.tenants
            .write(&format!("{late}.yaml"), &host(OWNER, late, late)?)?;
        self.wait_until_served(late, OWNER).await?;
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

fn unaffected_host(number: usize) -> String {
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
    host_with(namespace, host, name, &[])
}

fn host_with(
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
    let culprit = || host_with(FOREIGN, BAD, "bad", &[("ssl-ciphers", CIPHERS)]);
    let mut fixture = Fixture::start(plane, faults(plane)?, &culprit()?).await?;
    fixture.ensure_others_are_served("late.test").await?;
    fixture.wait_until_not_served().await?;
    let reported = "Ingress foreign/bad: spec.rules of host bad.test: refused by the data plane";
    fixture.sluice.log().wait_for(reported).await?;
    fixture.restart_controller().await?;
    fixture.ensure_others_are_served("later.test").await?;
    fixture.wait_until_not_served().await?;
    restart_data_plane(&fixture.sluice).await?;
    fixture.ensure_others_are_served("last.test").await?;
    fixture.wait_until_not_served().await?;

    fixture.write(&host(FOREIGN, BAD, "bad")?)?;
    fixture.wait_until_served(BAD, FOREIGN).await?;
    fixture.ensure_others_are_served("between.test").await?;
    // What was accepted is served on, with what it presents.
    fixture.write(&culprit()?)?;
    fixture
        .sluice
        .log()
        .wait_for("what was accepted before is served")
        .await?;
    fixture.ensure_others_are_served("very-last.test").await?;
    fixture.wait_until_served(BAD, FOREIGN).await?;
    fixture.sluice.stop()
}

async fn rejected_cluster_affects_only_its_backend(plane: Plane) -> Result<()> {
    let towards_pods = [
        ("backend-protocol", "HTTPS"),
        ("proxy-ssl-secret", "foreign/bad"),
        ("proxy-ssl-ciphers", CIPHERS),
    ];
    let culprit = || host_with(FOREIGN, BAD, "bad", &towards_pods);
    let mut fixture = Fixture::start(plane, faults(plane)?, &culprit()?).await?;
    fixture.ensure_others_are_served("late.test").await?;
    fixture.wait_until_not_served().await?;
    fixture
        .sluice
        .log()
        .wait_for("Ingress foreign/bad: ")
        .await?;
    fixture
        .sluice
        .log()
        .wait_for("refused by the data plane")
        .await?;
    fixture.restart_controller().await?;
    fixture.ensure_others_are_served("later.test").await?;
    restart_data_plane(&fixture.sluice).await?;
    fixture.ensure_others_are_served("last.test").await?;
    fixture.wait_until_not_served().await?;
    fixture.write(&host(FOREIGN, BAD, "bad")?)?;
    fixture.wait_until_served(BAD, FOREIGN).await?;
    fixture.write(&culprit()?)?;
    fixture.ensure_others_are_served("very-last.test").await?;
    fixture.sluice.stop()
}

/// nginx reads a certificate when a client asks for it.
async fn rejected_certificate_affects_only_its_host(plane: Plane) -> Result<()> {
    if plane == Plane::Nginx {
        return Ok(());
    }
    let faults = Faults::new()?;
    faults.spoil_secret(FOREIGN, "bad")?;
    let mut fixture = Fixture::start(plane, faults, &host(FOREIGN, BAD, "bad")?).await?;
    fixture.ensure_others_are_served("late.test").await?;
    fixture
        .sluice
        .log()
        .wait_for("Secret foreign/bad: data: refused by the data plane")
        .await?;
    ensure!(
        https(&fixture.sluice, BAD).await.is_err(),
        "it presents a certificate that was refused"
    );
    fixture.restart_controller().await?;
    fixture.ensure_others_are_served("later.test").await?;
    restart_data_plane(&fixture.sluice).await?;
    fixture.ensure_others_are_served("last.test").await?;
    fixture.faults.clear()?;
    fixture.write(&host(FOREIGN, BAD, "bad")?)?;
    fixture.wait_until_served(BAD, FOREIGN).await?;
    fixture.faults.spoil_secret(FOREIGN, "bad")?;
    fixture.write(&host(FOREIGN, BAD, "bad")?)?;
    fixture.ensure_others_are_served("very-last.test").await?;
    // Envoy keeps what it had.
    fixture.wait_until_served(BAD, FOREIGN).await?;
    fixture.sluice.stop()
}
