//! The world that a case describes, as it is now: actions change it, objects and pods follow it.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::action::Kind;
use super::fixture::{self, Fixture};
use super::schema::{Given, Ingress, Port, Service};
use super::when::When;

/// The namespace of what does not say another.
pub const NAMESPACE: &str = "demo";
/// The namespace of the controller's own objects.
pub const CONTROLLER_NAMESPACE: &str = "ingress";

/// Namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// `NAMESPACE/NAME`, or a name in the other namespace.
    pub fn parse(text: &str, namespace: &str) -> Key {
        let (namespace, name) = text.split_once('/').unwrap_or((namespace, text));
        Key {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// The backend of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behind {
    /// So many pods.
    Pods(u16),
    /// A name outside of the cluster; one server, when it can be resolved.
    Outside {
        /// It can be resolved.
        resolvable: bool,
    },
    /// There is no such service.
    Nothing,
}

/// A service that something names.
#[derive(Clone, Debug)]
pub struct Named {
    /// The backend.
    pub behind: Behind,
    /// The ports that it is asked for; never empty.
    pub ports: BTreeSet<Port>,
    /// The object, when the case gives one.
    pub object: Service,
    /// Clients of its own address are expected.
    pub by_cluster_ip: bool,
}

/// The objects of a case, and their changes so far.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The case's words, changed by actions.
    pub given: Given,
    /// Objects that were removed, or are not there yet.
    pub missing: BTreeSet<(Kind, String)>,
    /// The object that came or went last.
    pub last: Option<(Kind, String)>,
}

impl Model {
    /// Every service that an object, a setting or the case itself names.
    pub fn services(&self) -> BTreeMap<Key, Named> {
        let mut ports: BTreeMap<Key, BTreeSet<Port>> = BTreeMap::new();
        for (key, port) in self.references() {
            ports.entry(key).or_default().extend(port);
        }
        let given = &self.given;
        for name in given
            .endpoints
            .keys()
            .chain(given.services.keys())
            .chain(given.backends.keys())
        {
            if !ports.keys().any(|key| is_named(key, name)) {
                let namespace = given
                    .services
                    .get(name)
                    .and_then(|service| service.namespace.as_deref());
                ports
                    .entry(Key::parse(name, namespace.unwrap_or(NAMESPACE)))
                    .or_default();
            }
        }
        ports
            .into_iter()
            .map(|(key, ports)| (key.clone(), self.named(&key, ports)))
            .collect()
    }

    /// The position that gives the age of a reviewed Ingress: that of the one of its name, or younger than all.
    pub fn position(&self, when: &When) -> usize {
        let all = &self.given.ingresses;
        let same = |ingress: &Ingress| {
            when.object.as_ref().is_some_and(|object| {
                object.name == ingress.name && object.namespace() == ingress.namespace()
            })
        };
        all.iter().position(same).unwrap_or(all.len())
    }

    /// Returns `true` if an object was removed, or does not exist yet.
    pub fn is_missing(&self, kind: Kind, name: &str) -> bool {
        self.missing.contains(&(kind, name.to_owned()))
    }

    fn named(&self, key: &Key, mut ports: BTreeSet<Port>) -> Named {
        if ports.is_empty() {
            ports.insert(Port::Number(80));
        }
        let object = find(&self.given.services, key).cloned().unwrap_or_default();
        Named {
            behind: self.behind(key, &object),
            ports,
            by_cluster_ip: self.uses_cluster_ip(key),
            object,
        }
    }

    fn behind(&self, key: &Key, object: &Service) -> Behind {
        if self.is_missing(Kind::Service, &key.name) {
            return Behind::Nothing;
        }
        if object.kind.as_deref() == Some("ExternalName") {
            let name = object.external_name.as_deref().unwrap_or_default();
            return Behind::Outside {
                resolvable: !name.contains("invalid"),
            };
        }
        let listed =
            find(&self.given.services, key).is_some() || find(&self.given.backends, key).is_some();
        match (find(&self.given.endpoints, key), fixture::of(&key.name)) {
            (Some(count), _) => Behind::Pods(*count),
            (None, Some(Fixture::Missing)) if !listed => Behind::Nothing,
            (None, Some(Fixture::Outside { resolvable })) if !listed => {
                Behind::Outside { resolvable }
            }
            _ => Behind::Pods(1),
        }
    }

    fn uses_cluster_ip(&self, key: &Key) -> bool {
        let says = |value: Option<&String>| value.is_some_and(|value| value == "true");
        let everywhere = self
            .given
            .configmap
            .as_ref()
            .is_some_and(|map| says(map.get("service-upstream")));
        everywhere
            || self.given.ingresses.iter().any(|ingress| {
                says(
                    ingress
                        .annotations
                        .get(&format!("{PREFIX}service-upstream")),
                ) && ingress.namespace() == key.namespace
                    && ingress
                        .targets()
                        .any(|target| target.service.as_ref() == Some(&key.name))
            })
    }

    fn references(&self) -> Vec<(Key, Option<Port>)> {
        let mut all = Vec::new();
        for ingress in &self.given.ingresses {
            let namespace = ingress.namespace();
            for target in ingress.targets() {
                all.extend(
                    target
                        .service
                        .iter()
                        .map(|name| (Key::parse(name, namespace), target.port.clone())),
                );
            }
            let fallback = ingress.annotations.get(&format!("{PREFIX}default-backend"));
            all.extend(fallback.map(|name| (Key::parse(name, namespace), None)));
        }
        for target in self.given.tcp.values() {
            let mut parts = target.split(':');
            let key = Key::parse(parts.next().unwrap_or_default(), NAMESPACE);
            let port = parts
                .next()
                .map(|port| port.parse().map_or(Port::Name(port.into()), Port::Number));
            all.push((key, port));
        }
        let flags = ["default-backend-service", "publish-service"];
        let values = flags.iter().filter_map(|name| self.flag(name));
        all.extend(values.map(|value| (Key::parse(value, CONTROLLER_NAMESPACE), None)));
        all.extend(self.texts().flat_map(|text| urls(text)));
        all
    }

