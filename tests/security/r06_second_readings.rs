//! R6: nobody gets past a guard by saying what he is in a way that the data plane and nginx read differently.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags};

on_every_plane!(
    second_header_or_case_of_a_method_passes_no_guard,
    claimed_scheme_passes_no_guard,
    proxy_header_of_an_unlisted_peer_is_not_believed,
    ipv4_address_in_ipv6_is_the_same_address,
    path_of_slashes_passes_no_guard_of_the_root,
);

fn settings(more: &Value) -> Value {
    let mut data =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    let more = more.as_object().cloned().unwrap_or_default();
    data.as_object_mut()
        .into_iter()
        .for_each(|data| data.extend(more.clone()));
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data})
}

fn guarded(name: &str, annotation: &str, value: &str) -> Value {
    let ingress = Ingress::new(OWNER, name).host(&format!("{name}.test"));
    let ingress = ingress.annotation(annotation, value);
    ingress.path("/", "web", 80).to_json()
}

fn with_snippet(name: &str, snippet: &str) -> Value {
    guarded(name, "configuration-snippet", snippet)
}

async fn started(plane: Plane, tenants: &Tenants) -> Result<Sluice> {
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    options.start().await
}

async fn second_header_or_case_of_a_method_passes_no_guard(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let objects = [
        settings(&json!({})),
        with_snippet("equals", "if ($http_x_tenant != a) { return 403; }"),
        with_snippet("matches", "if ($http_x_tenant !~ ^a$) { return 403; }"),
        with_snippet(
            "flag",
            "set $ok 0; if ($http_x_tenant = a) { set $ok 1; } if ($ok != 1) { return 403; }",
        ),
        with_snippet(
            "methods",
            "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
        ),
    ];
    tenants.write("all.yaml", &objects)?;
    let sluice = started(plane, &tenants).await?;
    sluice.wait_for_status("methods.test", "/", 200).await?;
    for name in ["equals", "matches", "flag"] {
        let ask = Request::get(&format!("{name}.test"), "/");
        let twice = ask.clone().header("x-tenant", "b").header("X-Tenant", "a");
        let answer = http::send(sluice.http(), &twice).await?;
        ensure!(answer.status == 403, "{name}: {answer:?}");
        let answer = http::send(sluice.http(), &ask.header("x-tenant", "a")).await?;
        ensure!(answer.status == 200, "{name}: {answer:?}");
    }
    for method in ["get", "Get", "POST", "head"] {
        let request = Request::new(method, "methods.test", "/");
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.pod().is_none(), "{method}: {answer:?}");
    }
    sluice.stop()
}

/// A path with nothing but slashes is `/`.
async fn path_of_slashes_passes_no_guard_of_the_root(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let server = |name: &str, snippet: &str| guarded(name, "server-snippet", snippet);
    let exact = Ingress::new(OWNER, "exact").host("path.test");
    let exact = exact.annotation("whitelist-source-range", "192.0.2.0/24");
    let objects = [
        settings(&json!({})),
        server("location", "location = / { return 403; }"),
        server("pattern", "location ~ ^/$ { deny all; }"),
        server("uri", "if ($uri = /) { return 403; }"),
        server(
            "rewrite",
            "rewrite ^/$ /closed last; location /closed { deny all; }",
        ),
        exact.typed_path("Exact", "/", "web", 80).to_json(),
        guarded("path", "proxy-read-timeout", "60"),
    ];
    tenants.write("all.yaml", &objects)?;
    let sluice = started(plane, &tenants).await?;
    for name in ["location", "pattern", "uri", "rewrite", "path"] {
        let host = format!("{name}.test");
        sluice.wait_for_status(&host, "/", 403).await?;
        sluice.wait_for_status(&host, "/a", 200).await?;
        for slashes in [
            "//", "///", "//?a=b", "/.//", "/a/..//", "//.", "/%2f", "/%2F/?", "/%2e/",
        ] {
            let before = tenants.received.len();
            let response = sluice.get(&host, slashes).await?;
            let reached = tenants.received.since(before).len();
            let is_kept_out = response.status == 403 && reached == 0;
            ensure!(is_kept_out, "{host}{slashes}: {response:?}");
        }
    }
    sluice.stop()
}

/// `$scheme` is that of the connection, whoever is believed.
async fn claimed_scheme_passes_no_guard(plane: Plane) -> Result<()> {
    let guards = |data: Value| {
        [
            settings(&data),
            with_snippet("plain", "if ($scheme = http) { return 403; }"),
            with_snippet("not-tls", "if ($scheme != https) { return 403; }"),
            with_snippet("open", ""),
        ]
    };
    let tenants = Tenants::start().await?;
    let by_port = guards(json!({"use-proxy-protocol": "true"}));
    tenants.write("all.yaml", &by_port)?;
    let sluice = started(plane, &tenants).await?;
    let line = "PROXY TCP4 192.0.2.7 192.0.2.8 1111 443";
    until_served(line, &sluice, "open.test").await?;
    for name in ["plain.test", "not-tls.test"] {
        let status = behind(line, sluice.http(), name).await?;
        ensure!(matches!(status, Some(403 | 503)), "{name}: {status:?}");
    }
    sluice.stop()?;
    let objects =
        guards(json!({"use-forwarded-headers": "true", "proxy-real-ip-cidr": "10.0.0.0/8"}));
    tenants.write("all.yaml", &objects)?;
    let sluice = started(plane, &tenants).await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    for name in ["plain", "not-tls"] {
        for claimed in ["https", "foo", ""] {
            let request = Request::get(&format!("{name}.test"), "/");
            let request = request.header("X-Forwarded-Proto", claimed);
            let answer = http::send(sluice.http(), &request).await?;
            ensure!(answer.pod().is_none(), "{name}, {claimed:?}: {answer:?}");
        }
    }
    sluice.stop()
}

