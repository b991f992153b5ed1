//! R9: a copy goes to the host that a `mirror-target` has written out, and to no other: whatever the text is, or a name that stands for a
//! part of it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::dns_server::DnsServer;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(hostile_mirror_targets_copy_nothing);

/// A host of the owner's network, which no target may lead to, and one that may have copies.
const INTERNAL: &str = "internal.test";
const COPY: &str = "copy.test";
/// A host of the owner's, on this Sluice.
const OWN: &str = "own.test";

const TARGET: &str = "/metadata/annotations/nginx.ingress.kubernetes.io~1mirror-target";

/// In the place of `COPY:PORT` stands the one host and the port where copies would be heard.
#[rustfmt::skip]
const TARGETS: &[&str] = &[
    // Variables, which a client says, and those that nginx or the filter has.
    "http://$host/", "http://${host}/", "http://$http_x_target/", "http://${http_x_target}.internal.test/", "http://$arg_to/",
    "http://$cookie_to.internal.test/", "http://internal.test$host/", "http://$sluice_endpoint/", "$scheme://internal.test/",
    "http://internal.test:$server_port/", "http://internal.test/$uri", "http://internal.test/$arg_to$request_uri", "$http_x_target",
    // Ends of lines, spaces and what ends a directive.
    "http://internal.test/\r\nHost: internal.test\r\n", "http://internal.test\n/", "http://internal.test\r/", "http://internal.test\0/",
    "http://internal.test /", "http:// internal.test/", "http://internal.test\t/", "http://internal.test/a b",
    "http://internal.test/\u{b}a", "http://internal.test/;} evil on; #", "http://internal.test/\"; evil on; #", "http://internal.test/{{ evil }}",
    // Users, and what readers of URLs take for a host in different ways.
    "http://user@internal.test/", "http://user:secret@internal.test/", "http://COPY:PORT@internal.test/", "http://internal.test@COPY:PORT/",
    "http://internal.test\\@COPY:PORT/", "http://internal.test%2f@COPY:PORT/", "http://internal.test%00.COPY:PORT/",
    "http://internal.test%0d%0a/", "http://internal.test,COPY:PORT/", "http://internal.test:PORT:80/", "http://internal.test:0/",
    "http://internal.test:99999/", "http://internal.test:-1/", "http://internal.test:/", "http://internal..test/", "http://-internal.test/",
    "http://ınternal.test/", "http://internal\u{ff0e}test/", "//internal.test/", "internal.test", "ftp://internal.test/", "http:internal.test/",
    "http:///internal.test/", "unix:/run/internal.sock", "http://unix:/run/internal.sock:/", "http://*/", "http://_/",
    // Addresses of IPv6, and this machine.
    "http://[::1]/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://[fe80::1%25lo]/", "http://[fd00::1]:PORT/", "http://::1/",
    "http://fd00::1/", "http://[internal.test]/", "http://[]/", "http://[::1", "http://localhost:PORT/", "http://2130706433:PORT/",
    "http://0x7f.1:PORT/",
];
/// Names of Ingresses, of Services and of their ports. Kubernetes stores none of them.
const NAMES: &[&str] = &[
    "$host",
    "${http_x_target}",
    "a\r\nHost: internal.test",
    "user@internal.test",
    "a b",
    "a\"; evil on; #",
    "[::1]",
    "$request_uri$request_uri",
];

fn too_long() -> [String; 4] {
    let label = "a".repeat(64);
    let host = "a.".repeat(130);
    [
        format!("http://{label}.internal.test/"),
        format!("http://{host}internal.test/"),
        format!("http://internal.test/{}", "a".repeat(1001)),
        format!("http://internal.test/{}", "a".repeat(100_000)),
    ]
}

/// An Ingress with a target, and whether its host is served.
type Case = (Value, bool);

fn case(host: &str, target: &str) -> Value {
    let ingress = Ingress::new(FOREIGN, host).annotation("mirror-target", target);
    ingress.host(host).path("/", "web", 80).to_json()
}

/// Targets that are written out: their hosts are served without copies.
fn written(port: u16) -> Vec<Case> {
    let place = format!("{COPY}:{port}");
    let targets = TARGETS.iter().map(|it| (*it).to_owned());
    let cases = targets
        .chain(too_long())
        .enumerate()
        .map(|(number, target)| {
            let target = target.replace("COPY:PORT", &place);
            let target = target.replace("PORT", &port.to_string());
            (case(&format!("h{number}.test"), &target), true)
        });
    cases.collect()
}

