//! Admission rules that need no other object.
//!
//! The block-lists are ingress-nginx's, for those who rely on its answers. They are no defence here: nothing of an
//! Ingress becomes configuration text.

use sluice_syntax::shortened;
use sluice_translate_engine::Ingress;

use super::Admission;
use crate::global::AdmissionSettings;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";
/// Annotations that ingress-nginx warns of.
const DEPRECATED: [&str; 7] = [
    "enable-influxdb",
    "influxdb-host",
    "influxdb-measurement",
    "influxdb-port",
    "influxdb-server-name",
    "secure-verify-ca-secret",
    "influxdb",
];
/// Files that no host or path leads to.
const FILES: [&str; 6] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/nginx",
    "/etc/ingress-controller",
    "/var/run/secrets",
];

/// Options of admission that are flags; the rest is in the ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `--deep-inspect`
    pub deep_inspect: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { deep_inspect: true }
    }
}

/// Deep inspection: text that has been used to attack a proxy through hosts, paths and the names in `tls`.
pub(super) fn inspect(ingress: &Ingress) -> Option<String> {
    let spec = ingress.spec.as_ref()?;
    let rules = spec.rules.iter().flatten();
    let paths = rules
        .clone()
        .flat_map(|rule| rule.http.iter().flat_map(|http| &http.paths));
    let tls = spec.tls.iter().flatten();
    let mut fields = rules
        .filter_map(|rule| Some(("host", rule.host.as_deref()?)))
        .chain(paths.filter_map(|path| Some(("path", path.path.as_deref()?))))
        .chain(
            tls.clone()
                .filter_map(|tls| Some(("secret name", tls.secret_name.as_deref()?))),
        )
        .chain(
            tls.flat_map(|tls| tls.hosts.iter().flatten())
                .map(|host| ("tls host", host.as_str())),
        );
    let (field, text) = fields.find(|(_, text)| is_suspicious(text))?;
    Some(format!(
        "invalid ingress: {field} {:?} contains text that is only used in attacks",
        shortened(text)
    ))
}

fn is_suspicious(text: &str) -> bool {
    let directive = |name: &str| text.find(name).is_some_and(|at| text[at..].contains(';'));
    directive("alias")
        || directive("root")
        || text.contains("_by_lua")
        || FILES.iter().any(|file| text.contains(file))
}

/// The rest of what an Ingress says by itself.
pub(super) fn check(ingress: &Ingress, strictness: AdmissionSettings, admission: &mut Admission) {
    let uid = ingress.uid.as_deref().unwrap_or_default();
    if !uid.is_empty() && !is_uid(uid) {
        admission.errors.push(format!(
            "metadata.uid: expected a UUID, got {:?}",
            shortened(uid)
        ));
    }
    let violations = path_types(ingress);
    if strictness.path_types {
        admission.errors.extend(violations);
    } else {
        admission.warnings.extend(violations);
    }
    for (key, _) in ingress.annotations.iter() {
        if let Some(name) = key.strip_prefix(PREFIX) {
            annotation(name, strictness, admission);
        }
    }
}

fn is_uid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn path_types(ingress: &Ingress) -> Vec<String> {
    let rules = ingress
        .spec
        .iter()
        .flat_map(|spec| spec.rules.iter().flatten());
    let paths = rules.flat_map(|rule| rule.http.iter().flat_map(|http| &http.paths));
    let typed = paths.filter(|path| matches!(path.path_type.as_str(), "Exact" | "Prefix"));
    typed
        .filter_map(|path| Some((path.path.as_deref()?, path.path_type.as_str())))
        .filter(|(path, _)| !path.is_empty() && !is_plain(path))
        .map(|(path, kind)| {
            format!(
                "path {:?} cannot be used with pathType {kind}",
                shortened(path)
            )
        })
        .collect()
}

fn is_plain(path: &str) -> bool {
    path.starts_with('/')
        && path
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
}

fn annotation(name: &str, strictness: AdmissionSettings, admission: &mut Admission) {
    let shown = shortened(name);
    if name.ends_with("-snippet") {
        let text =
            format!("annotation {shown}: snippets are nginx configuration, which is not supported");
        let list = if strictness.allow_snippets {
            &mut admission.warnings
        } else {
            &mut admission.errors
        };
        list.push(text);
    }
    if DEPRECATED.contains(&name) {
        admission
            .warnings
            .push(format!("annotation {shown} is deprecated"));
    }
}
