//! Whoever writes Ingresses in one namespace changes nothing of what the hosts and paths of another one answer (R12 of the
//! security rules). Each row is an Ingress of a stranger, newer than its victim's.

mod guards;
mod many_owners;

use serde_json::{Value, json};
use sluice_ir::{Config, HostTls, HttpRoute, Server, ServerName};
use sluice_translate::annotations::{GROUPS, Scope};
use sluice_translate::{Object, Options, Report, Resources, translate};

const HOST: &str = "a.example";

fn apply(resources: &mut Resources, object: Value) {
    resources.apply(Object::from_value(object).unwrap());
}

fn service(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"ports": [{"port": 80}]},
    })
}

fn secret(name: &str, hosts: &[&str]) -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let certificate = rcgen::CertificateParams::new(hosts)
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let data = json!({"tls.crt": certificate.pem(), "tls.key": key.serialize_pem(), "ca.crt": certificate.pem()});
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "stranger"},
        "type": "kubernetes.io/tls", "stringData": data,
    })
}

fn path(path: &str, path_type: &str) -> Value {
    json!({"path": path, "pathType": path_type, "backend": {"service": {"name": "web", "port": {"number": 80}}}})
}

fn ingress(namespace: &str, year: &str, annotations: &Value, spec: Value) -> Value {
    let annotations = annotations.as_object().into_iter().flatten();
    let annotations: serde_json::Map<String, Value> = annotations
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.clone()))
        .collect();
    let created = format!("{year}-01-01T00:00:00Z");
    let metadata = json!({
        "name": "web", "namespace": namespace, "creationTimestamp": created, "annotations": annotations,
    });
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec})
}

fn rules(hosts: &[&str], paths: &[Value]) -> Value {
    let rule = |host: &&str| json!({"host": host, "http": {"paths": paths}});
    json!({"ingressClassName": "nginx", "rules": hosts.iter().map(rule).collect::<Vec<_>>()})
}

/// The victim's Ingress, and a stranger's.
fn config(stranger: Option<Value>) -> Config {
    let mut resources = Resources::default();
    let paths = [
        path("/", "Prefix"),
        path("/App", "Prefix"),
        path("/exact", "Exact"),
    ];
    apply(
        &mut resources,
        ingress("victim", "2020", &json!({}), rules(&[HOST], &paths)),
    );
    for namespace in ["victim", "stranger"] {
        apply(&mut resources, service(namespace));
    }
    apply(&mut resources, secret("own", &[HOST, "b.example"]));
    if let Some(object) = stranger {
        apply(&mut resources, object);
    }
    let options = Options {
        class_is_implied: true,
        ssl_passthrough: true,
        ..Options::default()
    };
    translate(&resources, &options).config().clone()
}

/// TLS settings of the victim's host. Being set apart from a stranger's wildcard is no change.
fn presented(config: &Config, name: &ServerName) -> HostTls {
    HostTls {
        no_wildcard_certificate: false,
        ..config.tls.get(name).cloned().unwrap_or_default()
    }
}

/// Changes for the victim.
fn harm(stranger: Value) -> Vec<String> {
    let (before, after) = (config(None), config(Some(stranger)));
    let name = ServerName::parse(HOST).unwrap();
    let (old, new) = (&before.servers[&name], &after.servers[&name]);
    let mut harm = Vec::new();
    let found = |route: &HttpRoute| new.routes.iter().find(|other| other.id == route.id);
    let changed = old
        .routes
        .iter()
        .filter(|route| found(route) != Some(route));
    harm.extend(changed.map(|location| format!("location {}", location.id.as_str())));
    let facts = [
        (
            "clients",
            old.client_certificates == new.client_certificates,
        ),
        ("app root", old.app_root == new.app_root),
        ("other names", old.aliases == new.aliases),
        (
            "certificate",
            presented(&before, &name) == presented(&after, &name),
        ),
        (
            "passthrough",
            after.passthrough.keys().all(|host| host.as_str() != HOST),
        ),
        ("global", before.global == after.global),
        (
            "backends",
            before
                .backends
                .iter()
                .all(|(id, backend)| after.backends.get(id) == Some(backend)),
        ),
    ];
    harm.extend(
        facts
            .into_iter()
            .filter(|(_, same)| !same)
            .map(|(what, _)| what.to_owned()),
    );
    harm
}

