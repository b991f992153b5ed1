//! R6: whom a snippet keeps out in nginx, it keeps out here. A real nginx has the same snippets and gets the same requests.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use percent_encoding::percent_decode_str;
use sluice_tests::echo::Received;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::sluice::Sluice;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};
use written::{WRITTEN, WRITTEN_BESIDE_PATTERNS, WRITTEN_IN_ROOT};

mod written;

on_every_plane!(snippets_keep_out_whom_nginx_keeps_out);

/// Of a server, and of all its locations.
#[derive(Clone, Debug, Default)]
struct Snippets {
    server: String,
    location: String,
    paths: Paths,
}

/// Paths of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Paths {
    /// `/` and `/shop`
    #[default]
    Plain,
    /// [`PATTERNS`]
    Patterns,
    /// `/` alone: nginx nests no location in one of `/shop`, which is exact, too.
    Root,
}

/// The longest first, as ingress-nginx writes them.
const PATTERNS: [&str; 3] = ["/shop(/|$)(.*)", r"/[^/]+\.php$", "/"];

const CONDITIONS: &[&str] = &[
    "$http_x_key = secret",
    "$http_x_key != secret",
    "$http_x_key ~ ^s",
    "$http_x_key !~* SEC",
    "$http_x_key",
    "$cookie_key = secret",
    "$cookie_key != secret",
    "$cookie_key = ''",
    "$cookie_key",
    "$request_method = POST",
    "$request_method !~ ^(GET|HEAD)$",
    "$uri = /shop/a",
    "$uri != /shop/a",
    "$uri = '/a b'",
    "$uri ~ ^/[^/]+/?$",
    "$uri !~* /A",
    "$args = ''",
    "$arg_x",
    "$http_cookie ~* KEY=secret",
    "$http_cookie !~ '^(a|key)=[^;, ]*$'",
    "$http_cookie = ''",
    "$host != other.test",
    "$scheme = https",
    "$http_x_forwarded_proto != https",
    "$http_x_forwarded_proto = http",
    "$flag",
    "$flag = 1",
    "$flag != 1",
];

const TARGETS: &[&str] = &[
    "/",
    "/shop",
    "/shop/",
    "/shop/a",
    "/shop/a?x=/b",
    "/shop/a?y=1&X=/c&x=/b",
    "/shop/?x&=1&xx=/b&x=",
    "/shopping",
    "/shop/s/x.php",
    "/short/x.php",
    "/SHOP/a",
    "/metrics",
    "/metrics/a",
    "/metricsfoo",
    "/x.php",
    "/x.php/y",
    "/.git/config",
    "/a%20b",
    "/x.php%0A",
    "/shop/x.php%3Fa",
    "/shop/%C3%A9",
    "/%73hop/a",
    "/shop%2fa",
    "//shop///a",
    "/x/../shop/a",
    "/shop/a/.",
    "/x.p%68p?a.php",
    "/robots.txt",
    "/a.JSON",
];

/// Headers that snippets add.
const ADDED: [&str; 2] = ["x-outer", "x-inner"];

type Headers = &'static [(&'static str, &'static str)];

