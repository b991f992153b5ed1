//! Rights that the controller needs, and those of whoever installs it. Tests compare both with the chart.

use std::fmt;

/// One right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// Namespace; `None`: all of them, or an object that has none.
    pub namespace: Option<String>,
    /// API group; empty for the core.
    pub group: &'static str,
    /// Resource, in the plural.
    pub resource: &'static str,
    /// Part of it; empty for the whole.
    pub subresource: &'static str,
    /// Object; `None`: all of them.
    pub name: Option<String>,
    /// Verb.
    pub verb: &'static str,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

/// Flags of a controller that decide which rights it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Namespace of the controller.
    pub own: String,
    /// Namespace that is served; `None`: all of them.
    pub watched: Option<String>,
    /// Namespaces are served by their labels.
    pub namespace_selector: bool,
    /// Pods have weights.
    pub pod_weights: bool,
    /// Lease of the election, if there is one.
    pub lease: Option<String>,
    /// Status of Ingresses is written.
    pub status: bool,
    /// Service (namespace, name) whose addresses are written.
    pub publish_service: Option<(String, String)>,
    /// Addresses of nodes are written.
    pub nodes: bool,
    /// ConfigMaps of the controller's own, in its namespace.
    pub config_maps: Vec<String>,
}

const READ: [&str; 2] = ["list", "watch"];
const GET_TOO: [&str; 3] = ["get", "list", "watch"];

impl Needs {
    /// The rights, each once.
    #[must_use]
    pub fn rights(&self) -> Vec<Right> {
        let mut rights = Rights::default();
        self.of_objects(&mut rights);
        self.of_the_cluster(&mut rights);
        self.own_affairs(&mut rights);
        rights.0
    }

    /// Rights to read what is served, and to write what became of it.
    fn of_objects(&self, rights: &mut Rights) {
        let watched = self.watched.as_deref();
        rights.all(watched, "networking.k8s.io", "ingresses", &READ);
        if self.status {
            rights.part(watched, "networking.k8s.io", "ingresses", "status", "patch");
        }
        rights.all(watched, "", "services", &READ);
        rights.all(watched, "discovery.k8s.io", "endpointslices", &READ);
        if self.pod_weights {
            rights.all(watched, "", "pods", &READ);
        }
        rights.all(watched, "", "secrets", &GET_TOO);
        rights.all(watched, "", "configmaps", &GET_TOO);
        rights.all(watched, "", "events", &["create", "patch"]);
    }

    fn of_the_cluster(&self, rights: &mut Rights) {
        rights.all(None, "networking.k8s.io", "ingressclasses", &READ);
        if self.namespace_selector {
            rights.all(None, "", "namespaces", &READ);
        }
        if self.nodes {
            rights.all(None, "", "nodes", &["get"]);
        }
    }

    fn own_affairs(&self, rights: &mut Rights) {
        let own = Some(self.own.as_str());
        if let Some(lease) = &self.lease {
            let group = "coordination.k8s.io";
            rights.all(own, group, "leases", &["create"]);
            rights.named(own, group, "leases", lease, &["get", "update"]);
        }
        // With rights in all namespaces it has these already.
        if self.watched.is_some() {
            for name in &self.config_maps {
                rights.named(own, "", "configmaps", name, &READ);
            }
        }
        rights.all(own, "", "pods", &["get", "list"]);
        if let Some((namespace, name)) = &self.publish_service {
            rights.named(Some(namespace), "", "services", name, &["get"]);
        }
    }
}

#[derive(Default)]
struct Rights(Vec<Right>);

