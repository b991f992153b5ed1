//! The model as Kubernetes objects.
//!
//! Cases speak of fixed ports (a TCP service on 8080, an ExternalName on 80). Nothing here listens on a fixed port: the
//! objects name the reserved one instead.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::action::Kind;
use super::model::{Behind, CONTROLLER_NAMESPACE, Key, Model, Named};
use super::schema::{Ingress, IngressClass, Port, ServicePort, Target};
use super::secrets::Data;

/// The controller's ConfigMap.
pub const CONFIGMAP: &str = "controller";
/// The TCP services.
pub const TCP_CONFIGMAP: &str = "tcp-services";
/// Default IngressClass of a case.
const CLASS: (&str, &str) = ("nginx", "k8s.io/ingress-nginx");
/// ExternalNames: one that can be resolved, and one that cannot.
pub const OUTSIDE: [&str; 2] = ["outside.sluice-cases.test", "sluice-cases.invalid"];

/// Addresses of a service's pods.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Their addresses.
    pub pods: Vec<IpAddr>,
    /// Their port.
    pub port: u16,
    /// The service's own address, when clients use it.
    pub cluster_ip: Option<IpAddr>,
    /// Clients must use the pods' port, because nothing translates it.
    pub fixed: bool,
}

/// Addresses of all services.
#[derive(Debug, Default)]
pub struct Places {
    /// By service.
    pub services: BTreeMap<Key, Place>,
    /// The reserved port for each TCP port.
    pub tcp: BTreeMap<String, u16>,
}

/// Every object of a case.
pub fn objects(model: &Model, secrets: &[(Key, Data)], places: &Places) -> Vec<Value> {
    let given = &model.given;
    let mut all: Vec<Value> = given
        .namespaces
        .iter()
        .map(|(name, labels)| namespace(name, labels))
        .collect();
    all.extend(ingress_classes(model));
    all.extend(secrets.iter().map(|(key, data)| secret(key, data)));
    all.extend(config_maps(model, places));
    for (key, named) in model.services() {
        let place = places.services.get(&key).cloned().unwrap_or_default();
        all.extend(service(&key, &named, &place));
    }
    let ingresses = given.ingresses.iter().enumerate();
    let ingresses = ingresses.filter(|(_, one)| !model.is_missing(Kind::Ingress, &one.name));
    all.extend(ingresses.map(|(n, one)| ingress(one, n, places)));
    all
}

fn namespace(name: &str, labels: &BTreeMap<String, String>) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } })
}

fn ingress_classes(model: &Model) -> Vec<Value> {
    let default = || {
        BTreeMap::from([(
            CLASS.0.to_owned(),
            IngressClass::Controller(CLASS.1.to_owned()),
        )])
    };
    let classes = model.given.ingressclasses.clone().unwrap_or_else(default);
    let object = |(name, class): (String, IngressClass)| {
        let mut object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": { "name": name },
        });
        match class {
            IngressClass::Controller(controller) => {
                object["spec"] = json!({ "controller": controller });
            }
            IngressClass::Object(class) => {
                let default = class.default.to_string();
                object["metadata"]["annotations"] =
                    json!({ "ingressclass.kubernetes.io/is-default-class": default });
                object["spec"] =
                    json!({ "controller": class.controller, "parameters": class.parameters });
            }
        }
        object
    };
    classes.into_iter().map(object).collect()
}

fn secret(key: &Key, data: &Data) -> Value {
    let kind = if data.contains_key("tls.crt") {
        "kubernetes.io/tls"
    } else {
        "Opaque"
    };
    let data: BTreeMap<&String, String> = data
        .iter()
        .map(|(key, value)| (key, BASE64.encode(value)))
        .collect();
    json!({ "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata(key), "data": data })
}

fn config_maps(model: &Model, places: &Places) -> Vec<Value> {
    let mut maps = Vec::new();
    if let Some(data) = &model.given.configmap {
        let name = model.flag("configmap").unwrap_or(CONFIGMAP);
        maps.push(config_map(&Key::parse(name, CONTROLLER_NAMESPACE), data));
    }
    let others = model.given.configmaps.iter();
    for (name, data) in others.filter(|(name, _)| !model.is_missing(Kind::ConfigMap, name)) {
        let namespaces = model.namespaces_of(name).into_iter();
        maps.extend(namespaces.map(|namespace| config_map(&Key::parse(name, &namespace), data)));
    }
    if !model.given.tcp.is_empty() {
        let reserved = |port: &String| places.tcp.get(port).map_or(port.clone(), u16::to_string);
        let data = model
            .given
            .tcp
            .iter()
            .map(|(port, target)| (reserved(port), tcp_target(target, places)));
        maps.push(config_map(
            &Key::parse(TCP_CONFIGMAP, CONTROLLER_NAMESPACE),
            &data.collect(),
        ));
    }
    maps
}

fn config_map(key: &Key, data: &BTreeMap<String, String>) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(key), "data": data })
}

/// `NAMESPACE/SERVICE:PORT[:PROXY[:PROXY]]`.
fn tcp_target(target: &str, places: &Places) -> String {
    let mut parts: Vec<String> = target.split(':').map(str::to_owned).collect();
    let place = parts.first().and_then(|key| {
        places
            .services
            .get(&Key::parse(key, super::model::NAMESPACE))
    });
    if let (Some(port), Some(place)) = (parts.get_mut(1), place.filter(|place| place.fixed)) {
        *port = place.port.to_string();
    }
    parts.join(":")
}

