use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_ir::Action;
use sluice_translate::{Object, Options, Resources, translate};
use sluice_xds::ResourceType;
use sluice_xds_server::Nack;

use super::*;

mod guards;
mod innocent;
mod namespaces;

/// A path that the data plane of these tests refuses.
const BAD: &str = "/bad/[a-f]+";

fn ingress((namespace, name): (&str, &str), host: &str, paths: &[&str]) -> Value {
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let path = |path: &&str| json!({ "path": path, "pathType": "ImplementationSpecific", "backend": backend });
    let paths: Vec<Value> = paths.iter().map(path).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {
            "namespace": namespace, "name": name,
            "annotations": { "nginx.ingress.kubernetes.io/use-regex": "true" },
        },
        "spec": { "rules": [{ "host": host, "http": { "paths": paths } }] },
    })
}

fn snapshot(objects: &[Value]) -> Arc<Snapshot> {
    let mut resources = Resources::default();
    for object in objects {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        watch_ingress_without_class: true,
        ..Options::default()
    };
    Arc::new(translate(&resources, &options).snapshot())
}

fn guarded(mut ingress: Value) -> Value {
    let annotations = &mut ingress["metadata"]["annotations"];
    annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] = "192.0.2.1".into();
    ingress
}

fn refuses(config: &Config) -> bool {
    config
        .servers
        .values()
        .flat_map(|server| &server.routes)
        .any(|it| it.matches.path.text().starts_with("/bad/["))
}

/// A publisher and its data plane, in which everything happens at once.
#[derive(Default)]
struct World {
    quarantine: Quarantine,
    /// Candidates that were tried.
    tried: usize,
    /// Publications that were refused.
    refused: usize,
}

impl World {
    /// Publishes objects, and returns the configuration that is served in the end.
    fn publish(&mut self, objects: &[Value]) -> Config {
        self.publish_snapshot(&snapshot(objects), refuses)
    }

    /// The same until data planes accept something, as the publisher does it.
    fn publish_snapshot(
        &mut self,
        snapshot: &Arc<Snapshot>,
        refuses: fn(&Config) -> bool,
    ) -> Config {
        let (mut round, mut held, mut is_widened) = (Round::New, Vec::new(), false);
        loop {
            let config = self.quarantine.serve(snapshot);
            let publication = Publication {
                config,
                snapshot: Arc::clone(snapshot),
            };
            if !refuses(&publication.config) {
                self.quarantine.accept(publication.clone());
                return publication.config;
            }
            self.refused += 1;
            if round == Round::All {
                if !std::mem::replace(&mut is_widened, true) {
                    let hosts = self.quarantine.widen(&publication, &held);
                    held.extend(hosts.iter().cloned());
                    if !hosts.is_empty() {
                        continue;
                    }
                }
                self.quarantine.release(&std::mem::take(&mut held));
            }
            let refused = Rejections {
                all: Some("no".to_owned()),
                ..Rejections::default()
            };
            let accepted = self.quarantine.last_accepted().cloned();
            let inquiry = Inquiry::about(publication.clone(), accepted.as_deref(), &refused, round);
            let parts = self.inquire(inquiry, refuses);
            held.extend(parts.iter().map(|(part, _)| part.clone()));
            self.quarantine.hold(&publication, parts);
            round = round.next().unwrap();
        }
    }

    fn inquire(
        &mut self,
        mut inquiry: Inquiry,
        refuses: fn(&Config) -> bool,
    ) -> Vec<(Part, Reason)> {
        loop {
            match inquiry.next_step() {
                Step::Try(candidate) => {
                    self.tried += 1;
                    let bad = refuses(&candidate);
                    inquiry.answer(if bad { Err("no".to_owned()) } else { Ok(()) });
                }
                Step::Done(InquiryOutcome::Parts(parts)) => return parts,
                Step::Done(verdict) => panic!("{verdict:?}"),
            }
        }
    }

