//! Annotations.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls;
use sluice_translate::annotations::{Annotation, GROUPS, Role};

use super::bad_values;
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    a_bad_value_of_a_guard_lets_nobody_in,
    a_bad_value_of_what_narrows_is_the_strictest
);

/// A guard, what it stands beside, and a value that can be honoured. With that, or with none, nobody without credentials
/// reaches the pod.
struct Guard {
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    good: &'static str,
    /// Bad in its own way: half of it can be read, or it names what is not there.
    bad: &'static [&'static str],
}

const BASIC: &[(&str, &str)] = &[("auth-type", "basic"), ("auth-secret", "users")];
const EXTERNAL: &[(&str, &str)] = &[("auth-url", "http://auth.owner.svc/")];
const ALLOWED: &[(&str, &str)] = &[
    ("auth-type", "basic"),
    ("auth-secret", "users"),
    ("allowlist-source-range", "127.0.0.0/8"),
];
const CLIENTS: &[(&str, &str)] = &[("auth-tls-secret", "owner/ca")];
const VERIFIED: &[(&str, &str)] = &[
    ("backend-protocol", "HTTPS"),
    ("proxy-ssl-secret", "owner/ca"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "web.test"),
];

const fn guard(
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    good: &'static str,
    bad: &'static [&'static str],
) -> Guard {
    Guard {
        name,
        beside,
        good,
        bad,
    }
}

#[rustfmt::skip]
const GUARDS: &[Guard] = &[
    guard("allowlist-source-range", &[], "192.0.2.0/24", &["192.0.2.0/24,nonsense", "192.0.2.0/24,,/8", "0.0.0.0/0/0", ","]),
    guard("whitelist-source-range", &[], "192.0.2.0/24", &["192.0.2.0/24,nonsense", "192.0.2.0/33", ","]),
    guard("denylist-source-range", &[], "127.0.0.0/8", &["192.0.2.0/24,nonsense", "127.0.0.0/33", ","]),
    guard("satisfy", ALLOWED, "all", &["Any", "any,all"]),
    guard("auth-type", &[("auth-secret", "users")], "basic", &["xbasic", "digest", "Basic"]),
    guard("auth-secret", &[("auth-type", "basic")], "users", &["absent", "foreign/users", "a/b/c", "users,users"]),
    guard("auth-secret-type", BASIC, "auth-file", &["auth-files"]),
    guard("auth-realm", BASIC, "shop", &["a\"b", "$host"]),
    guard("auth-url", &[], "http://auth.owner.svc/", &["http://auth.owner.svc/, http://b", "auth.owner.svc", "http://$arg_a/", "http://127.0.0.1/"]),
    guard("auth-method", EXTERNAL, "GET", &["get", "GETS"]),
    guard("auth-signin", EXTERNAL, "/start", &["javascript:alert(1)", "/start?$nonsense"]),
    guard("auth-signin-redirect-param", EXTERNAL, "rd", &["a b", "a&b"]),
    guard("auth-response-headers", EXTERNAL, "X-User", &["X-User,X Y", "Host"]),
    guard("auth-proxy-set-headers", EXTERNAL, "owner/headers", &["owner/absent", "foreign/headers", "owner/unreadable"]),
    guard("auth-request-redirect", EXTERNAL, "/a", &["$nonsense"]),
    guard("auth-always-set-cookie", EXTERNAL, "true", &["yes"]),
    guard("auth-cache-key", EXTERNAL, "$cookie_a", &["$nonsense", "${a"]),
    guard("auth-cache-duration", EXTERNAL, "200 5m", &["200 5x", "200 5m, x"]),
    guard("enable-global-auth", EXTERNAL, "true", &["yes"]),
    guard("auth-tls-secret", &[], "owner/ca", &["ca", "owner/absent", "foreign/ca", "owner/users"]),
    guard("auth-tls-verify-client", CLIENTS, "on", &["yes", "ON", "on,off"]),
    guard("auth-tls-verify-depth", CLIENTS, "1", &["one", "1.5"]),
    guard("auth-tls-error-page", CLIENTS, "/error", &["@named", "javascript:a"]),
    guard("auth-tls-match-cn", CLIENTS, "CN=me", &["me", "CN=(", "CN=.*|"]),
    guard("proxy-ssl-secret", VERIFIED, "owner/ca", &["ca", "owner/absent", "foreign/ca", "owner/users"]),
    guard("proxy-ssl-verify", VERIFIED, "on", &["yes", "ON", "true"]),
    guard("proxy-ssl-verify-depth", VERIFIED, "1", &["one"]),
    guard("proxy-ssl-name", VERIFIED, "web.test", &["a b", "*"]),
    guard("auth-snippet", EXTERNAL, "", &["deny all;"]),
    guard("configuration-snippet", EXTERNAL, "", &["deny all;"]),
    guard("server-snippet", EXTERNAL, "", &["deny all;"]),
    guard("stream-snippet", EXTERNAL, "", &["deny all;"]),
    guard("modsecurity-snippet", EXTERNAL, "", &["SecRuleEngine On"]),
];

