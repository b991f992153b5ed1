//! R5: what snippets come to is limited: on every path there is a copy of their responses, conditions and lists.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::manifests::{self, Ingress};
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, Translation, translate};

use crate::r05_sizes::sizes;
use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(longest_texts_are_served_and_longer_ones_refused);

/// Rendered bytes that all snippets of one Ingress may come to.
const MOST: usize = 24 << 20;

fn translated(objects: Vec<Value>, data_plane: DataPlane) -> Translation {
    let pods = ["10.0.0.1:80".parse().unwrap()];
    let service = manifests::service(OWNER, "web", 80, &pods);
    let slice = manifests::endpoint_slice(OWNER, "web", &pods);
    let mut resources = Resources::default();
    for object in objects
        .into_iter()
        .chain([service, slice, snippets_permitted()])
    {
        resources.apply(Object::from_value(object).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sluice", "sluice")),
        data_plane: Some(data_plane),
        ..Options::default()
    };
    translate(&resources, &options)
}

fn with_paths(name: &str, annotations: &[(&str, String)], paths: usize) -> Value {
    let ingress = annotations
        .iter()
        .fold(Ingress::new(OWNER, name), |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
    let numbers = 0..paths;
    let ingress = numbers.fold(ingress.host("a.test"), |ingress, number| {
        ingress.path(&format!("/{name}-{number}"), "web", 80)
    });
    ingress.to_json()
}

/// Four ways of 16, each with seven conditions.
fn branches() -> String {
    let ways: String = "abcd"
        .chars()
        .map(|it| format!("if ($http_x{it} = b) {{ set $g 1; }}\n"))
        .collect();
    let nested = format!(
        "if ($http_y = b) {{ if ($http_z = b) {{ {ways} if ($g) {{ return 403; }} return 404; }} }}"
    );
    format!("set $g 0; {nested}")
}

fn locations() -> String {
    let location = |n: usize| format!("location = /l{n} {{ {} }}\n", responses(""));
    (0..4).map(location).collect()
}

fn with_hosts(snippet: &str, hosts: usize) -> Value {
    let ingress = Ingress::new(OWNER, "hosts").annotation("server-snippet", snippet);
    let numbers = 0..hosts;
    let ingress = numbers.fold(ingress, |ingress, number| {
        ingress
            .host(&format!("h{number}.test"))
            .path("/", "web", 80)
    });
    ingress.to_json()
}

fn responses(text: &str) -> String {
    (0..32)
        .map(|n| format!("if ($http_a{n} = b) {{ return 403 '{text}'; }}\n"))
        .collect()
}

/// Objects of one tenant, with the name of what they have much of.
fn worlds() -> [(&'static str, Vec<Value>); 5] {
    let deny = |n: usize| format!("deny 10.0.{}.{};\n", n >> 8, n & 255);
    let networks: String = (0..1000).map(deny).collect();
    let origins: Vec<_> = (0..200).map(|n| format!("https://*.a{n}.io")).collect();
    let cors = [
        ("enable-cors", "true".to_owned()),
        ("cors-allow-origin", origins.join(",")),
    ];
    let of_location = |text: String| ("configuration-snippet", text);
    let of_server = |text: String| ("server-snippet", text);
    let all_origins: Vec<_> = cors
        .clone()
        .into_iter()
        .chain([of_location(responses(""))])
        .collect();
    let long = responses(&"x".repeat(900)) + &networks;
    [
        (
            "ways",
            vec![with_paths("a", &[of_location(branches())], 1000)],
        ),
        ("origins", vec![with_paths("a", &all_origins, 100)]),
        (
            "paths of another Ingress",
            vec![
                with_paths("a", &[of_server(long)], 1),
                with_paths("b", &[], 500),
            ],
        ),
        ("hosts of locations", vec![with_hosts(&locations(), 200)]),
        (
            "origins of another Ingress",
            vec![
                with_paths("a", &[of_server(responses(""))], 1),
                with_paths("b", &cors, 100),
            ],
        ),
    ]
}

/// The same objects without their snippets.
fn without_snippets(objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.retain(|name, _| !name.ends_with("snippet"));
        }
    }
    objects
}

#[test]
fn snippets_times_paths_are_limited() {
    let worlds = worlds();
    for data_plane in [DataPlane::Envoy, DataPlane::Nginx] {
        for (what, objects) in &worlds {
            let without = translated(without_snippets(objects), data_plane);
            let with = translated(objects.clone(), data_plane);
            let sizes = sizes(with.config())
                .into_iter()
                .zip(sizes(without.config()));
            for (with, without) in sizes {
                let is_limited = with < without + MOST;
                assert!(
                    is_limited,
                    "{what} on {data_plane}: {with}, without {without} bytes"
                );
            }
            let mut routes = with.config().routes();
            let is_closed = routes.any(|route| json!(route.action) == "denied");
            assert!(is_closed, "{what} on {data_plane}: nothing is closed");
            let reports = json!(with.reports()).to_string();
            assert!(reports.contains("LimitExceeded"), "{what}: {reports}");
        }
    }
}

/// To Envoy each part of a value that errors do not have is a program of 11 KB: 16 lines for 300 paths held up everybody's changes
/// for 47 s.
#[test]
fn headers_that_errors_do_not_have_are_limited() {
    const MOST_PROGRAMS: usize = 1000;
    let value: String = (0..16).map(|n| format!("$http_x_{n}")).collect();
    let lines: String = (0..16)
        .map(|n| format!("add_header X-A{n} \"{value}\";\n"))
        .collect();
    for (what, objects) in [
        (
            "own",
            vec![with_paths(
                "a",
                &[("configuration-snippet", lines.clone())],
                300,
            )],
        ),
        (
            "conditional",
            vec![with_paths(
                "a",
                &[(
                    "configuration-snippet",
                    format!("if ($http_a) {{ {lines} }}"),
                )],
                300,
            )],
        ),
        (
            "of a server",
            vec![with_paths("a", &[("server-snippet", lines)], 300)],
        ),
    ] {
        let translation = translated(objects, DataPlane::Envoy);
        let programs = translation.config().routes().map(|route| {
            json!([route.filters, route.header_variants])
                .to_string()
                .matches("unless_error")
                .count()
        });
        let programs: usize = programs.sum();
        assert!(programs <= MOST_PROGRAMS, "{what}: {programs}");
        let reports = json!(translation.reports()).to_string();
        assert!(
            reports.contains("added to errors, too"),
            "{what}: {reports}"
        );
    }
}

/// Ways are followed in steps that are counted, so text of any kind is read in the time that its length takes.
#[test]
fn reading_a_snippet_takes_no_longer_than_its_length() {
    let flags: String = (0..2000).map(|n| format!("set $f{n} 1;")).collect();
    let ways: String = "abcd"
        .chars()
        .map(|it| format!("if ($http_{it} = b) {{ set $z 1; }}"))
        .collect();
    let again = "if ($http_a = b) { set $z 1; }".repeat(2000);
    let nested = "if ($http_a) { ".repeat(4) + &again + &"}".repeat(4);
    for text in [
        flags + &ways + &again,
        nested,
        "{".repeat(100_000),
        "\\".repeat(100_000),
    ] {
        let ingress = with_paths("a", &[("configuration-snippet", text)], 1);
        let translated = translated(vec![ingress], DataPlane::Envoy);
        let reports = json!(translated.reports()).to_string();
        assert!(reports.contains("configuration-snippet"), "{reports}");
    }
}

/// A path, and a snippet with texts of this length in it.
type Lengths = (&'static str, usize, fn(usize) -> (String, String));

/// As long as each may be.
const LONGEST: &[Lengths] = &[
    ("name of a cookie", 40, |n| {
        let name = "c".repeat(n);
        (
            "/".to_owned(),
            format!("if ($cookie_{name} = a) {{ return 403; }}"),
        )
    }),
    ("value of a cookie", 500, |n| {
        let value = "v".repeat(n);
        (
            "/".to_owned(),
            format!("if ($cookie_a = {value}) {{ return 403; }}"),
        )
    }),
    ("path in ASCII", 300, |n| {
        let path = "p".repeat(n - 1);
        (
            "/".to_owned(),
            format!("if ($uri = /{path}) {{ return 403; }}"),
        )
    }),
    ("path to encode", 300, |n| {
        let path = " ".repeat(n - 1);
        (
            "/".to_owned(),
            format!("if ($uri = '/{path}') {{ return 403; }}"),
        )
    }),
    ("header", 1000, |n| {
        let value = "h".repeat(n);
        (
            "/".to_owned(),
            format!("if ($http_a = {value}) {{ return 403; }}"),
        )
    }),
    ("method", 1000, |n| {
        let value = "M".repeat(n);
        (
            "/".to_owned(),
            format!("if ($request_method = {value}) {{ return 403; }}"),
        )
    }),
    ("text", 3500, |n| {
        let text = "\n".repeat(n / 2) + &"t".repeat(n % 2);
        (
            "/".to_owned(),
            format!("if ($http_x_a) {{ return 403 \"{text}\"; }}"),
        )
    }),
    ("path of a rewrite", 1900, |n| {
        (
            format!("/{}", "r".repeat(n - 1)),
            "rewrite ^/x(.*) /$1 redirect;".to_owned(),
        )
    }),
];

/// Envoy refuses patterns beyond a length, and everything that comes with them.
async fn longest_texts_are_served_and_longer_ones_refused(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = vec![snippets_permitted()];
    for (number, (_, most, text)) in LONGEST.iter().enumerate() {
        for (kind, length) in [("most", *most), ("more", most + 1)] {
            let (path, snippet) = text(length);
            let name = format!("{kind}-{number}");
            let ingress = Ingress::new(OWNER, &name)
                .annotation("configuration-snippet", &snippet)
                .host(&format!("{name}.test"))
                .path(&path, "web", 80);
            objects.push(ingress.to_json());
        }
    }
    let last = Ingress::new(OWNER, "last").host("last.test");
    objects.push(last.path("/", "web", 80).to_json());
    tenants.write("all.yaml", &objects)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    for (number, (what, most, text)) in LONGEST.iter().enumerate() {
        for (kind, length, status) in [("most", *most, 200), ("more", most + 1, 503)] {
            let answer = sluice
                .get(&format!("{kind}-{number}.test"), &text(length).0)
                .await?;
            ensure!(answer.status == status, "{what} of {length}: {answer:?}");
        }
    }
    let log = sluice.log().lines();
    let refused = log
        .iter()
        .find(|line| line.contains("NACK") || line.contains("reload failed"));
    ensure!(refused.is_none(), "{refused:?}");
    sluice.stop()
}
