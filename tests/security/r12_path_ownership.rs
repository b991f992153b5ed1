//! R12: on a host that namespaces share, each one's paths mean what it wrote, and a newer one takes nothing that an older one's
//! path takes whose text is as long. `controller/translate/tests/shared_paths.rs` states the rule over random hosts; here each
//! data plane does with such hosts what the IR says.

use anyhow::{Result, ensure};
use regex::Regex;
use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute, PathMatch, ServerName};
use sluice_tests::manifests::{self, Ingress};
use sluice_translate::{Object, Options, Resources, Translation, translate};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    patterns_of_a_newer_namespace_do_not_affect_the_owners_paths,
    data_plane_tries_paths_in_the_order_of_the_ir,
);

fn created_at(ingress: &Ingress, second: usize) -> Value {
    let mut object = ingress.to_json();
    object["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    object
}

async fn patterns_of_a_newer_namespace_do_not_affect_the_owners_paths(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let owner = Ingress::new(OWNER, "web").host("shared.test");
    let owner = owner
        .typed_path("Exact", "/a", "web", 80)
        .path("/login", "web", 80);
    let guarded =
        Ingress::new(OWNER, "guarded").annotation("whitelist-source-range", "192.0.2.0/24");
    let guarded = guarded.host("shared.test").path("/admin", "web", 80);
    let foreign = Ingress::new(FOREIGN, "web")
        .annotation("use-regex", "true")
        .host("shared.test");
    let foreign = [
        "/zz",
        "/.{0,1}.{0,1}.*",
        "/admin/?.*",
        "/login(/|$)(.*)",
        "/LOGIN/x",
    ]
    .iter()
    .fold(foreign, |ingress, path| {
        ingress.typed_path("ImplementationSpecific", path, "web", 80)
    });
    let objects = [
        created_at(&owner, 1),
        created_at(&guarded, 2),
        created_at(&foreign, 3),
    ];
    tenants.write("shared.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let expected = [
        ("/a", Some(OWNER), 200),
        ("/A", Some(FOREIGN), 200),
        ("/a/b", Some(FOREIGN), 200),
        ("/login", Some(OWNER), 200),
        ("/login/now", Some(OWNER), 200),
        ("/loginx", Some(FOREIGN), 200),
        ("/admin", None, 403),
        ("/admin/x", None, 403),
        ("/zz", Some(FOREIGN), 200),
    ];
    for (path, pod, status) in expected {
        let answer = sluice.get("shared.test", path).await?;
        ensure!(
            (answer.pod(), answer.status) == (pod, status),
            "{path}: {} by {:?}",
            answer.status,
            answer.pod()
        );
    }
    sluice.stop()
}

const PATHS: [(&str, &str); 20] = [
    ("Prefix", "/"),
    ("Prefix", "/a"),
    ("Exact", "/a"),
    ("Prefix", "/a/"),
    ("Prefix", "/a/b"),
    ("Exact", "/a/b"),
    ("Exact", "/ab"),
    ("Prefix", "/ab"),
    ("Prefix", "/b"),
    ("Exact", "/b/c"),
    ("Prefix", "/A"),
    ("ImplementationSpecific", "/.*"),
    ("ImplementationSpecific", "/a.*"),
    ("ImplementationSpecific", "/a/(.*)"),
    ("ImplementationSpecific", "/.{0,1}.{0,1}.*"),
    ("ImplementationSpecific", "/[ab]/c"),
    ("ImplementationSpecific", "/a|/b"),
    ("ImplementationSpecific", "/.*b"),
    ("ImplementationSpecific", "/a/b?.*c"),
    ("ImplementationSpecific", "/b(/|$)(.*)"),
];
const REQUESTS: [&str; 16] = [
    "/", "/a", "/a/", "/A", "/a/b", "/ab", "/abc", "/a/b/c", "/b", "/b/", "/b/c", "/c", "/c/a",
    "/x/b", "/A/b/x", "/B/c",
];
const HOSTS: usize = 32;

/// Hosts with paths of two namespaces, each of an Ingress and to a Service of its own that the pod is told as the host.
fn random_ingresses(tenants: &Tenants) -> Vec<Value> {
    // As good as any, and the same each time.
    let mut state: u32 = 7;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    let mut objects = Vec::new();
    for host in 0..HOSTS {
        for number in 0..3 + draw(4) {
            let (namespace, pod) = if draw(2) == 0 {
                (OWNER, tenants.owner.addr())
            } else {
                (FOREIGN, tenants.foreign.addr())
            };
            let (name, (kind, path)) = (format!("h{host}-{number}"), PATHS[draw(PATHS.len())]);
            let use_regex = if kind == "ImplementationSpecific" || draw(4) == 0 {
                "true"
            } else {
                "false"
            };
            let ingress = Ingress::new(namespace, &name).annotation("use-regex", use_regex);
            let ingress = ingress
                .annotation("upstream-vhost", &name)
                .host(&format!("h{host}.test"));
            objects.push(created_at(
                &ingress.typed_path(kind, path, &name, 80),
                number,
            ));
            objects.push(manifests::service(namespace, &name, 80, &[pod]));
            objects.push(manifests::endpoint_slice(namespace, &name, &[pod]));
        }
    }
    objects
}

fn translation(objects: &[Value]) -> Result<Translation> {
    let mut resources = Resources::default();
    for object in objects {
        resources.apply(Object::from_value(object.clone())?);
    }
    Ok(translate(
        &resources,
        &Options {
            class_is_implied: true,
            ..Options::default()
        },
    ))
}

fn matches(route: &HttpRoute, request: &str) -> bool {
    match &route.matches.path {
        PathMatch::Exact(path) => path == request,
        PathMatch::Prefix(path) => request
            .strip_prefix(path.as_str())
            .is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/')),
        PathMatch::Regex(regex) => Regex::new(&format!("(?i)^{}", regex.pattern))
            .is_ok_and(|regex| regex.is_match(request)),
    }
}

async fn data_plane_tries_paths_in_the_order_of_the_ir(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let objects = random_ingresses(&tenants);
    tenants.write("worlds.yaml", &objects)?;
    let translation = translation(&objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for host in (0..HOSTS).map(|host| format!("h{host}.test")) {
        let name = ServerName::parse(&host).map_err(|_| anyhow::anyhow!("{host}"))?;
        let server = &translation.config().servers[&name];
        for request in REQUESTS {
            let first = server.routes.iter().find(|route| matches(route, request));
            let answer = sluice.get(&host, request).await?;
            let expected = match first.map(|route| &route.action) {
                Some(Action::Forward(to)) => to
                    .primary()
                    .as_str()
                    .split('/')
                    .nth(1)
                    .map_or_else(String::new, |name| format!("200 {name}")),
                Some(Action::Respond(status)) => format!("{status} "),
                Some(_) => "301 ".to_owned(),
                None => "404 ".to_owned(),
            };
            let told = answer
                .json()
                .ok()
                .and_then(|seen| Some(seen["host"].as_str()?.to_owned()));
            let got = format!("{} {}", answer.status, told.unwrap_or_default());
            let paths: Vec<_> = server
                .routes
                .iter()
                .map(|route| route.id.as_str())
                .collect();
            ensure!(
                got == expected,
                "{host}{request}: {got}, not {expected}: {paths:?}"
            );
        }
    }
    sluice.stop()
}
