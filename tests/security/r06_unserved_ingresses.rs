//! R6: what an Ingress guards and does not serve, because it is lost as a whole or because of a path, is taken by no other Ingress
//! of its namespace, and what it guards of a host as a whole by none. What guards nothing and is lost changes nothing for others.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(paths_of_an_unserved_protected_ingress_are_never_open);

const WORD: &str = "unwanted";
const RULES: usize = 1000;
const WHOLE: &[&str] = &["/admin", "/admin/x", "/", "/other", "/foreign"];

/// A way in which an Ingress of one path is not served, or its path.
struct Case {
    path: &'static str,
    loses: fn(&mut Value),
    /// A guard beside those that all have.
    guard: Option<(&'static str, &'static str)>,
    /// Another path of the open Ingress.
    beside: Option<&'static str>,
    taken: &'static [&'static str],
    open: &'static [&'static str],
    /// Nobody can know whether it guards.
    always: bool,
}

const CASE: Case = Case {
    path: "/admin",
    loses: |_| (),
    guard: None,
    beside: None,
    taken: &["/admin", "/admin/x"],
    open: &["/", "/other", "/administrator", "/foreign"],
    always: false,
};

fn annotate(ingress: &mut Value, name: &str, value: &str) {
    ingress["metadata"]["annotations"][format!("nginx.ingress.kubernetes.io/{name}")] =
        value.into();
}

/// Beyond what is read.
fn lengthen(ingress: &mut Value) {
    ingress["metadata"]["annotations"]["example.com/large"] = "x".repeat(257 * 1024).into();
}

/// Other rules, before the one with the path or after it.
fn add_rules(ingress: &mut Value, is_first: bool) {
    let filler = json!({"host": "filler.test"});
    let Some(rules) = ingress["spec"]["rules"].as_array_mut() else {
        return;
    };
    let place = if is_first { rules.len() } else { 0 };
    rules.splice(place..place, std::iter::repeat_n(filler, RULES));
}