fn service(key: &Key, named: &Named, place: &Place) -> Vec<Value> {
    if named.behind == Behind::Nothing {
        return Vec::new();
    }
    let ports = service_ports(named, place);
    let mut spec = Map::new();
    if let Behind::Outside { resolvable } = named.behind {
        spec.insert("type".to_owned(), "ExternalName".into());
        spec.insert(
            "externalName".to_owned(),
            OUTSIDE[usize::from(!resolvable)].into(),
        );
        if named.object.ports.is_some() {
            spec.insert("ports".to_owned(), ports.into());
        }
    } else {
        spec.insert(
            "type".to_owned(),
            named.object.kind.as_deref().unwrap_or("ClusterIP").into(),
        );
        spec.insert("ports".to_owned(), ports.into());
        spec.insert(
            "externalIPs".to_owned(),
            named.object.external_ips.clone().into(),
        );
        let given = named.object.cluster_ip.clone();
        let address = place.cluster_ip.map(|ip| ip.to_string()).or(given);
        spec.extend(address.map(|address| ("clusterIP".to_owned(), address.into())));
    }
    let mut metadata = metadata(key);
    metadata["annotations"] = json!(named.object.annotations);
    let mut service =
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec });
    if !named.object.status.is_null() {
        service["status"] = json!({ "loadBalancer": { "ingress": named.object.status } });
    }
    let slice =
        matches!(named.behind, Behind::Pods(_)).then(|| endpoint_slice(key, &service, place));
    std::iter::once(service).chain(slice).collect()
}

fn service_ports(named: &Named, place: &Place) -> Vec<Value> {
    let port = |name: String, number: u16| {
        let number = if place.fixed { place.port } else { number };
        json!({ "name": name, "port": number, "targetPort": place.port, "protocol": "TCP" })
    };
    if let Some(ports) = &named.object.ports {
        let written = ports.iter().map(|written| match written {
            ServicePort::Number(number) => port(format!("port-{number}"), *number),
            ServicePort::Object(object) => {
                let name = object
                    .name
                    .clone()
                    .unwrap_or_else(|| format!("port-{}", object.port));
                let mut port = port(name, object.port);
                port["protocol"] = object.protocol.as_deref().unwrap_or("TCP").into();
                port["appProtocol"] = json!(object.app_protocol);
                port
            }
        });
        return written.collect();
    }
    let asked_for = named.ports.iter().map(|asked| match asked {
        Port::Number(number) => port(format!("port-{number}"), *number),
        Port::Name(name) => port(name.clone(), 80),
    });
    asked_for.collect()
}

fn endpoint_slice(key: &Key, service: &Value, place: &Place) -> Value {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let ports: Vec<Value> = ports
        .map(|port| json!({ "name": port["name"], "port": place.port, "protocol": port["protocol"] }))
        .collect();
    let endpoint = |(n, ip): (usize, &IpAddr)| {
        json!({
            "addresses": [ip],
            "conditions": { "ready": true },
            "targetRef": { "kind": "Pod", "namespace": key.namespace, "name": format!("{}-{n}", key.name) },
        })
    };
    let mut metadata = metadata(key);
    metadata["labels"] = json!({ "kubernetes.io/service-name": key.name });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": place.pods.iter().enumerate().map(endpoint).collect::<Vec<_>>(),
    })
}

/// An Ingress object; `position` is its age where the case gives none.
pub fn ingress(ingress: &Ingress, position: usize, places: &Places) -> Value {
    let age = ingress.creation_order.map_or(position + 1, |order| {
        usize::try_from(order).unwrap_or(usize::MAX)
    });
    let mut metadata = metadata(&Key::parse(&ingress.name, ingress.namespace()));
    let (minute, second) = (age / 60 % 60, age % 60);
    metadata["creationTimestamp"] = format!("2020-01-01T00:{minute:02}:{second:02}Z").into();
    metadata["annotations"] = json!(ingress.annotations);
    let rules = ingress.rules.iter().map(|rule| {
        let paths = rule.paths.iter().map(|path| {
            let backend = backend(&path.target, ingress.namespace(), places);
            let mut object =
                json!({ "pathType": path.path_type.as_deref().unwrap_or("Prefix"), "backend": backend });
            if let Some(path) = &path.path {
                object["path"] = path.as_str().into();
            }
            object
        });
        let paths: Vec<Value> = paths.collect();
        let mut object = if paths.is_empty() { json!({}) } else { json!({ "http": { "paths": paths } }) };
        if let Some(host) = rule.host.as_ref().filter(|host| !host.is_empty()) {
            object["host"] = host.as_str().into();
        }
        object
    });
    let mut spec = json!({ "rules": rules.collect::<Vec<_>>() });
    if let Some(class) = &ingress.ingress_class_name {
        spec["ingressClassName"] = class.as_str().into();
    }
    if let Some(target) = &ingress.default_backend {
        spec["defaultBackend"] = backend(target, ingress.namespace(), places);
    }
    if !ingress.tls.is_empty() {
        let tls = ingress.tls.iter().map(|tls| match &tls.secret_name {
            Some(name) => json!({ "hosts": tls.hosts, "secretName": name }),
            None => json!({ "hosts": tls.hosts }),
        });
        spec["tls"] = tls.collect();
    }
    json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec })
}

fn backend(target: &Target, namespace: &str, places: &Places) -> Value {
    let Some(name) = &target.service else {
        return json!({ "resource": target.resource });
    };
    let place = places.services.get(&Key::parse(name, namespace));
    let port = match (&target.port, place.filter(|place| place.fixed)) {
        (_, Some(place)) => json!({ "number": place.port }),
        (Some(Port::Number(number)), None) => json!({ "number": number }),
        (Some(Port::Name(name)), None) => json!({ "name": name }),
        (None, None) => json!({ "number": 80 }),
    };
    json!({ "service": { "name": name, "port": port } })
}

fn metadata(key: &Key) -> Value {
    json!({ "name": key.name, "namespace": key.namespace })
}
