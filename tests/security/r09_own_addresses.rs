//! R9: whatever is known to run Sluice is no endpoint with a port of Sluice's, whoever names it and however, and whether that
//! was known before or is learnt later.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};
use sluice_tests::manifests::{Ingress, endpoint_slice, service};
use sluice_translate::{
    AddressPolicy, Changes, DnsName, Ingresses, Object, ObjectKey, Options, Resolution, Resources,
    Translation, translate,
};

use crate::setup::OWNER;

/// Machines that run Sluice, and one that does not. A pod of the data plane, one of the controller beside us, one whose data
/// plane has connected.
const SLUICE_IPS: [&str; 3] = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];
const OWN_IP: &str = "10.0.1.9";
const OTHER_IP: &str = "10.0.2.1";
/// HTTP, health, and a port that a ConfigMap names.
const PORTS: [u16; 3] = [8080, 10254, 9000];
const OTHER_PORT: u16 = 8081;

fn options() -> Options {
    let key = |name| Some(ObjectKey::new("sluice", name));
    let addresses = AddressPolicy {
        own_addresses: BTreeSet::from([OWN_IP.parse().unwrap()]),
        own_ports: BTreeSet::from([8080, 10254]),
        http_ports: BTreeSet::from([8080]),
        ..AddressPolicy::default()
    };
    Options {
        class_is_implied: true,
        tcp_services: key("tcp"),
        publish_service: key("front"),
        own_namespace: Some("sluice".to_owned()),
        addresses,
        ..Options::default()
    }
}

fn slice(namespace: &str, name: &str, pods: &[&str], port: u16) -> Value {
    let pods: Vec<_> = pods
        .iter()
        .map(|ip| format!("{ip}:{port}").parse().unwrap())
        .collect();
    endpoint_slice(namespace, name, &pods)
}

/// Objects that make the machines ours.
fn objects_that_reveal_sluice() -> Vec<Value> {
    let metadata = json!({ "name": "tcp", "namespace": "sluice" });
    let data = json!({ "9000": "owner/slice-10.0.2.1-8081:80" });
    vec![
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
        slice("sluice", "front", &SLUICE_IPS[..1], 8080),
        slice("sluice", "controllers", &[OWN_IP, SLUICE_IPS[1]], 10254),
    ]
}

fn external(name: &str, host: &str) -> Value {
    let metadata = json!({ "namespace": OWNER, "name": name });
    let spec = json!({ "type": "ExternalName", "externalName": host });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec })
}

/// Every machine with every port, named in every way.
fn objects_that_name_every_address() -> Vec<Value> {
    let mut all = Vec::new();
    for ip in SLUICE_IPS.into_iter().chain([OTHER_IP]) {
        for port in PORTS.into_iter().chain([OTHER_PORT]) {
            let name = |way: &str| format!("{way}-{ip}-{port}");
            let pods = [format!("{ip}:{port}").parse().unwrap()];
            all.extend([
                service(OWNER, &name("slice"), 80, &pods),
                slice(OWNER, &name("slice"), &[ip], port),
            ]);
            all.extend([
                external(&name("literal"), ip),
                external(&name("name"), "moves.example"),
            ]);
            for (way, number) in [("slice", 80), ("literal", port), ("name", port)] {
                let ingress = Ingress::new(OWNER, &name(way)).host(&format!("{}.test", name(way)));
                all.push(ingress.path("/", &name(way), number).to_json());
            }
            let url = format!("http://{ip}:{port}");
            for annotation in ["auth-url", "mirror-target"] {
                let ingress = Ingress::new(OWNER, &name(annotation))
                    .host(&format!("{}.test", name(annotation)));
                let ingress = ingress.annotation(annotation, &format!("{url}/"));
                all.push(
                    ingress
                        .path("/", &format!("slice-{OTHER_IP}-{OTHER_PORT}"), 80)
                        .to_json(),
                );
            }
        }
    }
    all
}

/// The endpoints that are, by machine and port.
fn endpoints(translation: &Translation) -> BTreeSet<(String, u16)> {
    let backends = translation.config().backends.iter();
    let all = backends.flat_map(|(_, backend)| backend.endpoints.clone());
    all.map(|endpoint| (endpoint.address.ip().to_string(), endpoint.address.port()))
        .collect()
}

fn apply(resources: &mut Resources, objects: Vec<Value>) -> Changes {
    let mut changes = Changes::default();
    for object in objects {
        changes.add(resources.apply(Object::from_value(object).unwrap()));
    }
    changes
}

fn learn_addresses(resources: &mut Resources, changes: &mut Changes) {
    changes
        .add(resources.know_machines(BTreeSet::from([SLUICE_IPS[2].parse::<IpAddr>().unwrap()])));
    let addresses = SLUICE_IPS
        .into_iter()
        .chain([OTHER_IP])
        .map(|ip| ip.parse().unwrap())
        .collect();
    let moved = Resolution {
        addresses,
        failure: None,
    };
    changes.add(resources.resolve(DnsName::parse("moves.example").unwrap(), moved));
}