const HEADERS: &[Headers] = &[
    &[],
    &[("x-key", "secret")],
    &[("X-KEY", "no secret")],
    &[("X_Key", "secret"), ("cookie", "key=")],
    &[("cookie", "a=b; key=secret")],
    &[("cookie", "key=other; key=secret"), ("x-key", "0")],
    &[("cookie", "xkey=secret;KEY = secret")],
    &[("cookie", "key; key=secret ")],
    &[("cookie", "a=b"), ("cookie", "key=secret")],
    &[("x-forwarded-proto", "https"), ("x-forwarded-port", "443")],
    &[
        ("X-Forwarded-Proto", "http"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-sluice-sent-x-forwarded-proto", "https"),
    ],
];

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn statement(&mut self) -> String {
        let condition = self.of(CONDITIONS);
        let other = self.of(CONDITIONS);
        match self.below(8) {
            0..=2 => format!("if ({condition}) {{ return 403; }}"),
            3 | 4 => format!("if ({condition}) {{ set $flag 1; }}"),
            5 => format!("if ({condition}) {{ set $flag ${{flag}}1; }}"),
            6 => format!("if ({condition}) {{ set $flag ''; }}"),
            _ => format!("if ({condition}) {{ set $flag 1; }} if ({other}) {{ return 404; }}"),
        }
    }

    fn directives(&mut self) -> String {
        let count = 1 + self.below(4);
        let statements: Vec<_> = (0..count).map(|_| self.statement()).collect();
        format!(
            "set $flag 0; {} if ($flag = 11) {{ return 410; }}",
            statements.join(" ")
        )
    }

    fn nested(&mut self) -> Snippets {
        let mut block = || {
            format!(
                "set $flag 0; {} if ($flag = 1) {{ return 410; }}",
                self.statement()
            )
        };
        let (first, second) = (block(), block());
        Snippets {
            location: format!("location ~* /s {{ {first} }} location /metrics {{ {second} }}"),
            paths: Paths::Root,
            ..Snippets::default()
        }
    }

    fn snippets(&mut self) -> Snippets {
        match self.below(3) {
            0 => Snippets {
                server: self.directives(),
                ..Snippets::default()
            },
            1 => Snippets {
                server: format!("location ~* /s {{ {} }}", self.directives()),
                ..Snippets::default()
            },
            _ => Snippets {
                location: self.directives(),
                ..Snippets::default()
            },
        }
    }
}

fn all() -> Vec<Snippets> {
    let of = |written: &'static [(&str, &str)], paths| {
        written.iter().map(move |(server, location)| Snippets {
            server: (*server).to_owned(),
            location: (*location).to_owned(),
            paths,
        })
    };
    let mut chance = Chance(17);
    let random = (0..30).map(|number| Snippets {
        paths: match number % 3 {
            0 => Paths::Patterns,
            _ => Paths::Plain,
        },
        ..chance.snippets()
    });
    let mut chance = Chance(7);
    let nested = (0..8).map(|_| chance.nested());
    of(WRITTEN, Paths::Plain)
        .chain(of(WRITTEN_BESIDE_PATTERNS, Paths::Patterns))
        .chain(of(WRITTEN_IN_ROOT, Paths::Root))
        .chain(random)
        .chain(nested)
        .collect()
}

/// nginx with these snippets where ingress-nginx puts them.
async fn reference(all: &[Snippets], pod: std::net::SocketAddr) -> Result<(Nginx, Port)> {
    let port = Port::reserve()?;
    let mut http = String::from(
        "server_names_hash_bucket_size 128;\nport_in_redirect off;\n\
         types { text/plain txt; application/json json; }\ndefault_type text/html;\n",
    );
    for (number, snippets) in all.iter().enumerate() {
        let Snippets {
            server, location, ..
        } = snippets;
        let locations: Vec<String> = match snippets.paths {
            Paths::Patterns => PATTERNS.iter().map(|it| format!("~* \"^{it}\"")).collect(),
            Paths::Plain => ["/", "/shop/", "= /shop"].map(str::to_owned).to_vec(),
            Paths::Root => vec!["/".to_owned()],
        };
        let locations = locations
            .iter()
            .map(|it| format!("location {it} {{ {location}\nproxy_pass http://{pod}; }}\n"));
        writeln!(
            http,
            "server {{ listen {}; server_name s{number}.test;\n{server}\n{} }}",
            port.addr(),
            locations.collect::<String>(),
        )?;
    }
    Ok((Nginx::start(Conf::write("", &http)?).await?, port))
}

fn ingresses(all: &[Snippets]) -> Vec<serde_json::Value> {
    let of = all.iter().enumerate().map(|(number, snippets)| {
        let name = format!("s{number}");
        let ingress = Ingress::new(OWNER, &name)
            .annotation("server-snippet", &snippets.server)
            .annotation("configuration-snippet", &snippets.location);
        if snippets.paths != Paths::Patterns {
            let ingress = ingress.host(&format!("{name}.test"));
            let ingress = ingress.path("/", "web", 80);
            return match snippets.paths {
                Paths::Root => ingress.to_json(),
                _ => ingress.path("/shop", "web", 80).to_json(),
            };
        }
        let ingress = ingress
            .annotation("use-regex", "true")
            .host(&format!("{name}.test"));
        let ingress = PATTERNS.iter().fold(ingress, |ingress, path| {
            ingress.typed_path("ImplementationSpecific", path, "web", 80)
        });
        ingress.to_json()
    });
    std::iter::once(snippets_permitted()).chain(of).collect()
}