/// Those with which a client comes in, and with a bad value none does.
#[rustfmt::skip]
const LIMITS: &[Guard] = &[
    guard("limit-connections", &[], "9", &["many", "9,9"]),
    guard("limit-rps", &[], "900", &["many", "1.5"]),
    guard("limit-rpm", &[], "900", &["many", "0x10"]),
    guard("custom-headers", &[], "owner/nothing", &["nothing", "owner/absent", "foreign/nothing", "owner/headers"]),
];

/// Something that narrows, what it stands beside, bad values of its own, and what is right about the answer to a request from
/// another origin, the fourth of four.
struct Narrowing {
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    bad: &'static [&'static str],
    is_right: fn(&Response) -> bool,
}

const CORS: &[(&str, &str)] = &[("enable-cors", "true")];
const COUNTED: &[(&str, &str)] = &[("limit-rpm", "1"), ("limit-burst-multiplier", "1")];

fn names_no_origin(answer: &Response) -> bool {
    answer.status == 200 && answer.header("access-control-allow-origin").is_none()
}

const fn narrowing(
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    bad: &'static [&'static str],
    is_right: fn(&Response) -> bool,
) -> Narrowing {
    Narrowing {
        name,
        beside,
        bad,
        is_right,
    }
}

#[rustfmt::skip]
const NARROWING: &[Narrowing] = &[
    narrowing("ssl-redirect", &[], &["yes", "on"], |answer| answer.status == 308),
    narrowing("force-ssl-redirect", &[("ssl-redirect", "false")], &["yes", "on"], |answer| answer.status == 308),
    narrowing("enable-cors", &[], &["yes", "on"], names_no_origin),
    narrowing("cors-allow-origin", CORS, &["shop.example", "https://*", "https://a b"], names_no_origin),
    narrowing("cors-allow-methods", CORS, &["GET;POST", "*"], names_no_origin),
    narrowing("cors-allow-headers", CORS, &["X-A;X-B", "*"], names_no_origin),
    narrowing("cors-allow-credentials", CORS, &["yes"], |answer| answer.header("access-control-allow-credentials").is_none()),
    narrowing("cors-expose-headers", CORS, &["X-A;X-B"], |answer| answer.header("access-control-expose-headers").is_none()),
    narrowing("cors-max-age", CORS, &["a day"], |answer| !["1728000"].contains(&answer.header("access-control-max-age").unwrap_or_default())),
    narrowing("limit-burst-multiplier", &[("limit-rpm", "1")], &["many"], |answer| answer.status == 503),
    narrowing("limit-allowlist", COUNTED, &["127.0.0.0/8,nonsense", "all"], |answer| answer.status == 503),
    narrowing("limit-whitelist", COUNTED, &["127.0.0.0/8,nonsense", "all"], |answer| answer.status == 503),
];

/// Read in the code alone: no request shows them from outside.
const NARROWING_UNSEEN: &[&str] = &[
    "auth-tls-pass-certificate-to-upstream",
    "proxy-ssl-protocols",
];