/// Every annotation that says something about routes, hosts or who may come in.
fn annotations() -> Vec<Value> {
    vec![
        json!({}),
        json!({"canary": "true", "canary-weight": "100"}),
        json!({"canary": "true", "canary-by-header": "x-me"}),
        json!({"canary": "true", "canary-by-cookie": "me"}),
        json!({"server-alias": "a.example,other.example"}),
        json!({"app-root": "/mine"}),
        json!({"from-to-www-redirect": "true"}),
        json!({"ssl-passthrough": "true"}),
        json!({"force-ssl-redirect": "true"}),
        json!({"ssl-redirect": "true"}),
        json!({"permanent-redirect": "https://evil.example"}),
        json!({"temporal-redirect": "https://evil.example"}),
        json!({"auth-tls-secret": "stranger/own"}),
        json!({"auth-tls-secret": "stranger/own", "auth-tls-verify-client": "optional"}),
        json!({"auth-tls-secret": "stranger/missing"}),
        json!({"auth-type": "basic", "auth-secret": "missing"}),
        json!({"auth-url": "http://web.stranger.svc.cluster.local/"}),
        json!({"enable-global-auth": "false"}),
        json!({"whitelist-source-range": "10.0.0.0/8"}),
        json!({"denylist-source-range": "0.0.0.0/0"}),
        json!({"satisfy": "any"}),
        json!({"custom-http-errors": "404,503", "default-backend": "web"}),
        json!({"default-backend": "web"}),
        json!({"mirror-target": "https://evil.example"}),
        json!({"upstream-vhost": "evil.example"}),
        json!({"x-forwarded-prefix": "/evil"}),
        json!({"backend-protocol": "HTTPS"}),
        json!({"affinity": "cookie", "session-cookie-name": "x"}),
        json!({"load-balance": "ewma"}),
        json!({"upstream-hash-by": "$remote_addr"}),
        json!({"service-upstream": "true"}),
        json!({"limit-rps": "1"}),
        json!({"limit-rate": "1"}),
        json!({"proxy-body-size": "1"}),
        json!({"proxy-read-timeout": "1"}),
        json!({"proxy-next-upstream": "off"}),
        json!({"enable-cors": "true"}),
        json!({"custom-headers": "stranger/missing"}),
        json!({"enable-access-log": "false"}),
        json!({"configuration-snippet": "return 403;"}),
        json!({"server-snippet": "return 403;"}),
    ]
}

/// With a certificate of its own for the hosts.
fn with_tls(mut spec: Value) -> Value {
    spec["tls"] = json!([{"hosts": [HOST], "secretName": "own"}]);
    spec
}

#[test]
fn a_stranger_on_the_same_host_changes_nothing_of_it() {
    let mut specs = Vec::new();
    for (text, kind) in [
        ("/", "Prefix"),
        ("/", "Exact"),
        ("/App", "Prefix"),
        ("/other", "Prefix"),
        ("/exact", "Exact"),
    ] {
        specs.push(rules(&[HOST], &[path(text, kind)]));
        specs.push(with_tls(rules(&["A.Example"], &[path(text, kind)])));
    }
    let mut default = rules(&[HOST], &[]);
    default["defaultBackend"] = path("/", "Prefix")["backend"].clone();
    specs.push(default);
    for annotations in annotations() {
        for spec in &specs {
            let harm = harm(ingress("stranger", "2021", &annotations, spec.clone()));
            assert!(harm.is_empty(), "{annotations} {spec}: {harm:?}");
        }
    }
}

#[test]
fn a_stranger_on_another_host_changes_nothing_of_it() {
    let hosts = ["*.example", "www.a.example", "b.example", "*.a.example", ""];
    for annotations in annotations() {
        for host in hosts {
            let spec = rules(&[host], &[path("/", "Prefix"), path("/App", "Prefix")]);
            for spec in [spec.clone(), with_tls(spec)] {
                let harm = harm(ingress("stranger", "2021", &annotations, spec.clone()));
                assert!(harm.is_empty(), "{annotations} {spec}: {harm:?}");
            }
        }
    }
}

#[test]
fn patterns_of_a_stranger_are_for_its_own_paths() {
    for annotations in [
        json!({"use-regex": "true"}),
        json!({"rewrite-target": "/$1"}),
    ] {
        for path in [
            path("/other/(.*)", "ImplementationSpecific"),
            path("/(.*)", "ImplementationSpecific"),
        ] {
            let spec = rules(&[HOST], &[path]);
            let harm = harm(ingress("stranger", "2021", &annotations, spec.clone()));
            assert!(harm.is_empty(), "{annotations} {spec}: {harm:?}");
        }
    }
}