/// Names in the place of a host, of a port and of a path. An Ingress of such a name is not read, and no path leads to such a Service or port.
fn named(port: u16) -> Vec<Case> {
    let targets = |name: &str| {
        [
            format!("http://${name}/"),
            format!("http://{COPY}:${name}/"),
            format!("http://{COPY}:{port}/${name}"),
            format!("http://${name}.{INTERNAL}/"),
        ]
    };
    let mut cases = Vec::new();
    for hostile in NAMES {
        for (variable, field) in [
            ("ingress_name", "/metadata/name"),
            (
                "service_name",
                "/spec/rules/0/http/paths/0/backend/service/name",
            ),
            (
                "service_port",
                "/spec/rules/0/http/paths/0/backend/service/port",
            ),
        ] {
            for target in targets(variable) {
                let host = format!("n{}.test", cases.len());
                let mut object = case(&host, &target);
                let Some(place) = object.pointer_mut(field) else {
                    continue;
                };
                *place = match variable {
                    "service_port" => json!({ "name": hostile }),
                    _ => json!(hostile),
                };
                cases.push((object, false));
            }
        }
    }
    cases
}

/// Ingresses that may have copies: one of each request, with a host of somebody else's, too.
fn valid(port: u16) -> [Ingress; 2] {
    let target = format!("http://{COPY}:{port}$request_uri");
    ["copied", "named"].map(|name| {
        let ingress = Ingress::new(FOREIGN, name)
            .annotation("mirror-target", &target)
            .host(&format!("{name}.test"));
        let ingress = match name {
            "named" => ingress.annotation("mirror-host", OWN),
            _ => ingress,
        };
        ingress.path("/", "web", 80)
    })
}

async fn hostile_mirror_targets_copy_nothing(plane: Plane) -> Result<()> {
    let (tenants, dns) = (Tenants::start().await?, DnsServer::start().await?);
    let (copies, copied) = tenants.auth_service().await?;
    let port = copies.addr().port();
    dns.set(COPY, 60, &[&copies.addr().ip().to_string()])?;
    dns.set(INTERNAL, 60, &[&tenants.owner.addr().ip().to_string()])?;
    let own = Ingress::new(OWNER, "own").host(OWN).path("/", "web", 80);
    let hostile = [written(port), named(port)].concat();
    let mut objects: Vec<Value> = hostile.iter().map(|(object, _)| object.clone()).collect();
    objects.extend(valid(port).iter().map(Ingress::to_json));
    objects.push(own.to_json());
    tenants.write("targets.yaml", &objects)?;
    let network = tenants.owner.addr().ip().to_string();
    let second = network.split('.').nth(1).unwrap_or_default();
    let arguments = [
        "--dns-server".to_owned(),
        dns.addr().to_string(),
        "--allow-upstream-cidr".to_owned(),
        format!("127.{second}.0.0/16"),
    ];
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(arguments.into()).start().await?;
    ensure!(sluice.get(OWN, "/own").await?.pod() == Some(OWNER));
    for (object, is_served) in &hostile {
        let (host, target) = (text(object, "/spec/rules/0/host")?, text(object, TARGET)?);
        let got = sluice.get(host, &format!("/h?to={INTERNAL}")).await?;
        ensure!(
            (got.pod() == Some(FOREIGN)) == *is_served,
            "{target}: {}",
            got.status
        );
    }
    // Copies are made of the others, behind all of these.
    for path in ["/copied", "/named"] {
        wait_for_copy(&sluice, path, || {
            copied.since(0).iter().any(|copy| copy.path == path)
        })
        .await?;
    }
    let others: Vec<_> = copied.since(0);
    let others = others
        .iter()
        .filter(|copy| !["/copied", "/named"].contains(&copy.path.as_str()));
    ensure!(others.count() == 0, "copies of hostile targets");
    ensure!(dns.asked(INTERNAL) == 0, "{INTERNAL} was looked for");
    let received = tenants.received.since(0);
    let mut of_owner = received.iter().filter(|it| it.namespace == OWNER);
    ensure!(of_owner.all(|it| it.path == "/own"), "{received:?}");
    sluice.stop()
}

fn text<'o>(object: &'o Value, pointer: &str) -> Result<&'o str> {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.with_context(|| pointer.to_owned())
}

async fn wait_for_copy(sluice: &Sluice, path: &str, has_come: impl Fn() -> bool) -> Result<()> {
    let host = format!("{}.test", path.trim_start_matches('/'));
    wait::until("a copy", async || {
        sluice.get(&host, path).await.ok()?;
        has_come().then_some(())
    })
    .await
    .with_context(|| sluice.log().tail())?;
    Ok(())
}