#[test]
fn own_ports_on_sluice_machines_are_never_endpoints() {
    let (mut resources, options) = (Resources::default(), options());
    apply(&mut resources, objects_that_name_every_address());
    let mut translation = translate(&resources, &options);
    let all = endpoints(&translation);
    assert!(
        all.contains(&(SLUICE_IPS[0].to_owned(), 8080)),
        "nothing is known yet: {all:?}"
    );
    let mut changes = apply(&mut resources, objects_that_reveal_sluice());
    learn_addresses(&mut resources, &mut changes);
    translation.update(&changes, &Ingresses::new(&resources, &options));
    let later = endpoints(&translation);
    let before = endpoints(&translate(&resources, &options));
    assert_eq!(later, before);
    for (ip, port) in &later {
        assert!(ip == OTHER_IP || !PORTS.contains(port), "{ip}:{port}");
    }
    // Everything else is: another port of theirs, and other machines.
    for ip in SLUICE_IPS.into_iter().chain([OTHER_IP]) {
        assert!(later.contains(&(ip.to_owned(), OTHER_PORT)), "{ip}");
    }
    let theirs: BTreeSet<u16> = later
        .iter()
        .filter(|(ip, _)| ip == OTHER_IP)
        .map(|(_, port)| *port)
        .collect();
    assert_eq!(theirs, PORTS.into_iter().chain([OTHER_PORT]).collect());
    let reports = translation.reports();
    for ip in SLUICE_IPS {
        for port in PORTS {
            let said = format!("{ip}:{port}, a port that Sluice itself listens on");
            let of = |way: &str| {
                let name = format!("{way}-{ip}-{port}");
                reports
                    .iter()
                    .any(|report| *report.object.key.name == name && report.reason.contains(&said))
            };
            for way in ["slice", "literal", "name", "auth-url", "mirror-target"] {
                assert!(of(way), "{way} to {ip}:{port} is not reported");
            }
        }
    }
}

#[test]
fn former_sluice_machine_may_be_an_endpoint_again() {
    let (mut resources, options) = (Resources::default(), options());
    apply(&mut resources, objects_that_name_every_address());
    let fresh = endpoints(&translate(&resources, &options));
    let mut changes = Changes::everything();
    apply(&mut resources, objects_that_reveal_sluice());
    changes
        .add(resources.know_machines(BTreeSet::from([SLUICE_IPS[2].parse::<IpAddr>().unwrap()])));
    let mut translation = translate(&resources, &options);
    assert_ne!(endpoints(&translation), fresh);
    let mut changes = Changes::default();
    changes.add(resources.know_machines(BTreeSet::new()));
    for object in objects_that_reveal_sluice() {
        let object = Object::from_value(object).unwrap();
        changes.add(resources.delete(object.kind(), &object.key()));
    }
    translation.update(&changes, &Ingresses::new(&resources, &options));
    assert_eq!(endpoints(&translation), fresh);
}

/// Service of Sluice itself, with every kind of address.
fn publish_service(ports: Value) -> Value {
    let spec = json!({"clusterIP": "10.96.0.1", "externalIPs": ["192.0.2.1"], "ports": ports});
    let status = json!({"loadBalancer": {"ingress": [{"ip": "198.51.100.1"}]}});
    let metadata = json!({"namespace": "sluice", "name": "front"});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": status})
}

/// The Service in front of the data planes: requests that come back are counted (R5), connections are not.
#[test]
fn publish_service_may_loop_http_but_not_tcp() {
    let front = publish_service(json!([
        {"name": "http", "port": 80, "targetPort": 8080},
        {"name": "db", "port": 9000, "targetPort": 9000},
        {"name": "health", "port": 1234, "targetPort": 10254},
    ]));
    let mut targets = serde_json::Map::new();
    let mut objects = vec![front];
    for (n, ip) in ["10.96.0.1", "192.0.2.1", "198.51.100.1"]
        .iter()
        .enumerate()
    {
        for port in [80, 9000, 1234, 99] {
            let (plain, raw) = (format!("plain{n}-{port}"), format!("raw{n}-{port}"));
            for name in [&plain, &raw] {
                let pods = [format!("{ip}:{port}").parse().unwrap()];
                objects.extend([
                    service(OWNER, name, 80, &pods),
                    slice(OWNER, name, &[ip], port),
                ]);
            }
            let host = format!("{plain}.test");
            objects.push(
                Ingress::new(OWNER, &plain)
                    .host(&host)
                    .path("/", &plain, 80)
                    .to_json(),
            );
            targets.insert(
                (9000 + targets.len()).to_string(),
                json!(format!("{OWNER}/{raw}:80")),
            );
        }
    }
    let metadata = json!({"name": "tcp", "namespace": "sluice"});
    objects.push(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": targets}),
    );
    let (mut resources, options) = (Resources::default(), options());
    apply(&mut resources, objects);
    let translation = translate(&resources, &options);
    let mut seen = 0;
    for (id, backend) in translation.config().backends.iter() {
        for (way, expected) in [("plain", [80, 99].as_slice()), ("raw", &[99])] {
            let Some(name) = id.as_str().strip_prefix(&format!("{OWNER}/{way}")) else {
                continue;
            };
            let port: u16 = name.split(['-', '/']).nth(1).unwrap().parse().unwrap();
            assert_eq!(
                !backend.endpoints.is_empty(),
                expected.contains(&port),
                "{}",
                id.as_str()
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 24);
}