/// For each annotation that holds for a host as a whole: what the stranger writes, and what the host's namespace may have written
/// before. `None`: it has no value of its own, but is a part of what `auth-tls-secret` asks of clients.
fn of_hosts() -> Vec<(&'static str, Option<[&'static str; 2]>)> {
    vec![
        ("app-root", Some(["/mine", "/theirs"])),
        ("from-to-www-redirect", Some(["true", "true"])),
        ("server-alias", Some(["mine.example", "theirs.example"])),
        (
            "ssl-ciphers",
            Some(["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"]),
        ),
        ("ssl-prefer-server-ciphers", Some(["false", "true"])),
        ("ssl-passthrough", Some(["true", "true"])),
        ("auth-tls-secret", Some(["stranger/own", "victim/own"])),
        ("auth-tls-verify-client", None),
        ("auth-tls-verify-depth", None),
        ("auth-tls-error-page", None),
        ("auth-tls-pass-certificate-to-upstream", None),
        ("auth-tls-match-cn", None),
    ]
}

/// The server of the host, and the fields of what the stranger is told about it.
fn of_both(secret: &Value, before: &Value, stranger: &Value) -> (Server, Vec<String>) {
    let mut resources = Resources::default();
    for namespace in ["victim", "stranger"] {
        apply(&mut resources, service(namespace));
        let mut secret = secret.clone();
        secret["metadata"]["namespace"] = json!(namespace);
        apply(&mut resources, secret);
    }
    apply(
        &mut resources,
        ingress(
            "victim",
            "2020",
            before,
            rules(&[HOST], &[path("/", "Prefix")]),
        ),
    );
    apply(
        &mut resources,
        ingress(
            "stranger",
            "2021",
            stranger,
            rules(&[HOST], &[path("/other", "Prefix")]),
        ),
    );
    let options = Options {
        class_is_implied: true,
        ssl_passthrough: true,
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let is_told = |report: &Report| {
        &*report.object.key.namespace == "stranger" && report.reason.contains(HOST)
    };
    let reports = translation.reports();
    let told = reports.iter().filter(|report| is_told(report));
    let fields = told.map(|report| report.field.clone()).collect();
    (
        Server::clone(&translation.config().servers[&ServerName::parse(HOST).unwrap()]),
        fields,
    )
}

/// The table is the catalogue's, and a field that is new is named by `say_stranger`, or that does not compile.
#[test]
fn what_a_stranger_says_of_a_host_as_a_whole_is_what_holds_or_is_reported() {
    let (rows, secret) = (of_hosts(), secret("own", &[HOST]));
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    let of_hosts: Vec<&str> = all
        .filter(|annotation| annotation.scope == Scope::Host)
        .map(|annotation| annotation.name)
        .collect();
    let without: Vec<_> = of_hosts
        .iter()
        .filter(|name| !rows.iter().any(|(row, _)| row == *name))
        .collect();
    assert!(without.is_empty(), "no values for {without:?}");
    for (name, values) in rows {
        assert!(of_hosts.contains(&name), "{name} is not of hosts");
        let Some([mine, theirs]) = values else {
            continue;
        };
        // A Secret of the stranger is none of the victim's, so there the two never say the same.
        let same = (name != "auth-tls-secret").then(|| json!({name: mine}));
        for before in [json!({}), json!({name: theirs})].into_iter().chain(same) {
            let (alone, _) = of_both(&secret, &before, &json!({}));
            let (server, told) = of_both(&secret, &before, &json!({name: mine}));
            let is_told = told.contains(&format!("annotation {name}"));
            let holds = before[name] == mine;
            assert!(is_told != holds, "{name} after {before}: told {told:?}");
            let of_host = |server: &Server| Server {
                routes: Vec::new(),
                ..server.clone()
            };
            assert_eq!(of_host(&server), of_host(&alone), "{name} after {before}");
        }
    }
}

/// A Secret of another namespace is never the host's, whether the host has one or not.
#[test]
fn a_certificate_of_a_stranger_is_reported_whatever_the_host_has() {
    let secret = secret("own", &[HOST]);
    let tls = json!([{"hosts": [HOST], "secretName": "own"}]);
    for victims in [json!([]), tls.clone()] {
        let mut resources = Resources::default();
        for (namespace, year, tls) in [("victim", "2020", &victims), ("stranger", "2021", &tls)] {
            apply(&mut resources, service(namespace));
            let mut secret = secret.clone();
            secret["metadata"]["namespace"] = json!(namespace);
            apply(&mut resources, secret);
            let at = if namespace == "victim" { "/" } else { "/other" };
            let mut spec = rules(&[HOST], &[path(at, "Prefix")]);
            spec["tls"] = tls.clone();
            apply(&mut resources, ingress(namespace, year, &json!({}), spec));
        }
        let translation = translate(
            &resources,
            &Options {
                class_is_implied: true,
                ..Options::default()
            },
        );
        let reports = translation.reports();
        let is_told = |report: &&&Report| {
            &*report.object.key.namespace == "stranger" && report.field == "spec.tls"
        };
        assert_eq!(
            reports.iter().filter(is_told).count(),
            1,
            "{victims}: {reports:?}"
        );
    }
}