/// What keeps nobody out: where requests go, what they and their answers look like, how long somebody waits, what is written
/// down. `limit-rate` slows answers down, and a body that is too large meets the default of `proxy-body-size`.
#[rustfmt::skip]
const NO_GUARDS: &[&str] = &[
    "affinity", "affinity-canary-behavior", "affinity-mode", "app-root", "auth-keepalive", "auth-keepalive-requests",
    "auth-keepalive-share-vars", "auth-keepalive-timeout", "backend-protocol", "canary", "canary-by-cookie",
    "canary-by-header", "canary-by-header-pattern", "canary-by-header-value", "canary-weight", "canary-weight-total",
    "client-body-buffer-size", "connection-proxy-header", "custom-http-errors", "default-backend",
    "disable-proxy-intercept-errors", "enable-access-log", "enable-modsecurity", "enable-opentelemetry",
    "enable-owasp-core-rules", "enable-rewrite-log", "fastcgi-index", "fastcgi-params-configmap",
    "from-to-www-redirect", "http2-push-preload", "limit-rate", "limit-rate-after", "load-balance", "mirror-host",
    "mirror-request-body", "mirror-target", "modsecurity-transaction-id", "opentelemetry-operation-name",
    "opentelemetry-trust-incoming-span", "permanent-redirect", "permanent-redirect-code", "preserve-trailing-slash",
    "proxy-body-size", "proxy-buffer-size", "proxy-buffering", "proxy-buffers-number", "proxy-busy-buffers-size",
    "proxy-connect-timeout", "proxy-cookie-domain", "proxy-cookie-path", "proxy-http-version",
    "proxy-max-temp-file-size", "proxy-next-upstream", "proxy-next-upstream-timeout", "proxy-next-upstream-tries",
    "proxy-read-timeout", "proxy-redirect-from", "proxy-redirect-to", "proxy-request-buffering", "proxy-send-timeout",
    "proxy-ssl-ciphers", "proxy-ssl-server-name", "relative-redirects", "rewrite-target", "server-alias",
    "service-upstream", "session-cookie-change-on-failure", "session-cookie-conditional-samesite-none",
    "session-cookie-domain", "session-cookie-expires", "session-cookie-max-age", "session-cookie-name",
    "session-cookie-path", "session-cookie-samesite", "session-cookie-secure", "sluice.dev/eject-after",
    "sluice.dev/ejection-seconds", "sluice.dev/hash-load-factor", "sluice.dev/max-ejected",
    "sluice.dev/panic-threshold", "sluice.dev/slow-start", "sluice.dev/zone-preference", "ssl-ciphers", "ssl-passthrough",
    "ssl-prefer-server-ciphers", "temporal-redirect", "temporal-redirect-code", "upstream-hash-by",
    "upstream-hash-by-subset", "upstream-hash-by-subset-size", "upstream-vhost", "use-port-in-redirects", "use-regex",
    "x-forwarded-prefix",
];

#[test]
fn every_annotation_has_a_class() {
    let guards = GUARDS.iter().chain(LIMITS).map(|guard| guard.name);
    let narrowing = NARROWING
        .iter()
        .map(|narrowing| narrowing.name)
        .chain(NARROWING_UNSEEN.iter().copied());
    let classes: Vec<&str> = guards
        .clone()
        .chain(narrowing.clone())
        .chain(NO_GUARDS.iter().copied())
        .collect();
    let known: Vec<&Annotation> = GROUPS.iter().flat_map(|group| group.annotations).collect();
    let names: BTreeSet<&str> = known.iter().map(|annotation| annotation.name).collect();
    let without: Vec<_> = names
        .iter()
        .filter(|name| !classes.contains(name))
        .collect();
    assert!(
        without.is_empty(),
        "annotations without a class: {without:?}"
    );
    assert_eq!(
        classes.len(),
        names.len(),
        "each has one class, and each class is of an annotation"
    );
    for annotation in known {
        let expected = match annotation.role {
            Role::Guard | Role::Snippet => guards.clone().any(|name| name == annotation.name),
            Role::Narrows(_) => narrowing.clone().any(|name| name == annotation.name),
            Role::Plain | Role::Paths => NO_GUARDS.contains(&annotation.name),
        };
        assert!(
            expected,
            "{} has the role {:?}",
            annotation.name, annotation.role
        );
    }
}

