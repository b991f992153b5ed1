//! Names under a wildcard host, other names of a host, and the one with `www.` that leads to it (R12 of the security rules):
//! however a newer namespace asks for one, it does not get it, and presents no certificate of an older one.

use serde_json::{Value, json};
use sluice_ir::{HttpRoute, ServerName};
use sluice_translate::{Object, Options, Report, Resources, Severity, Translation, translate};

const OWNER: &str = "owner";
const FOREIGN: &str = "foreign";

/// A pattern of names that are counted.
const COUNTED: &str = r"~^(shop|pay)\.example$";

/// A host, its annotations, and a name that is covered by it.
const HELD: [(&str, &str, &str, &str); 8] = [
    ("*.a.example", "", "", "login.a.example"),
    ("*.a.example", "", "", "www.a.example"),
    (
        "z.example",
        "server-alias",
        "*.a.example",
        "login.a.example",
    ),
    ("z.example", "server-alias", "shop.example", "shop.example"),
    (
        "z.example",
        "server-alias",
        r"~^[^.]+\.a\.example$",
        "login.a.example",
    ),
    ("z.example", "server-alias", COUNTED, "shop.example"),
    ("a.example", "from-to-www-redirect", "true", "www.a.example"),
    ("www.b.example", "from-to-www-redirect", "true", "b.example"),
];

fn ingress(
    namespace: &str,
    name: &str,
    year: u16,
    host: &str,
    (key, value): (&str, &str),
    tls: bool,
) -> Value {
    let mut annotations = json!({});
    if !key.is_empty() {
        annotations[format!("nginx.ingress.kubernetes.io/{key}")] = json!(value);
    }
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {
            "name": name, "namespace": namespace, "annotations": annotations,
            "creationTimestamp": format!("{year}-01-01T00:00:00Z"),
        },
        "spec": {
            "ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": paths}}],
            "tls": tls.then(|| json!([{"secretName": "pair"}])),
        },
    })
}

/// A certificate that is good for everything that is asked for here.
fn secret(namespace: &str) -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let names = [
        "*.a.example",
        "shop.example",
        "a.example",
        "b.example",
        "*.b.example",
        "z.example",
    ];
    let certificate = rcgen::CertificateParams::new(names.map(str::to_owned))
        .unwrap()
        .self_signed(&key)
        .unwrap();
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pair", "namespace": namespace},
        "type": "kubernetes.io/tls", "stringData": {"tls.crt": certificate.pem(), "tls.key": key.serialize_pem()},
    })
}

fn translated(objects: &[Value], allowed: bool) -> Translation {
    let mut resources = Resources::default();
    for object in objects {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        hosts_under_foreign_wildcards: allowed,
        ..Options::default()
    };
    translate(&resources, &options)
}

/// The namespace whose pods a name leads to, when it is a host or another name of one.
fn served(translation: &Translation, name: &ServerName) -> Option<String> {
    let servers = &translation.config().servers;
    let (_, server) = servers
        .iter()
        .find(|(own, server)| server.names(own).any(|other| other == name))?;
    server
        .routes
        .iter()
        .find_map(HttpRoute::primary_backend)
        .and_then(|backend| backend.as_str().split('/').next().map(str::to_owned))
}

/// Reports about the name to its newer claimant.
fn reported<'a>(translation: &'a Translation, namespace: &str) -> Vec<&'a Report> {
    let reports = translation.reports().into_iter();
    reports
        .filter(|report| {
            &*report.object.key.namespace == namespace && &*report.object.key.name == "asks"
        })
        .filter(|report| {
            report
                .reason
                .contains("already claimed by Ingress owner/holds")
        })
        .collect()
}

