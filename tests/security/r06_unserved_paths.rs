//! R6: a path that guards access and cannot be served is taken by no other path of its namespace.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::manifests::Ingress;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(protected_path_that_is_not_served_is_never_open);

/// A guarded path, what keeps it from being served beside the path itself, what it takes in ingress-nginx, and what stays open.
struct Case {
    path: &'static str,
    annotation: Option<(&'static str, &'static str)>,
    taken: &'static [&'static str],
    open: &'static [&'static str],
}

/// Ways to guard a path.
const GUARDS: &[(&str, &str)] = &[
    ("allowlist-source-range", "192.0.2.0/24"),
    (
        "configuration-snippet",
        "if ($http_x_key != secret) { return 403; }",
    ),
];

const REGEX: Option<(&str, &str)> = Some(("use-regex", "true"));

const fn case(
    path: &'static str,
    annotation: Option<(&'static str, &'static str)>,
    taken: &'static [&'static str],
    open: &'static [&'static str],
) -> Case {
    Case {
        path,
        annotation,
        taken,
        open,
    }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("/admin(?=/private)?", REGEX, &["/admin", "/admin/x", "/Admin", "/adminx"], &["/", "/other", "/foreign"]),
    case("/admin/(?<=n/)secret", REGEX, &["/admin/secret", "/admin/secret/x"], &["/", "/other", "/foreign"]),
    case("/admin/<x>", None, &["/admin/%3Cx%3E", "/admin/%3cx%3e/y"], &["/", "/other", "/foreign"]),
    case("/admin/a b", None, &["/admin/a%20b"], &["/", "/other", "/foreign"]),
    case("/admin<x>", None, &["/admin%3Cx%3E", "/"], &["/foreign"]),
    case("/admin", Some(("use-regex", "maybe")), &["/admin", "/admin/x"], &["/", "/other", "/foreign"]),
    case("/admin(.*)", Some(("use-regex", "maybe")), &["/admin", "/adminx", "/admin/x"], &["/foreign"]),
    case("/", Some(("rewrite-target", "$nonsense")), &["/", "/admin"], &["/foreign"]),
];

/// Every case with every guard, beside an open path, older and younger than it, with the host of each.
fn ingresses() -> (Vec<Value>, Vec<(String, &'static Case)>) {
    let (mut ingresses, mut expected) = (vec![snippets_permitted()], Vec::new());
    let with_guards = |guard| CASES.iter().map(move |case| (case, guard));
    let all = GUARDS.iter().flat_map(with_guards);
    for (number, (case, (guard, value))) in all.enumerate() {
        for (order, open) in [("older", "a-open"), ("younger", "z-open")] {
            let host = format!("{order}-{number}.test");
            let guarded = Ingress::new(OWNER, &format!("guarded-{order}-{number}")).host(&host);
            let guarded = guarded.annotation(guard, value);
            let guarded = case
                .annotation
                .iter()
                .fold(guarded, |guarded, (name, value)| {
                    guarded.annotation(name, value)
                });
            ingresses.push(
                guarded
                    .typed_path("ImplementationSpecific", case.path, "web", 80)
                    .to_json(),
            );
            let open = Ingress::new(OWNER, &format!("{open}-{number}"))
                .host(&host)
                .path("/", "web", 80);
            // What is closed in the place of a path is closed with a slash behind it, too.
            let open = if case.path.starts_with("/admin/") {
                open.path("/admin/", "web", 80)
            } else {
                open
            };
            ingresses.push(open.to_json());
            let foreign = Ingress::new(FOREIGN, &format!("{order}-{number}")).host(&host);
            ingresses.push(foreign.path("/foreign", "web", 80).to_json());
            expected.push((host, case));
        }
    }
    ingresses.push(
        Ingress::new(OWNER, "last")
            .host("last.test")
            .path("/", "web", 80)
            .to_json(),
    );
    (ingresses, expected)
}

/// In either order: the open path may be older or younger.
async fn protected_path_that_is_not_served_is_never_open(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (ingresses, expected) = ingresses();
    tenants.write("all.yaml", &ingresses)?;
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(snippet_flags()).start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    let mut wrong = Vec::new();
    for (
        host,
        Case {
            path: guarded,
            taken,
            open,
            ..
        },
    ) in expected
    {
        let all = taken
            .iter()
            .map(|path| (path, false))
            .chain(open.iter().map(|path| (path, true)));
        for (path, is_open) in all {
            let answer = sluice.get(&host, path).await?;
            if answer.pod().is_some() != is_open {
                wrong.push(format!("{host}: {guarded}: {path}: {}", answer.status));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    sluice.stop()
}
