//! Counter of looked-at items. Costs are proven by counting, on quick and slow machines alike: whatever holds many things of one
//! tenant (paths, `tls` entries) shows none of them without counting it. Without tests nothing is counted.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// One thing is looked at.
pub(super) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// Each of these is looked at.
pub(super) fn counted<I: Iterator>(all: I) -> impl Iterator<Item = I::Item> {
    all.inspect(|_| step())
}

/// Items that a task looks at.
#[cfg(test)]
pub(super) fn count(task: impl FnOnce()) -> usize {
    STEPS.set(0);
    task();
    STEPS.get()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_translate_engine::Object;

    use super::*;
    use crate::{Options, Resources, translate};

    fn path(text: &str, kind: &str) -> Value {
        json!({"path": text, "pathType": kind, "backend": {"service": {"name": "web", "port": {"number": 80}}}})
    }

    fn ingress(name: &str, annotations: &Value, spec: Value) -> Value {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": name.split('-').next(), "annotations": annotations}, "spec": spec,
        })
    }

    fn rule(host: &str, paths: &[Value]) -> Value {
        json!({"host": host, "http": {"paths": paths}})
    }

    fn one(annotations: Value, rules: Vec<Value>) -> Vec<Value> {
        vec![ingress(
            "app-0",
            &annotations,
            json!({"ingressClassName": "nginx", "rules": rules}),
        )]
    }

    fn regex() -> Value {
        json!({"nginx.ingress.kubernetes.io/use-regex": "true"})
    }

    fn pairs(count: usize) -> Vec<Value> {
        let both = |n| {
            [
                path(&format!("/p{n:04}"), "Prefix"),
                path(&format!("/p{n:04}"), "Exact"),
            ]
        };
        (0..count / 2).flat_map(both).collect()
    }

    /// As many Ingresses of one host, of so many namespaces.
    fn many(count: usize, namespaces: usize, annotations: &dyn Fn(usize) -> Value) -> Vec<Value> {
        let one = |n: usize| {
            let paths = [
                path(&format!("/p{n:04}"), "Prefix"),
                path(&format!("/p{n:04}"), "Exact"),
            ];
            let name = format!("app{}-{n}", n % namespaces);
            let rules = vec![rule("a.example", &paths)];
            let spec = json!({"ingressClassName": "nginx", "rules": rules});
            ingress(&name, &annotations(n), spec)
        };
        (0..count).map(one).collect()
    }

    /// So many paths, or hosts, of every kind that there may be many of.
    fn scenarios(count: usize) -> Vec<(&'static str, Vec<Value>)> {
        let host = |n| format!("h{n}.example");
        let hosts: Vec<Value> = (0..count)
            .map(|n| rule(&host(n), &[path("/", "Prefix")]))
            .collect();
        let entries: Vec<Value> = (0..count)
            .map(|n| json!({"hosts": [host(n)], "secretName": format!("s{n}")}))
            .collect();
        let mut listed = one(json!({}), hosts.clone());
        listed[0]["spec"]["tls"] = json!(entries);
        let mut unlisted = one(json!({}), hosts.clone());
        unlisted[0]["spec"]["tls"] = (0..count)
            .map(|n| json!({"hosts": ["other.example"], "secretName": format!("s{n}")}))
            .collect();
        let many =
            |namespaces, annotations: &dyn Fn(usize) -> Value| many(count, namespaces, annotations);
        let canary = |n| match n % 2 {
            0 => json!({}),
            _ => json!({"nginx.ingress.kubernetes.io/canary": "true"}),
        };
        vec![
            (
                "paths of an Ingress",
                one(json!({}), vec![rule("a.example", &pairs(count))]),
            ),
            (
                "patterns of an Ingress",
                one(regex(), vec![rule("a.example", &pairs(count))]),
            ),
            (
                "paths that guard access and cannot be read",
                one(
                    json!({
                        "nginx.ingress.kubernetes.io/use-regex": "perhaps",
                        "nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8",
                    }),
                    vec![rule("a.example", &pairs(count))],
                ),
            ),
            ("hosts of an Ingress", one(json!({}), hosts)),
            ("tls entries that list hosts", listed),
            ("tls entries that do not", unlisted),
            ("Ingresses of a host", many(1, &|_| json!({}))),
            (
                "patterns of many Ingresses of a host",
                many(1, &|_| regex()),
            ),
            (
                "Ingresses of two namespaces of a host",
                many(2, &|n| if n % 2 == 0 { json!({}) } else { regex() }),
            ),
            (
                "Ingresses of as many namespaces of a host",
                many(count, &|_| regex()),
            ),
            ("canaries", many(1, &canary)),
        ]
    }

    fn steps(objects: &[Value]) -> usize {
        let mut resources = Resources::default();
        for object in objects {
            resources.apply(Object::from_value(object.clone()).unwrap());
        }
        let options = Options {
            class_is_implied: true,
            ..Options::default()
        };
        count(|| drop(translate(&resources, &options)))
    }

    #[test]
    fn twice_the_input_takes_twice_the_steps() {
        for ((what, small), (_, large)) in scenarios(200).into_iter().zip(scenarios(400)) {
            let (small, large) = (steps(&small), steps(&large));
            assert!(small >= 200, "{what}: {small} is not counted");
            assert!(large <= 2 * small + 20, "{what}: {small} becomes {large}");
        }
    }
}
