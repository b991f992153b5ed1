//! Whoever writes Ingresses in one namespace changes nothing of what the hosts and paths of another one answer (R12 of the
//! security rules). Each row is an Ingress of a stranger, newer than its victim's.

use serde_json::{Value, json};
use sluice_ir::{Config, Location, ServerName};
use sluice_translate::{Object, Options, Resources, translate};

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
    let certificate = rcgen::CertificateParams::new(hosts).unwrap().self_signed(&key).unwrap();
    let data =
        json!({"tls.crt": certificate.pem(), "tls.key": key.serialize_pem(), "ca.crt": certificate.pem()});
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
    let paths = [path("/", "Prefix"), path("/App", "Prefix"), path("/exact", "Exact")];
    apply(&mut resources, ingress("victim", "2020", &json!({}), rules(&[HOST], &paths)));
    for namespace in ["victim", "stranger"] {
        apply(&mut resources, service(namespace));
    }
    apply(&mut resources, secret("own", &[HOST, "b.example"]));
    if let Some(object) = stranger {
        apply(&mut resources, object);
    }
    let options = Options { class_is_implied: true, ssl_passthrough: true, ..Options::default() };
    translate(&resources, &options).config().clone()
}

/// What has changed for the victim.
fn harm(stranger: Value) -> Vec<String> {
    let (before, after) = (config(None), config(Some(stranger)));
    let name = ServerName::parse(HOST).unwrap();
    let (old, new) = (&before.servers[&name], &after.servers[&name]);
    let mut harm = Vec::new();
    let found = |location: &Location| new.locations.iter().find(|other| other.id == location.id);
    let changed = old.locations.iter().filter(|location| found(location) != Some(location));
    harm.extend(changed.map(|location| format!("location {}", location.id.as_str())));
    let facts = [
        ("clients", old.clients == new.clients),
        ("app root", old.app_root == new.app_root),
        ("other names", old.aliases == new.aliases),
        ("certificate", before.tls.get(&name) == after.tls.get(&name)),
        ("passthrough", after.passthrough.keys().all(|host| host.as_str() != HOST)),
        ("edge", before.edge == after.edge),
        ("backends", before.backends.iter().all(|(id, backend)| after.backends.get(id) == Some(backend))),
    ];
    harm.extend(facts.into_iter().filter(|(_, same)| !same).map(|(what, _)| what.to_owned()));
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
        json!({"mirror-target": "https://evil.example/"}),
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
    for (text, kind) in
        [("/", "Prefix"), ("/", "Exact"), ("/App", "Prefix"), ("/other", "Prefix"), ("/exact", "Exact")]
    {
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

/// As in ingress-nginx: one pattern makes every path of its host a pattern. Many share a host and rewrite below a prefix each,
/// so this stays; it is here so that nobody believes otherwise.
#[test]
fn patterns_of_a_stranger_make_the_paths_of_the_host_patterns() {
    for annotations in [json!({"use-regex": "true"}), json!({"rewrite-target": "/$1"})] {
        let spec = rules(&[HOST], &[path("/other/(.*)", "ImplementationSpecific")]);
        let harm = harm(ingress("stranger", "2021", &annotations, spec));
        assert_eq!(harm, ["location a.example=/exact", "location a.example/App", "location a.example/"]);
    }
}