impl Rights {
    fn all(
        &mut self,
        namespace: Option<&str>,
        group: &'static str,
        resource: &'static str,
        verbs: &[&'static str],
    ) {
        self.0.extend(verbs.iter().map(|verb| Right {
            namespace: namespace.map(str::to_owned),
            group,
            resource,
            subresource: "",
            name: None,
            verb,
        }));
    }

    fn part(
        &mut self,
        namespace: Option<&str>,
        group: &'static str,
        resource: &'static str,
        subresource: &'static str,
        verb: &'static str,
    ) {
        self.all(namespace, group, resource, &[verb]);
        if let Some(right) = self.0.last_mut() {
            right.subresource = subresource;
        }
    }

    fn named(
        &mut self,
        namespace: Option<&str>,
        group: &'static str,
        resource: &'static str,
        name: &str,
        verbs: &[&'static str],
    ) {
        let from = self.0.len();
        self.all(namespace, group, resource, verbs);
        for right in self.0.iter_mut().skip(from) {
            right.name = Some(name.to_owned());
        }
    }
}

/// Kinds that the chart creates by default: group, resource, and if they are in a namespace.
pub const INSTALLED: [(&str, &str, bool); 15] = [
    ("", "namespaces", false),
    ("", "configmaps", true),
    ("", "serviceaccounts", true),
    ("", "services", true),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        false,
    ),
    ("apps", "deployments", true),
    ("batch", "jobs", true),
    ("networking.k8s.io", "ingressclasses", false),
    ("networking.k8s.io", "networkpolicies", true),
    ("policy", "poddisruptionbudgets", true),
    ("rbac.authorization.k8s.io", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io", "clusterroles", false),
    ("rbac.authorization.k8s.io", "rolebindings", true),
    ("rbac.authorization.k8s.io", "roles", true),
    // A release of Helm's.
    ("", "secrets", true),
];

/// Rights of whoever installs the chart into a namespace: to create its objects, and the rights that these grant, because nobody may
/// grant what he may not do.
#[must_use]
pub fn of_installer(namespace: &str) -> Vec<Right> {
    let mut rights = Rights::default();
    for (group, resource, is_namespaced) in INSTALLED {
        let namespace = is_namespaced.then_some(namespace);
        rights.all(namespace, group, resource, &["create"]);
    }
    let needs = Needs {
        own: namespace.to_owned(),
        lease: Some("sluice-leader".to_owned()),
        status: true,
        ..Needs::default()
    };
    rights.0.extend(needs.rights());
    rights.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn repository() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// `group/resource [name]: verb` of the controller's roles below a title, with the namespace of the role.
    fn granted(title: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(repository().join("tests/packaging/rbac.txt")).unwrap();
        let (_, rest) = text.split_once(&format!("# {title}\n")).unwrap();
        let mut found = BTreeSet::new();
        let mut place = None;
        for line in rest.split("\n# ").next().unwrap().lines() {
            if !line.starts_with(' ') {
                let role = line.contains(" sluice-controller");
                let namespace = line
                    .split_once('(')
                    .map(|(_, rest)| rest.trim_end_matches(')'));
                place = namespace.filter(|_| role);
                continue;
            }
            let (Some(place), Some((resource, rest))) = (place, line.trim().split_once(" ["))
            else {
                continue;
            };
            let (names, verbs) = rest.split_once("]: ").unwrap();
            for name in names.split(' ') {
                let verbs = verbs.split(' ');
                found.extend(verbs.map(|verb| format!("{place} {resource} [{name}]: {verb}")));
            }
        }
        found
    }

    fn needed(needs: &Needs) -> BTreeSet<String> {
        let rights = needs.rights().into_iter().map(|right| {
            let place = right.namespace.as_deref().unwrap_or("everywhere");
            let part = match right.subresource {
                "" => String::new(),
                part => format!("/{part}"),
            };
            let name = right.name.as_deref().unwrap_or_default();
            let Right {
                group,
                resource,
                verb,
                ..
            } = &right;
            format!("{place} {group}/{resource}{part} [{name}]: {verb}")
        });
        rights.collect()
    }

    fn by_default() -> Needs {
        let own = "sluice-system".to_owned();
        Needs {
            own: own.clone(),
            lease: Some("sluice-leader".to_owned()),
            status: true,
            publish_service: Some((own, "sluice-data-plane".to_owned())),
            config_maps: vec!["sluice-controller".to_owned()],
            ..Needs::default()
        }
    }

    #[test]
    fn needs_are_exactly_the_rights_that_the_chart_grants() {
        let scoped = Needs {
            watched: Some("shop".to_owned()),
            ..by_default()
        };
        let selected = Needs {
            namespace_selector: true,
            ..by_default()
        };
        let weighted = Needs {
            pod_weights: true,
            ..by_default()
        };
        let on_nodes = Needs {
            publish_service: None,
            nodes: true,
            ..by_default()
        };
        for (title, needs) in [
            ("By default", by_default()),
            ("With controller.scope: one namespace", scoped),
            ("With controller.scope: namespaces with labels", selected),
            ("With controller.podWeights", weighted),
            ("On ports of nodes", on_nodes),
        ] {
            let granted = granted(title);
            assert!(granted.len() > 15, "{title}: {granted:?}");
            assert_eq!(needed(&needs), granted, "{title}");
        }
    }

    /// The base is what the chart renders by default.
    #[test]
    fn kinds_to_create_are_exactly_those_of_the_chart() {
        let base = repository().join("controller/deploy/kustomize/base");
        let mut kinds = BTreeSet::new();
        for entry in fs::read_dir(base).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            for document in text.split("\n---\n") {
                let field = |name: &str| {
                    let line = document.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim().to_owned()
                };
                let (version, kind) = (field("apiVersion:"), field("kind:"));
                if kind != "Kustomization" {
                    let group = version.split_once('/').map_or("", |(group, _)| group);
                    kinds.insert((group.to_owned(), plural(&kind)));
                }
            }
        }
        // Jobs, and Helm itself, create these.
        kinds.insert((String::new(), "secrets".to_owned()));
        let known = INSTALLED.iter();
        let known: BTreeSet<_> = known
            .map(|(group, resource, _)| ((*group).to_owned(), (*resource).to_owned()))
            .collect();
        assert_eq!(kinds, known);
    }

    fn plural(kind: &str) -> String {
        let kind = kind.to_lowercase();
        match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if kind.ends_with('s') => format!("{kind}es"),
            None => format!("{kind}s"),
        }
    }

    #[test]
    fn a_right_is_named_as_kubectl_names_it() {
        let rights = by_default().rights();
        let all: Vec<String> = rights.iter().map(ToString::to_string).collect();
        for expected in [
            "list ingresses.networking.k8s.io",
            "patch ingresses/status.networking.k8s.io",
            "get leases.coordination.k8s.io sluice-leader in sluice-system",
            "get secrets",
        ] {
            assert!(
                all.iter().any(|right| right == expected),
                "{expected}: {all:?}"
            );
        }
    }
}