    /// The services that are asked whether a request may pass.
    pub fn auth_services(&self) -> BTreeSet<String> {
        let annotations = self
            .given
            .ingresses
            .iter()
            .flat_map(|ingress| &ingress.annotations);
        let settings = self.given.configmap.iter().flatten();
        let asks = annotations
            .chain(settings)
            .filter(|(name, _)| name.ends_with("auth-url"));
        asks.flat_map(|(_, url)| urls(url))
            .map(|(key, _)| key.name)
            .collect()
    }

    /// The value of a flag.
    pub fn flag(&self, name: &str) -> Option<&str> {
        let values = self
            .given
            .flags
            .iter()
            .filter_map(|flag| flag.trim_start_matches('-').split_once('='));
        values
            .rev()
            .find(|(flag, _)| *flag == name)
            .map(|(_, value)| value)
    }

    /// Every annotation and setting.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let annotations = self
            .given
            .ingresses
            .iter()
            .flat_map(|ingress| ingress.annotations.values());
        let maps = self
            .given
            .configmap
            .iter()
            .chain(self.given.configmaps.values());
        annotations
            .chain(maps.flat_map(BTreeMap::values))
            .chain(&self.given.flags)
    }

    /// The namespaces in which a Secret or ConfigMap of this name is looked for: it is in all of them.
    pub fn namespaces_of(&self, name: &str) -> BTreeSet<String> {
        if let Some((namespace, _)) = name.split_once('/') {
            return BTreeSet::from([namespace.to_owned()]);
        }
        let mut found: BTreeSet<String> = self
            .given
            .ingresses
            .iter()
            .map(|ingress| ingress.namespace().to_owned())
            .collect();
        let suffix = format!("/{name}");
        let value = |text: &str| text.rsplit('=').next().unwrap_or_default().to_owned();
        found.extend(
            self.texts()
                .filter_map(|text| value(text).strip_suffix(&suffix).map(str::to_owned)),
        );
        if found.is_empty() {
            found.insert(NAMESPACE.to_owned());
        }
        found
    }
}

/// Prefix of all annotations of the original.
pub const PREFIX: &str = "nginx.ingress.kubernetes.io/";

fn is_named(key: &Key, name: &str) -> bool {
    key.name == name || Key::parse(name, "") == *key
}

/// By name, or by namespace and name.
pub fn find<'a, T>(by_name: &'a BTreeMap<String, T>, key: &Key) -> Option<&'a T> {
    by_name
        .get(&key.name)
        .or_else(|| by_name.get(&format!("{}/{}", key.namespace, key.name)))
}

/// `http://SERVICE.NAMESPACE.svc:PORT/`, anywhere in a text.
fn urls(text: &str) -> Vec<(Key, Option<Port>)> {
    const URL: &str = r"://([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(?::([0-9]+))?";
    let Ok(url) = Regex::new(URL) else {
        return Vec::new();
    };
    let found = url.captures_iter(text).map(|found| {
        let key = Key {
            namespace: found[2].to_owned(),
            name: found[1].to_owned(),
        };
        (
            key,
            found
                .get(3)
                .and_then(|port| port.as_str().parse().ok())
                .map(Port::Number),
        )
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(given: serde_json::Value) -> Model {
        Model {
            given: serde_json::from_value(given).unwrap(),
            ..Model::default()
        }
    }

    #[test]
    fn services_are_found_wherever_they_are_named() {
        let model = model(json!({
            "ingresses": [{
                "name": "a", "namespace": "shop",
                "annotations": { (format!("{PREFIX}auth-url")): "http://auth.sec.svc:8080/x",
                                 (format!("{PREFIX}default-backend")): "errors" },
                "rules": [{ "paths": [{ "path": "/", "service": "web", "port": "http" }] }]
            }],
            "tcp": { "9000": "db/pg:5432:PROXY" },
            "flags": ["--default-backend-service=x/nothing"],
            "endpoints": { "web": 3, "spare": 2 },
        }));
        let found: Vec<String> = model
            .services()
            .iter()
            .map(|(key, named)| format!("{}/{} {:?}", key.namespace, key.name, named.ports))
            .collect();
        let expected = [
            "db/pg {Number(5432)}",
            "demo/spare {Number(80)}",
            "sec/auth {Number(8080)}",
            "shop/errors {Number(80)}",
            "shop/web {Name(\"http\")}",
            "x/nothing {Number(80)}",
        ];
        assert_eq!(found, expected);
        assert_eq!(
            model.services()[&Key::parse("shop/web", "")].behind,
            Behind::Pods(3)
        );
    }

    #[test]
    fn a_name_that_stands_for_nothing_may_be_given_a_meaning() {
        let rules =
            json!([{ "name": "a", "defaultBackend": { "service": "invalid", "port": 80 } }]);
        let key = Key::parse("invalid", NAMESPACE);
        let bare = model(json!({ "ingresses": rules }));
        assert_eq!(bare.services()[&key].behind, Behind::Nothing);
        let given = model(json!({ "ingresses": rules, "endpoints": { "invalid": 0 } }));
        assert_eq!(given.services()[&key].behind, Behind::Pods(0));
    }
}