async fn snippets_keep_out_whom_nginx_keeps_out(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let all = all();
    tenants.write("all.yaml", &ingresses(&all))?;
    let (nginx, port) = reference(&all, tenants.foreign.addr()).await?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    // Which comes to 403 or 200, and is neither 404 nor 503.
    sluice.wait_for_status("s0.test", "/", 403).await?;
    let (mut let_in, mut requests) = (0, 0);
    for (number, snippets) in all.iter().enumerate() {
        let host = format!("s{number}.test");
        for (nth, target) in TARGETS.iter().enumerate() {
            for (which, headers) in HEADERS.iter().enumerate() {
                // Each target with each header, of the snippets together.
                if (nth + which + number) % 3 > 0 || splits_responses(snippets, target) {
                    continue;
                }
                let method = if (nth + which + number) % 4 == 0 {
                    "POST"
                } else {
                    "GET"
                };
                let request = Request::new(method, &host, target).headers(headers);
                let before = tenants.received.len();
                let expected = http::send(port.addr(), &request).await?;
                let got = http::send(sluice.http(), &request).await?;
                compare(&expected, &got)
                    .and_then(|()| compare_paths(snippets, target, &tenants.received.since(before)))
                    .with_context(|| format!("{snippets:?}\n{request:?}"))?;
                requests += 1;
                let_in += usize::from(expected.status == 200);
            }
        }
    }
    ensure!(
        (requests / 10..requests * 9 / 10).contains(&let_in),
        "{let_in} of {requests} came in"
    );
    nginx.stop()?;
    stop(sluice)
}

/// True if nginx may write a line break of the decoded path into a header.
fn splits_responses(snippets: &Snippets, target: &str) -> bool {
    let texts = [&snippets.server, &snippets.location];
    let has_path = |text: &&String| ["$1", "$2", "$uri"].iter().any(|it| text.contains(it));
    target.contains("%0A") && texts.iter().any(has_path)
}

/// Compares who is let in, status, target, text, and headers that snippets add.
fn compare(expected: &http::Response, got: &http::Response) -> Result<()> {
    let statuses = format!("nginx: {}, got: {}", expected.status, got.status);
    let is_same = (expected.pod() == Some(FOREIGN)) == (got.pod() == Some(OWNER));
    ensure!(is_same && expected.status == got.status, "{statuses}");
    let said = |answer: &http::Response| {
        let headers = ["location", ADDED[0], ADDED[1]];
        // nginx writes groups of a decoded path as they are into a URL.
        let decoded = |value: &str| percent_decode_str(value).decode_utf8_lossy().into_owned();
        let headers = headers.map(|name| answer.header(name).map(decoded));
        (headers, text(answer))
    };
    let (expected, got) = (said(expected), said(got));
    ensure!(expected == got, "{statuses}: {expected:?}, {got:?}");
    Ok(())
}

/// Compares rewritten paths that both pods have got, in whatever way they are written down.
fn compare_paths(snippets: &Snippets, target: &str, received: &[Received]) -> Result<()> {
    let has_dots = target.contains("/.") || target.contains("//");
    let path = |it: &Received| percent_decode_str(&it.path).collect::<Vec<u8>>();
    let paths: BTreeSet<_> = received.iter().map(|it| (path(it), &it.query)).collect();
    let is_changed = snippets.location.ends_with(" break;") || snippets.server.contains(" last;");
    let is_same = paths.len() <= 1 || has_dots || !is_changed;
    ensure!(is_same, "{received:?}");
    Ok(())
}

/// Text and type of an answer that the snippet itself has written: not a pod's, nor a page of the proxy.
fn text(answer: &http::Response) -> Option<(Option<String>, String)> {
    let is_own = answer.pod().is_none() && answer.header("location").is_none();
    let text = answer.text();
    let is_page = text.is_empty() || text.contains("<center>");
    (is_own && !is_page).then(|| (answer.header("content-type").map(str::to_owned), text))
}

fn stop(sluice: Sluice) -> Result<()> {
    sluice.stop().context("stop")
}