/// Every way to ask for a name.
fn ways(name: &str) -> Vec<(String, (&'static str, String))> {
    let other = match name.strip_prefix("www.") {
        Some(bare) => bare.to_owned(),
        None => format!("www.{name}"),
    };
    vec![
        (name.to_owned(), ("", String::new())),
        ("y.example".to_owned(), ("server-alias", name.to_owned())),
        (other, ("from-to-www-redirect", "true".to_owned())),
    ]
}

#[test]
fn a_newer_namespace_gets_no_name_that_an_older_one_covers_unless_the_operator_says_so() {
    let secrets = [secret(OWNER), secret(FOREIGN)];
    for (host, key, value, name) in HELD {
        let parsed = ServerName::parse(name).unwrap();
        for (asked, (other_key, other_value)) in ways(name) {
            // That host is the owner's as well.
            if asked == host {
                continue;
            }
            for (namespace, year, allowed) in [
                (FOREIGN, 2021, false),
                (FOREIGN, 2021, true),
                (FOREIGN, 2019, false),
                (OWNER, 2021, false),
            ] {
                let mut objects = secrets.to_vec();
                objects.push(ingress(OWNER, "holds", 2020, host, (key, value), true));
                objects.push(ingress(
                    namespace,
                    "asks",
                    year,
                    &asked,
                    (other_key, &other_value),
                    false,
                ));
                let translation = translated(&objects, allowed);
                let world = format!(
                    "{host} {key} {value}: {asked} {other_key} of {namespace} in {year}, {allowed}"
                );
                let told: Vec<Severity> = reported(&translation, namespace)
                    .iter()
                    .map(|report| report.severity)
                    .collect();
                // The operator gives away what is under wildcards, and nothing that was written in full.
                let is_wildcard =
                    host.starts_with('*') || value.starts_with(['*', '~']) && value != COUNTED;
                let given = allowed && is_wildcard;
                let expected = match (namespace, year) {
                    (FOREIGN, 2021) if given => vec![Severity::Warning],
                    (FOREIGN, 2021) => vec![Severity::Error],
                    _ => vec![],
                };
                assert_eq!(told, expected, "{world}");
                let is_foreign = served(&translation, &parsed).as_deref() == Some(FOREIGN);
                assert!(
                    !is_foreign || namespace == FOREIGN && (given || year < 2020),
                    "{world}"
                );
                let present = translation.config().tls.get(&parsed);
                let apart = present.is_some_and(|host| host.no_wildcard_certificate);
                let own = present.and_then(|host| host.certificate.as_ref()).is_some();
                // Whoever has it presents what is its own, or what is for all, and never the owner's.
                assert!(!is_foreign || !own, "{world}");
                assert!(!is_foreign || apart || !is_wildcard, "{world}");
            }
        }
    }
}

#[test]
fn what_a_wildcard_does_not_cover_and_what_was_named_before_is_not_kept_from_anybody() {
    let wild = ingress(OWNER, "holds", 2020, "*.a.example", ("", ""), true);
    for (host, year) in [
        ("a.example", 2021),
        ("x.y.a.example", 2021),
        ("login.a.example", 2019),
        ("*.y.a.example", 2021),
    ] {
        let objects = [
            secret(OWNER),
            wild.clone(),
            ingress(FOREIGN, "asks", year, host, ("", ""), false),
        ];
        let translation = translated(&objects, false);
        assert_eq!(
            served(&translation, &ServerName::parse(host).unwrap()).as_deref(),
            Some(FOREIGN),
            "{host}"
        );
        assert!(reported(&translation, FOREIGN).is_empty(), "{host}");
    }
}

#[test]
fn a_host_of_the_wildcards_own_namespace_presents_its_certificate() {
    let wild = ingress(OWNER, "holds", 2020, "*.a.example", ("", ""), true);
    let own = ingress(OWNER, "asks", 2021, "login.a.example", ("", ""), false);
    let translation = translated(&[secret(OWNER), wild, own], false);
    let tls = &translation.config().tls;
    assert!(
        tls[&ServerName::parse("*.a.example").unwrap()]
            .certificate
            .is_some()
    );
    // A data plane falls back to the wildcard's.
    assert_eq!(
        tls.get(&ServerName::parse("login.a.example").unwrap()),
        None
    );
}

#[test]
fn a_wildcard_of_another_class_or_of_a_canary_holds_nothing() {
    let mut theirs = ingress(OWNER, "holds", 2020, "*.a.example", ("", ""), true);
    theirs["spec"]["ingressClassName"] = json!("theirs");
    let canary = ingress(
        OWNER,
        "holds",
        2020,
        "*.a.example",
        ("canary", "true"),
        true,
    );
    for wild in [theirs, canary] {
        let objects = [
            wild.clone(),
            ingress(FOREIGN, "asks", 2021, "login.a.example", ("", ""), false),
        ];
        let name = ServerName::parse("login.a.example").unwrap();
        assert_eq!(
            served(&translated(&objects, false), &name).as_deref(),
            Some(FOREIGN),
            "{wild}"
        );
    }
}

/// Each name of the annotation once, however many hosts the Ingress has. The webhook shows reports as they come.
#[test]
fn an_ingress_hears_once_of_each_alias_that_is_not_used() {
    let holder =
        |namespace, name, host, annotation| ingress(namespace, name, 2020, host, annotation, false);
    let none = ("", "");
    let aliases = r"own.example, taken.example, alias.example, login.a.example, _no_, ~^(x|y)\.b\.example$, ~^w";
    let annotation = ("server-alias", aliases);
    let mut asks = ingress(FOREIGN, "asks", 2021, "h0.example", annotation, false);
    let rule = asks["spec"]["rules"][0].clone();
    let rules = (0..3).map(|n| {
        let mut rule = rule.clone();
        rule["host"] = json!(format!("h{n}.example"));
        rule
    });
    asks["spec"]["rules"] = rules.collect();
    let objects = [
        holder(OWNER, "a", "*.a.example", none),
        holder(OWNER, "b", "taken.example", none),
        holder(FOREIGN, "c", "z.example", ("server-alias", "alias.example")),
        holder(FOREIGN, "d", "*.b.example", none),
        asks,
    ];
    let translation = translated(&objects, false);
    let reports = translation.routing_reports();
    let of_aliases = reports.filter(|report| report.field == "annotation server-alias");
    let mut said: Vec<String> = of_aliases.map(ToString::to_string).collect();
    said.sort();
    let foreign = "host login.a.example already claimed by Ingress owner/a of another namespace, which is older, by the wildcard *.a.example";
    let expected = [
        "expected a pattern of whole names: ~^ at its beginning and $ at its end, got \"~^w\"; this part ignored".to_owned(),
        "expected names of hosts, *. and a name, or ~ and a pattern, got \"_no_\"; this part ignored".to_owned(),
        format!("{foreign}; alias not used (--allow-hosts-under-foreign-wildcards is off)"),
        "name alias.example already claimed by server-alias of Ingress foreign/c; alias not used".to_owned(),
        "name own.example already claimed by server-alias of host h0.example; alias not used for h1.example, h2.example".to_owned(),
        "name taken.example already claimed as a host; alias not used".to_owned(),
        "name x.b.example is taken by *.b.example, which comes before a pattern; alias not used".to_owned(),
        "name y.b.example is taken by *.b.example, which comes before a pattern; alias not used".to_owned(),
    ];
    let about = "Ingress foreign/asks: annotation server-alias";
    assert_eq!(said, expected.map(|text| format!("{about}: {text}")));
}
