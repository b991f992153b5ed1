//! R12: names that a wildcard host, a `server-alias` or `from-to-www-redirect` covers are its namespace's, and a certificate is
//! presented only for hosts of the namespace that it belongs to. `controller/translate/tests/reserved_names.rs` states the rule
//! over every way to ask for such a name; here each data plane is asked, by SNI too.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::{Pair, presents};
use sluice_tests::connection::Connection;
use sluice_tests::http::{Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    names_covered_by_an_older_namespace_stay_reserved,
    allowed_foreign_host_does_not_present_the_wildcards_certificate,
    a_wildcard_has_nothing_of_a_foreign_one_above_it,
);

fn ingress(
    namespace: &str,
    second: u8,
    host: &str,
    annotations: &[(&str, &str)],
    tls: bool,
) -> Value {
    let name = host.replace('*', "wild");
    let ingress = Ingress::new(namespace, &name)
        .host(host)
        .path("/", "web", 80);
    let ingress = annotations.iter().fold(ingress, |ingress, (key, value)| {
        ingress.annotation(key, value)
    });
    let mut object = ingress.to_json();
    object["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    if tls {
        object["spec"]["tls"] = json!([{"hosts": [host], "secretName": "wild"}]);
    }
    object
}

/// The owner has names, and somebody else asks for some of them.
fn write_objects(tenants: &Tenants) -> Result<Pair> {
    let pair = Pair::of(&["*.a.test", "*.b.test"])?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wild", "namespace": OWNER},
        "type": "kubernetes.io/tls", "stringData": {"tls.crt": pair.pem, "tls.key": pair.key},
    });
    let www = [("from-to-www-redirect", "true")];
    let alias = [(
        "server-alias",
        r"*.b.test, shop.test, ~^(pay|buy)\.p\.test$, ~^[a-z0-9-]+\.q\.test$",
    )];
    let objects = [
        secret,
        ingress(FOREIGN, 1, "old.a.test", &[], false),
        ingress(OWNER, 2, "*.a.test", &[], true),
        ingress(OWNER, 2, "c.test", &www, false),
        ingress(OWNER, 2, "z.b.test", &alias, true),
        ingress(OWNER, 3, "own.a.test", &[], false),
        ingress(FOREIGN, 3, "login.a.test", &[], false),
        ingress(FOREIGN, 3, "login.b.test", &[], false),
        ingress(FOREIGN, 3, "x.y.a.test", &[], false),
        ingress(FOREIGN, 3, "www.c.test", &[], false),
        ingress(FOREIGN, 3, "shop.test", &[], false),
        ingress(FOREIGN, 3, "pay.p.test", &[], false),
        ingress(FOREIGN, 3, "login.q.test", &[], false),
    ];
    tenants.write("names.yaml", &objects)?;
    Ok(pair)
}

/// The host presents this certificate or not, and its response.
async fn fetch(sluice: &Sluice, host: &str, pair: &Pair) -> Result<(bool, Response)> {
    let mut connection = Connection::open_tls(sluice.https(), host)
        .await
        .with_context(|| host.to_owned())?;
    let is_presented = connection.certificate() == Some(pair.der.as_slice());
    Ok((
        is_presented,
        connection.send(&Request::get(host, "/")).await?,
    ))
}

async fn check(
    sluice: &Sluice,
    pair: &Pair,
    expected: &[(&str, bool, Option<&str>)],
) -> Result<()> {
    presents(sluice, "any.a.test", pair).await?;
    for (host, certificate, pod) in expected {
        let (is_presented, answer) = fetch(sluice, host, pair).await?;
        let got = (is_presented, answer.pod());
        ensure!(
            got == (*certificate, *pod),
            "{host}: {got:?} with {}, not {certificate} {pod:?}",
            answer.status
        );
    }
    Ok(())
}

async fn names_covered_by_an_older_namespace_stay_reserved(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let pair = write_objects(&tenants)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let expected = [
        ("any.a.test", true, Some(OWNER)),
        ("own.a.test", true, Some(OWNER)),
        ("login.a.test", true, Some(OWNER)),
        ("login.b.test", true, Some(OWNER)),
        ("shop.test", false, Some(OWNER)),
        ("pay.p.test", false, Some(OWNER)),
        ("buy.p.test", false, Some(OWNER)),
        ("login.q.test", false, Some(OWNER)),
        ("any.q.test", false, Some(OWNER)),
        // It leads to the host.
        ("www.c.test", false, None),
        ("old.a.test", false, Some(FOREIGN)),
        ("x.y.a.test", false, Some(FOREIGN)),
    ];
    check(&sluice, &pair, &expected).await?;
    ensure!(sluice.get("www.c.test", "/").await?.status == 308);
    sluice.stop()
}

async fn allowed_foreign_host_does_not_present_the_wildcards_certificate(
    plane: Plane,
) -> Result<()> {
    let tenants = Tenants::start().await?;
    let pair = write_objects(&tenants)?;
    let flag = "--allow-hosts-under-foreign-wildcards".to_owned();
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(vec![flag])
        .start()
        .await?;
    let expected = [
        ("any.a.test", true, Some(OWNER)),
        ("own.a.test", true, Some(OWNER)),
        ("login.a.test", false, Some(FOREIGN)),
        ("login.b.test", false, Some(FOREIGN)),
        // Written one by one, and not given away with a wildcard.
        ("shop.test", false, Some(OWNER)),
        ("pay.p.test", false, Some(OWNER)),
        ("login.q.test", false, Some(FOREIGN)),
        ("any.q.test", false, Some(OWNER)),
        ("www.c.test", false, None),
        ("old.a.test", false, Some(FOREIGN)),
        ("x.y.a.test", false, Some(FOREIGN)),
    ];
    check(&sluice, &pair, &expected).await?;
    sluice.stop()
}

/// Envoy's own wildcards take any number of labels.
async fn a_wildcard_has_nothing_of_a_foreign_one_above_it(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let pair = Pair::of(&["*.a.test", "*.b.a.test"])?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wild", "namespace": FOREIGN},
        "type": "kubernetes.io/tls", "stringData": {"tls.crt": pair.pem, "tls.key": pair.key},
    });
    let objects = [
        secret,
        ingress(OWNER, 1, "*.b.a.test", &[], false),
        ingress(FOREIGN, 2, "*.a.test", &[], true),
    ];
    tenants.write("names.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let expected = [
        ("any.a.test", true, Some(FOREIGN)),
        ("any.b.a.test", false, Some(OWNER)),
    ];
    check(&sluice, &pair, &expected).await?;
    sluice.stop()
}