    fn held(&self) -> Vec<String> {
        let name = |part: &Part| {
            format!(
                "{} {}",
                part.host,
                part.owner
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )
        };
        self.quarantine.held.keys().map(name).collect()
    }
}

fn paths(config: &Config, host: &str) -> Vec<(String, bool)> {
    let server = &config.servers[&ServerName::parse(host).unwrap()];
    let routes = server.routes.iter();
    routes
        .map(|it| {
            (
                it.matches.path.text().to_owned(),
                it.action != Action::Denied,
            )
        })
        .collect()
}

fn open(path: &str) -> (String, bool) {
    (path.to_owned(), true)
}

fn shut(path: &str) -> (String, bool) {
    (path.to_owned(), false)
}

const OWN: (&str, &str) = ("owner", "own");
const FOREIGN: (&str, &str) = ("foreign", "app");

#[test]
fn the_culprits_are_found_among_many_and_nobody_else_is_held() {
    let mut objects: Vec<Value> = (0..100)
        .map(|n| {
            ingress(
                ("owner", &format!("own-{n}")),
                &format!("own-{n}.test"),
                &["/"],
            )
        })
        .collect();
    for number in [7, 50, 51] {
        objects.push(ingress(
            ("foreign", &format!("bad-{number}")),
            &format!("own-{number}.test"),
            &[BAD],
        ));
    }
    let mut world = World::default();
    let config = world.publish(&objects);
    assert_eq!(
        world.held(),
        [
            "own-50.test foreign/bad-50",
            "own-51.test foreign/bad-51",
            "own-7.test foreign/bad-7"
        ]
    );
    assert!(world.tried <= 2 * 3 * 7 + 2, "{}", world.tried);
    assert_eq!(paths(&config, "own-7.test"), [shut("/bad/"), open("/")]);
    assert_eq!(paths(&config, "own-8.test"), [open("/")]);
    // One that comes later is found with one candidate, and one that is mended is served at once.
    world.tried = 0;
    objects.push(ingress(FOREIGN, "late.test", &[BAD]));
    assert_eq!(
        paths(&world.publish(&objects), "late.test"),
        [shut("/bad/"), shut("/")]
    );
    objects.retain(|object| {
        !object["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("bad-5")
    });
    world.publish(&objects);
    assert_eq!(
        world.held(),
        ["late.test foreign/app", "own-7.test foreign/bad-7"]
    );
    assert_eq!(world.tried, 1);
}

#[test]
fn what_was_accepted_is_served_on_and_others_are_as_new_as_can_be() {
    let mut world = World::default();
    world.publish(&[
        ingress(OWN, "a.test", &["/own"]),
        ingress(FOREIGN, "a.test", &["/app", "/old"]),
    ]);
    // Nothing but the culprit has changed: its host is as it was.
    let config = world.publish(&[
        ingress(OWN, "a.test", &["/own"]),
        ingress(FOREIGN, "a.test", &["/app", BAD]),
    ]);
    assert_eq!(
        paths(&config, "a.test"),
        [open("/own"), open("/old"), open("/app"), open("/")]
    );
    // Somebody else has changed, too: paths that were accepted stay, and new ones are closed.
    let config = world.publish(&[
        ingress(OWN, "a.test", &["/own", "/longer/than/that"]),
        ingress(FOREIGN, "a.test", &["/app", BAD]),
    ]);
    let expected = [
        open("/longer/than/that"),
        shut("/bad/"),
        open("/own"),
        open("/app"),
        open("/"),
    ];
    assert_eq!(
        paths(&config, "a.test")
            .into_iter()
            .collect::<BTreeSet<_>>(),
        BTreeSet::from(expected)
    );
    assert_eq!(world.held(), ["a.test foreign/app"]);
    let config = world.publish(&[
        ingress(OWN, "a.test", &["/own"]),
        ingress(FOREIGN, "a.test", &["/new"]),
    ]);
    assert_eq!(
        paths(&config, "a.test"),
        [open("/own"), open("/new"), open("/")]
    );
    assert!(world.quarantine.is_empty());
}

#[test]
fn what_is_closed_takes_nothing_that_others_have_unless_it_keeps_somebody_out() {
    let others = ingress(OWN, "a.test", &["/bad/b", "/"]);
    let closed = |ingress: Value| {
        paths(
            &World::default().publish(&[others.clone(), ingress]),
            "a.test",
        )
    };
    let culprit = |of| ingress(of, "a.test", &[BAD]);
    let behind = [open("/bad/b"), shut("/bad/"), open("/")];
    assert_eq!(closed(culprit(FOREIGN)), behind);
    assert_eq!(closed(culprit((OWN.0, "app"))), behind);
    assert_eq!(
        closed(guarded(culprit((OWN.0, "app")))),
        [shut("/bad/"), open("/bad/b"), open("/")]
    );
    // Between namespaces the longer beginning is tried first, whoever guards what.
    assert_eq!(closed(guarded(culprit(FOREIGN))), behind);
}

#[test]
fn nothing_is_left_of_a_culprit_that_is_gone() {
    let mut world = World::default();
    let own = ingress(OWN, "a.test", &["/"]);
    world.publish(&[own.clone(), ingress(FOREIGN, "a.test", &[BAD])]);
    assert_eq!(world.held(), ["a.test foreign/app"]);
    let config = world.publish(std::slice::from_ref(&own));
    assert!(world.quarantine.is_empty());
    assert_eq!(config, *snapshot(&[own]).config());
}

#[test]
fn a_host_as_a_whole_is_closed_with_all_its_names() {
    let mut server = Server::default();
    server.aliases.push(ServerName::parse("b.test").unwrap());
    let closed = instead::closed_host(&ServerName::parse("a.test").unwrap(), &server);
    assert_eq!(closed.aliases, server.aliases);
    assert_eq!(closed.routes[0].action, Action::Denied);
}

#[test]
fn whoever_leads_to_a_refused_cluster_is_told_whatever_it_is_for() {
    let mut main = ingress(("shop", "main"), "a.test", &["/"]);
    main["metadata"]["annotations"] = json!({
        "nginx.ingress.kubernetes.io/mirror-target": "http://copies.shop.svc.cluster.local",
        "nginx.ingress.kubernetes.io/auth-url": "http://who.shop.svc.cluster.local/",
        "nginx.ingress.kubernetes.io/custom-http-errors": "500",
        "nginx.ingress.kubernetes.io/default-backend": "pages",
    });
    let mut canary = ingress(("shop", "canary"), "a.test", &["/"]);
    canary["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = "next".into();
    canary["metadata"]["annotations"] = json!({
        "nginx.ingress.kubernetes.io/canary": "true",
        "nginx.ingress.kubernetes.io/canary-weight": "10",
    });
    let objects = |name: &str| {
        let metadata = json!({
            "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": name },
        });
        let ports = json!([{ "port": 80 }]);
        [
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": { "ports": ports } }),
            json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
                "addressType": "IPv4", "ports": ports, "endpoints": [{ "addresses": ["192.0.2.1"] }],
            }),
        ]
    };
    let names = ["web", "next", "copies", "who", "pages"];
    let services = names.map(objects).concat();
    let snapshot = snapshot(&[&services[..], &[main, canary]].concat());
    let backends: Vec<_> = snapshot.config().backends.keys().collect();
    assert_eq!(backends.len(), names.len(), "{backends:?}");
    for id in backends {
        let refusal = Nack {
            kind: ResourceType::Cluster,
            name: id.as_str().into(),
            version: "1".to_owned(),
            node: "envoy".to_owned(),
            message: "no".to_owned(),
        };
        let reports = report::of_resources(&[refusal], &snapshot);
        let told: Vec<_> = reports
            .iter()
            .map(|report| report.object.key.to_string())
            .collect();
        assert_eq!(told, ["shop/main"], "{id:?}");
    }
}