/// What the table of guards needs: users, an authentication service that lets nobody in, authorities, a pod that speaks TLS.
struct Site {
    tenants: Tenants,
    _auth: Echo,
    _secure: Echo,
    _ports: [Port; 2],
}

impl Site {
    async fn start() -> Result<Site> {
        let tenants = Tenants::start().await?;
        let ports = [Port::reserve()?, Port::reserve()?];
        let auth = Echo::start(ports[0].addr(), EchoIdentity::of("auth", "auth")).await?;
        auth.script(Script::status(401));
        tenants
            .manifests
            .service(OWNER, "auth", 80, &[ports[0].addr()])?;
        let identity = Pair::of(&["web.test"])?.identity()?;
        let tls = Some(tls::server_config(identity)?);
        let setup = Setup {
            tls,
            ..Setup::default()
        };
        let secure =
            Echo::start_with(ports[1].addr(), EchoIdentity::of("secure", "secure"), setup).await?;
        tenants
            .manifests
            .service(OWNER, "secure", 443, &[ports[1].addr()])?;
        for namespace in [OWNER, FOREIGN] {
            let object = |kind: &str, name: &str, field: &str, data: Value| {
                let metadata = json!({"namespace": namespace, "name": name});
                tenants.manifests.object(
                    &json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, field: data}),
                )
            };
            object(
                "Secret",
                "users",
                "stringData",
                json!({"auth": "ada:{PLAIN}secret\n"}),
            )?;
            object(
                "Secret",
                "ca",
                "stringData",
                json!({"ca.crt": Pair::of(&["authority"])?.pem}),
            )?;
            object("ConfigMap", "headers", "data", json!({"X-Team": "shop"}))?;
            object(
                "ConfigMap",
                "unreadable",
                "data",
                json!({"X-Team": "$nonsense"}),
            )?;
            object("ConfigMap", "nothing", "data", json!({}))?;
        }
        Ok(Site {
            tenants,
            _auth: auth,
            _secure: secure,
            _ports: ports,
        })
    }

    /// Writes all Ingresses and waits until the last is served.
    async fn serve(&self, plane: Plane, mut ingresses: Vec<Value>) -> Result<Sluice> {
        ingresses.push(
            Ingress::new(OWNER, "last")
                .host("last.test")
                .path("/", "web", 80)
                .to_json(),
        );
        self.tenants.write("all.yaml", &ingresses)?;
        let sluice = plane.options(&self.tenants.manifests).start().await?;
        sluice.wait_for_status("last.test", "/", 200).await?;
        Ok(sluice)
    }
}

/// One Ingress with a host of its own.
struct Case {
    host: String,
    annotation: &'static str,
    value: String,
}

/// An Ingress of a Service for each value.
fn cases(
    annotation: &'static str,
    beside: &[(&str, &str)],
    values: impl Iterator<Item = String>,
) -> Vec<(Case, Value)> {
    let others: Vec<_> = beside
        .iter()
        .filter(|(name, _)| *name != annotation)
        .collect();
    let speaks_tls = others.iter().any(|(name, _)| *name == "backend-protocol");
    let (service, port) = if speaks_tls {
        ("secure", 443)
    } else {
        ("web", 80)
    };
    let case = |(number, value): (usize, String)| {
        let name = format!("{annotation}-{number}");
        let host = format!("{name}.test");
        let ingress = Ingress::new(OWNER, &name)
            .annotation(annotation, &value)
            .host(&host)
            .path("/", service, port);
        let ingress = others.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        let mut object = ingress.to_json();
        object["spec"]["tls"] = json!([{"hosts": [host]}]);
        // Plain http leads nowhere else but for those that are about that.
        if !annotation.contains("ssl-redirect") {
            object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/ssl-redirect"] =
                json!("false");
        }
        (
            Case {
                host,
                annotation,
                value,
            },
            object,
        )
    };
    values.enumerate().map(case).collect()
}