/// Status of a request behind this PROXY header; `None`: the connection was closed.
async fn behind(line: &str, address: SocketAddr, host: &str) -> Result<Option<u16>> {
    let dial = Dial {
        proxy_line: Some(line.to_owned()),
        ..Dial::plain(address)
    };
    let answer = async || {
        let mut connection = Connection::dial(&dial).await?;
        connection.send(&Request::get(host, "/")).await
    };
    Ok(answer().await.ok().map(|answer| answer.status))
}

async fn until_served(line: &str, sluice: &Sluice, host: &str) -> Result<()> {
    let served = async || {
        let status = behind(line, sluice.http(), host).await.ok().flatten();
        status.filter(|status| *status != 404)
    };
    wait::until(&format!("{host} to be served"), served).await?;
    Ok(())
}

const FOREIGN_LINE: &str = "PROXY TCP4 192.0.2.7 127.0.0.1 1111 80";

async fn proxy_header_of_an_unlisted_peer_is_not_believed(plane: Plane) -> Result<()> {
    for (listed, trusts_forwarded, is_believed) in [
        (None, false, true),
        (Some("127.0.0.0/8"), false, true),
        (Some("10.0.0.0/8"), false, false),
        (Some("nonsense"), false, false),
        (Some("nonsense"), true, false),
        (Some(""), true, false),
    ] {
        let tenants = Tenants::start().await?;
        let trusts_forwarded = trusts_forwarded.to_string();
        let mut data =
            json!({"use-proxy-protocol": "true", "use-forwarded-headers": trusts_forwarded});
        if let Some(listed) = listed {
            data["proxy-real-ip-cidr"] = listed.into();
        }
        let objects = [
            settings(&data),
            guarded("guarded", "allowlist-source-range", "192.0.2.0/24"),
        ];
        tenants.write("all.yaml", &objects)?;
        let sluice = started(plane, &tenants).await?;
        if is_believed || plane == Plane::Nginx {
            until_served(FOREIGN_LINE, &sluice, "guarded.test").await?;
        }
        let status = behind(FOREIGN_LINE, sluice.http(), "guarded.test").await?;
        // Envoy closes the connection, to nginx the client is its peer.
        let is_right = match (is_believed, plane) {
            (true, _) => status == Some(200),
            (false, Plane::Nginx) => status == Some(403),
            (false, Plane::EnvoyTable | Plane::EnvoyScopes) => status.is_none(),
        };
        ensure!(is_right, "{data}: {status:?}");
        let dial = Dial {
            proxy_line: Some(FOREIGN_LINE.to_owned()),
            ..Dial::tls(sluice.https(), "guarded.test")
        };
        let is_accepted = Connection::dial(&dial).await.is_ok();
        ensure!(
            is_accepted == (is_believed || plane == Plane::Nginx),
            "{data}: TLS"
        );
        sluice.stop()?;
    }
    Ok(())
}

async fn ipv4_address_in_ipv6_is_the_same_address(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let objects = [
        settings(&json!({"use-proxy-protocol": "true"})),
        guarded("denied", "denylist-source-range", "10.0.0.0/8"),
        with_snippet("by-snippet", "deny 10.0.0.0/8;"),
        guarded("allowed", "allowlist-source-range", "10.0.0.0/8"),
    ];
    tenants.write("all.yaml", &objects)?;
    let sluice = started(plane, &tenants).await?;
    for (line, is_in_list) in [
        ("PROXY TCP6 ::ffff:10.1.2.3 ::1 1111 80", true),
        ("PROXY TCP4 10.1.2.3 127.0.0.1 1111 80", true),
        ("PROXY TCP6 ::ffff:11.1.2.3 ::1 1111 80", false),
        ("PROXY TCP6 ::a01:203 ::1 1111 80", false),
    ] {
        for (name, lets_in) in [
            ("denied", !is_in_list),
            ("by-snippet", !is_in_list),
            ("allowed", is_in_list),
        ] {
            let host = format!("{name}.test");
            until_served(line, &sluice, &host).await?;
            let status = behind(line, sluice.http(), &host).await?;
            let expected = if lets_in { 200 } else { 403 };
            ensure!(status == Some(expected), "{line}, {name}: {status:?}");
        }
    }
    sluice.stop()
}
