//! Redirects lead to where clients are: to the host that they ask for, and to what a proxy in front says of it only if the operator
//! believes that.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(redirects_lead_to_the_host_that_is_believed);

type Said = &'static [(&'static str, &'static str)];

const SAID: Said = &[
    ("X-Forwarded-Host", "pub.test:8443, b.test"),
    ("X-Forwarded-Proto", "http"),
];
const SAID_TLS: Said = &[
    ("X-Forwarded-Host", "pub.test:8443, b.test"),
    ("X-Forwarded-Proto", "https"),
];
const SAID_PORT: Said = &[("X-Forwarded-Port", "8443"), ("X-Forwarded-Proto", "https")];
const SAID_NOTHING: Said = &[("X-Forwarded-Host", ", b.test")];
const SAID_ADDRESS: Said = &[("X-Forwarded-Host", "[2001:db8::1]:8443")];

/// Requests, headers about them, and targets: by whom nobody is believed, and by whom all are.
const REDIRECTS: &[(&str, &str, Said, [&str; 2])] = &[
    ("secure.test:8080", "/x/", &[], ["https://secure.test/x"; 2]),
    ("other.test:8080", "/", &[], ["https://other.test"; 2]),
    (
        "other.test",
        "/a/?b=/",
        &[],
        ["https://other.test/a/?b=/"; 2],
    ),
    ("a.wild.test:8080", "/x/", &[], ["https://a.wild.test/x"; 2]),
    (
        "a.wild.test:8080",
        "/a%2Fb/",
        &[],
        ["https://a.wild.test/a%2Fb"; 2],
    ),
    (
        "secure.test",
        "/x/",
        SAID,
        ["https://secure.test/x", "https://pub.test/x"],
    ),
    (
        "secure.test",
        "/",
        SAID,
        ["https://secure.test", "https://pub.test"],
    ),
    (
        "other.test",
        "/x?b=/",
        SAID,
        ["https://other.test/x?b=/", "https://pub.test/x?b=/"],
    ),
    (
        "other.test",
        "/a%2Fb/",
        SAID,
        ["https://other.test/a%2Fb", "https://pub.test/a%2Fb"],
    ),
    (
        "a.wild.test",
        "/x",
        SAID,
        ["https://a.wild.test/x", "https://pub.test/x"],
    ),
    (
        "kept.test",
        "/a%2Fb/",
        SAID,
        ["https://kept.test/a%2Fb/", "https://pub.test/a%2Fb/"],
    ),
    (
        "kept.test",
        "/x/?b",
        SAID,
        ["https://kept.test/x/?b", "https://pub.test/x/?b"],
    ),
    (
        "secure.test:8080",
        "/x",
        SAID_NOTHING,
        ["https://secure.test/x"; 2],
    ),
    (
        "secure.test",
        "/x",
        SAID_ADDRESS,
        ["https://secure.test/x", "https://[2001:db8::1]/x"],
    ),
    ("app.test:8080", "/?a", &[], ["http://app.test:8080/app"; 2]),
    (
        "app.test:8080",
        "/?a",
        SAID_NOTHING,
        ["http://app.test:8080/app"; 2],
    ),
    (
        "app.test:8080",
        "/",
        SAID_TLS,
        ["http://app.test:8080/app", "https://pub.test:8443/app"],
    ),
    (
        "docs.test:8080",
        "/docs?a",
        &[],
        ["http://docs.test:8080/docs/?a"; 2],
    ),
    (
        "docs.test",
        "/docs",
        SAID_TLS,
        ["http://docs.test/docs/", "https://pub.test:8443/docs/"],
    ),
    ("relative.test", "/docs?a=b", SAID_TLS, ["/docs/?a=b"; 2]),
    (
        "moved.test",
        "/x?a",
        SAID_TLS,
        ["http://moved.test/to", "https://pub.test:8443/to"],
    ),
    (
        "www.bare.test:8080",
        "/x/",
        &[],
        ["http://bare.test:80/x"; 2],
    ),
    (
        "www.bare.test",
        "/",
        SAID_TLS,
        ["http://bare.test:80", "https://bare.test:443"],
    ),
    (
        "www.bare.test",
        "/x/?b=/",
        SAID_TLS,
        ["http://bare.test:80/x/?b=/", "https://bare.test:443/x/?b=/"],
    ),
    (
        "www.bare.test",
        "/a%2Fb/",
        SAID_PORT,
        ["http://bare.test:80/a%2Fb", "https://bare.test:8443/a%2Fb"],
    ),
];

fn objects() -> Vec<Value> {
    let ingress = |host: &str, path: &str, annotations: &[(&str, &str)]| {
        let name = host.trim_start_matches("*.").replace('.', "-");
        let ingress = Ingress::new(OWNER, &name).host(host).path(path, "web", 80);
        annotations
            .iter()
            .fold(ingress, |it, (name, value)| it.annotation(name, value))
            .to_json()
    };
    let to_https = ("force-ssl-redirect", "true");
    vec![
        ingress(
            "secure.test",
            "/",
            &[to_https, ("server-alias", "other.test")],
        ),
        ingress("*.wild.test", "/", &[to_https]),
        ingress(
            "kept.test",
            "/",
            &[to_https, ("preserve-trailing-slash", "true")],
        ),
        ingress("app.test", "/", &[("app-root", "/app")]),
        ingress("docs.test", "/docs/", &[]),
        ingress("relative.test", "/docs/", &[("relative-redirects", "true")]),
        ingress("moved.test", "/", &[("permanent-redirect", "/to")]),
        ingress("bare.test", "/", &[("from-to-www-redirect", "true")]),
        ingress("last.test", "/", &[]),
    ]
}

async fn redirects_lead_to_the_host_that_is_believed(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    for (believed, data) in [json!({}), json!({"use-forwarded-headers": "true"})]
        .iter()
        .enumerate()
    {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data,
        });
        tenants.write("operator.yaml", &[config_map])?;
        let arguments = vec!["--configmap".to_owned(), "sluice/sluice".to_owned()];
        let options = plane.options(&tenants.manifests).arguments(arguments);
        let sluice = options.start().await?;
        sluice.wait_for_status("last.test", "/", 200).await?;
        let mut wrong = Vec::new();
        for (host, target, said, expected) in REDIRECTS {
            let location = location(&sluice, host, target, said).await?;
            if location != expected[believed] {
                wrong.push(format!(
                    "{data} {host}{target} {said:?}: {location}, not {}",
                    expected[believed]
                ));
            }
        }
        sluice.stop()?;
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    Ok(())
}

async fn location(sluice: &Sluice, host: &str, target: &str, said: Said) -> Result<String> {
    let request = said
        .iter()
        .fold(Request::get(host, target), |request, (name, value)| {
            request.header(name, value)
        });
    let answer = http::send(sluice.http(), &request).await?;
    let location = answer.header("location").unwrap_or_default();
    Ok(location.to_owned())
}