async fn a_bad_value_of_a_guard_lets_nobody_in(plane: Plane) -> Result<()> {
    let site = Site::start().await?;
    let own = |guard: &Guard| {
        guard
            .bad
            .iter()
            .map(|bad| (*bad).to_owned())
            .collect::<Vec<_>>()
    };
    let guards = GUARDS.iter().flat_map(|guard| {
        let values = bad_values()
            .into_iter()
            .chain(own(guard))
            .chain([guard.good.to_owned()]);
        cases(guard.name, guard.beside, values)
    });
    let limits = LIMITS.iter().flat_map(|guard| {
        cases(
            guard.name,
            guard.beside,
            bad_values().into_iter().chain(own(guard)),
        )
    });
    let served = LIMITS.iter().flat_map(|guard| {
        cases(
            guard.name,
            guard.beside,
            [guard.good.to_owned()].into_iter(),
        )
    });
    let served: Vec<(Case, Value)> = served
        .map(|(case, mut object)| {
            // Beside the others of its annotation.
            object["metadata"]["name"] = json!(format!("{}-good", case.annotation));
            object["spec"]["rules"][0]["host"] = json!(format!("good-{}", case.host));
            (
                Case {
                    host: format!("good-{}", case.host),
                    ..case
                },
                object,
            )
        })
        .collect();
    let (closed, closed_objects): (Vec<Case>, Vec<Value>) = guards.chain(limits).unzip();
    let (open, open_objects): (Vec<Case>, Vec<Value>) = served.into_iter().unzip();
    let sluice = site
        .serve(plane, [closed_objects, open_objects].concat())
        .await?;
    let mut wrong = Vec::new();
    for (case, is_open) in closed
        .iter()
        .map(|case| (case, false))
        .chain(open.iter().map(|case| (case, true)))
    {
        let answer = sluice.get(&case.host, "/").await?;
        if answer.pod().is_some() != is_open {
            wrong.push(format!(
                "{}: {:.40?}: {}",
                case.annotation, case.value, answer.status
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        closed.len() + open.len(),
        wrong.join("\n")
    );
    sluice.stop()
}

async fn a_bad_value_of_what_narrows_is_the_strictest(plane: Plane) -> Result<()> {
    let site = Site::start().await?;
    let all = NARROWING.iter().flat_map(|narrowing| {
        let own = narrowing.bad.iter().map(|bad| (*bad).to_owned());
        let values = bad_values()
            .into_iter()
            .filter(|value| !is_meant(narrowing.name, value))
            .chain(own);
        cases(narrowing.name, narrowing.beside, values)
            .into_iter()
            .map(move |(case, object)| ((case, narrowing), object))
    });
    let (cases, objects): (Vec<_>, Vec<Value>) = all.unzip();
    let sluice = site.serve(plane, objects).await?;
    let mut wrong = Vec::new();
    for (case, narrowing) in &cases {
        let request = Request::get(&case.host, "/").header("origin", "https://evil.example");
        let mut answer = http::send(sluice.http(), &request).await?;
        for _ in 0..3 {
            answer = http::send(sluice.http(), &request).await.context("again")?;
        }
        if !(narrowing.is_right)(&answer) {
            wrong.push(format!(
                "{}: {:.40?}: {answer:?}",
                case.annotation, case.value
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    sluice.stop()
}

/// Names of headers and methods are nearly anything, and no origin is every origin, as if the annotation were not there.
fn is_meant(annotation: &str, value: &str) -> bool {
    let is_text = |others: &str| {
        value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
    };
    match annotation {
        "cors-allow-origin" => value.trim().is_empty(),
        "cors-allow-methods" => {
            !value.trim().is_empty() && value.chars().all(|c| c.is_ascii_alphabetic())
        }
        "cors-allow-headers" | "cors-expose-headers" => {
            !value.trim().is_empty() && is_text("-_, *")
        }
        _ => false,
    }
}