fn set_backend(ingress: &mut Value, backend: Value) {
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"] = backend;
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { loses: |ingress| add_rules(ingress, true), ..CASE },
    // A rule that is not read may be about any path.
    Case { loses: |ingress| add_rules(ingress, false), taken: &["/admin", "/admin/x", "/"], open: &["/foreign"], ..CASE },
    Case { loses: |ingress| ingress["spec"]["defaultBackend"] = json!({"service": {"name": "web", "port": {"number": 80}}}), ..CASE },
    Case { loses: |ingress| annotate(ingress, "server-alias", WORD), ..CASE },
    // It is one of a guard.
    Case { loses: |ingress| annotate(ingress, "auth-realm", WORD), always: true, ..CASE },
    Case { loses: |ingress| annotate(ingress, "nonsense", WORD), ..CASE },
    Case { loses: |ingress| annotate(ingress, "rewrite-target", "/unwanted"), ..CASE },
    Case { loses: |_| (), guard: Some(("auth-url", "http://unwanted.owner.svc/")), ..CASE },
    Case { loses: |_| (), guard: Some(("configuration-snippet", "deny all; # unwanted")), ..CASE },
    Case { loses: lengthen, always: true, ..CASE },
    // A guard of the whole host, which its namespace owns.
    Case { loses: |ingress| { annotate(ingress, "auth-tls-match-cn", "CN=me"); lengthen(ingress); }, always: true, taken: WHOLE, open: &[], ..CASE },
    Case { loses: |ingress| annotate(ingress, "auth-tls-secret", WORD), always: true, taken: WHOLE, open: &[], ..CASE },
    Case { loses: |ingress| add_rules(ingress, false), guard: Some(("auth-tls-secret", "owner/absent")), taken: WHOLE, open: &[], ..CASE },
    Case { path: "/admin/{x}", beside: Some("/admin/"), taken: &["/admin/%7Bx%7D", "/admin/%7bx%7d/y", "/admin/x"], open: &["/", "/other", "/administrator", "/foreign"], ..CASE },
    Case { path: "/admin[1]", taken: &["/admin%5B1%5D", "/"], open: &["/foreign"], ..CASE },
    Case { path: "/admin?", taken: &["/admin%3F", "/"], open: &["/foreign"], ..CASE },
    Case { loses: |ingress| set_backend(ingress, json!({"resource": {"apiGroup": "a.example", "kind": "Bucket", "name": "a"}})), ..CASE },
    Case { loses: |ingress| set_backend(ingress, json!({})), ..CASE },
    Case { loses: |ingress| set_backend(ingress, json!({"service": {"name": "web"}})), ..CASE },
    Case { loses: |ingress| set_backend(ingress, json!({"service": {"name": "No_Name", "port": {"number": 80}}})), ..CASE },
    Case { loses: |ingress| ingress["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = "Nonsense".into(), taken: &["/admin", "/"], open: &["/foreign"], ..CASE },
];

struct Expected {
    host: String,
    case: &'static Case,
    is_protected: bool,
}

/// The Ingresses of one host.
fn ingresses(
    number: usize,
    case: &'static Case,
    is_protected: bool,
    order: &str,
) -> (Vec<Value>, Expected) {
    let host = format!("h{number}-{is_protected}-{order}.test").to_lowercase();
    let name = |name: &str| format!("{name}-{number}-{is_protected}-{order}");
    let mut lost = Ingress::new(OWNER, &name("m-lost")).host(&host);
    if is_protected {
        lost = match case.guard {
            Some((name, value)) => lost.annotation(name, value),
            None => lost.annotation("whitelist-source-range", "192.0.2.0/24"),
        };
    }
    let mut lost = lost
        .typed_path("ImplementationSpecific", case.path, "web", 80)
        .to_json();
    (case.loses)(&mut lost);
    let open = if order == "older" { "a-open" } else { "z-open" };
    let open = Ingress::new(OWNER, &name(open))
        .host(&host)
        .path("/", "web", 80);
    let open = case
        .beside
        .iter()
        .fold(open, |open, path| open.path(path, "web", 80));
    let foreign = Ingress::new(FOREIGN, &name("foreign"))
        .host(&host)
        .path("/foreign", "web", 80);
    (
        vec![lost, open.to_json(), foreign.to_json()],
        Expected {
            host,
            case,
            is_protected,
        },
    )
}

/// In either order: the open path may be older or younger.
async fn paths_of_an_unserved_protected_ingress_are_never_open(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let metadata = json!({"namespace": "sluice", "name": "sluice"});
    let data =
        json!({"annotation-value-word-blocklist": WORD, "annotations-risk-level": "Critical"});
    let mut objects =
        vec![json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})];
    let mut expected = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        for (is_protected, order) in [(true, "older"), (true, "younger"), (false, "older")] {
            let (of_host, expects) = ingresses(number, case, is_protected, order);
            objects.extend(of_host);
            expected.push(expects);
        }
    }
    objects.push(
        Ingress::new(OWNER, "zz-last")
            .host("last.test")
            .path("/", "web", 80)
            .to_json(),
    );
    tenants.write("all.yaml", &objects)?;
    let flags = ["--disable-catch-all", "--configmap", "sluice/sluice"].map(str::to_owned);
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flags.to_vec())
        .start()
        .await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    let mut wrong = Vec::new();
    for Expected {
        host,
        case,
        is_protected,
    } in expected
    {
        let is_closed = is_protected || case.always;
        // Without a guard, a path that is served is served.
        let taken = case.taken.iter().map(|path| (path, !is_closed));
        for (path, is_open) in taken.chain(case.open.iter().map(|path| (path, true))) {
            let answer = sluice.get(&host, path).await?;
            if answer.pod().is_some() != is_open {
                wrong.push(format!(
                    "{host}: {}: {path}: {} {:?}",
                    case.path,
                    answer.status,
                    answer.pod()
                ));
            }
        }
    }
    ensure!(wrong.is_empty(), "{plane:?}:\n{}", wrong.join("\n"));
    sluice.stop()
}
