//! Hints about manifests that are valid but often not intended: the lints of `kubectl ingress-nginx lint`, and annotations of
//! other controllers that look like ours.

use sluice_translate::{
    DataPlane, Ingress, Kind, ObjectKey, ObjectRef, Options, Resources, Severity,
};

use super::remark::Remark;

const CLASS: &str = "kubernetes.io/ingress.class";

/// Prefixes that people take for ingress-nginx's.
const OTHERS: [(&str, &str); 3] = [
    (
        "ingress.kubernetes.io/",
        "ingress-nginx stopped reading this prefix in 2017 and Sluice does not either",
    ),
    (
        "nginx.org/",
        "it belongs to the controller of F5 NGINX; ingress-nginx and Sluice do not read it",
    ),
    (
        "nginx.com/",
        "it belongs to the controller of F5 NGINX; ingress-nginx and Sluice do not read it",
    ),
];

/// Everything worth a word. `prefix`: of ingress-nginx's annotations, without the slash.
pub(crate) fn about(ingress: &Ingress, prefix: &str) -> Vec<Remark> {
    let annotations = ingress.annotations.iter();
    let mut hints: Vec<Remark> = annotations
        .filter_map(|(key, value)| about_annotation(key, value, prefix))
        .collect();
    hints.extend(one_target(ingress, prefix));
    hints.extend(literal_patterns(ingress, prefix));
    hints.extend(class(ingress));
    hints
}

/// A path that is the target itself is not rewritten.
fn one_target(ingress: &Ingress, prefix: &str) -> Option<Remark> {
    const NAME: &str = "rewrite-target";
    let target = ingress.annotations.get(&format!("{prefix}/{NAME}"))?.trim();
    let spec = ingress.spec.as_ref()?;
    let rules = spec.rules.iter().flatten();
    let mut paths = rules
        .filter_map(|rule| rule.http.as_ref())
        .flat_map(|http| &http.paths);
    let is_rewritten = paths
        .any(|path| path.path_type != "Exact" && path.path.as_deref().unwrap_or("/") != target);
    let text = format!("it has no capture group such as $1, so every path becomes {target:?}");
    (is_rewritten && !target.is_empty() && !target.contains('$'))
        .then(|| hint(format!("annotation {NAME}"), text))
}

/// Paths that look like patterns, and are compared as texts.
fn literal_patterns(ingress: &Ingress, prefix: &str) -> Vec<Remark> {
    /// Of these a path may have. Others of a pattern are reported.
    const OF_PATTERNS: [char; 5] = ['*', '+', '(', ')', '$'];
    const TEXT: &str = "compared as a text, as in ingress-nginx, unless another Ingress of the host has use-regex or rewrite-target; for a pattern \
                        set use-regex: \"true\" and pathType: ImplementationSpecific";
    let annotations = ingress.annotations.iter();
    let mut names = annotations.filter_map(|(key, value)| Some((name(key, prefix)?, value)));
    // A value that is neither is reported.
    let makes_patterns = names
        .any(|(name, value)| name == "rewrite-target" || name == "use-regex" && value != "false");
    let spec = ingress.spec.as_ref().filter(|_| !makes_patterns);
    let rules = spec.and_then(|spec| spec.rules.as_ref());
    let rules = rules.into_iter().flatten().enumerate();
    let paths = rules.flat_map(|(rule, of)| {
        let paths = of.http.iter().flat_map(|http| &http.paths).enumerate();
        paths.map(move |(path, of)| (format!("spec.rules[{rule}].http.paths[{path}].path"), of))
    });
    let is_like_one = |text: &str| text.contains(OF_PATTERNS);
    paths
        .filter(|(_, path)| path.path.as_deref().is_some_and(is_like_one))
        .map(|(field, _)| hint(field, TEXT))
        .collect()
}

fn class(ingress: &Ingress) -> Option<Remark> {
    const NONE: &str = "names no class; served if the cluster has a default IngressClass or --watch-ingress-without-class is on";
    const SAME: &str = "not needed beside spec.ingressClassName; older versions of Kubernetes accept no new Ingress with both";
    const OTHER: &str = "not the class of spec.ingressClassName, which decides; Kubernetes accepts no new Ingress with two classes";
    let spec = ingress.spec.as_ref();
    let named = spec.and_then(|spec| spec.ingress_class_name.as_deref());
    match (named, ingress.annotations.get(CLASS)) {
        (None, None) => Some(hint("spec.ingressClassName", NONE)),
        (Some(named), Some(annotated)) => {
            let text = if named == annotated { SAME } else { OTHER };
            Some(hint(format!("annotation {CLASS}"), text))
        }
        _ => None,
    }
}

/// Without the module its paths answer 503, and only the machine that serves knows.
pub(crate) fn about_passthrough(ingress: &Ingress, options: &Options) -> Option<Remark> {
    const NAME: &str = "ssl-passthrough";
    let prefix = &options.annotations_prefix;
    let is_on = ingress
        .annotations
        .get(&format!("{prefix}/{NAME}"))
        .is_some_and(|value| value.trim() == "true");
    let is_needed = is_on && options.ssl_passthrough;
    let text = "needs nginx's stream module with ssl_preread (Debian: libnginx-mod-stream); without it, paths answer 503";
    (is_needed && options.data_plane == Some(DataPlane::Nginx))
        .then(|| hint(format!("annotation {NAME}"), text))
}

/// An Ingress that this controller does not see.
pub(crate) fn about_namespace(ingress: &Ingress, options: &Options) -> Option<Remark> {
    let watched = options.watch_namespace.as_ref()?;
    let namespace = ingress.namespace();
    (namespace != watched).then(|| {
        let text = format!("{namespace} is not watched (--watch-namespace {watched}); left out");
        hint("metadata.namespace", text)
    })
}

/// A class of its own is how people run several ingress-nginx side by side.
pub(crate) fn about_class(ingress: &Ingress, prefix: &str) -> Option<Remark> {
    let mut annotations = ingress.annotations.iter();
    annotations.find(|(key, _)| name(key, prefix).is_some())?;
    let field = ingress
        .spec
        .as_ref()
        .and_then(|spec| spec.ingress_class_name.as_deref());
    let class = field.or_else(|| ingress.annotations.get(CLASS))?;
    let text = format!(
        "it has annotations of ingress-nginx; if its class is one of ingress-nginx, judge it with --ingress-class {class:?}"
    );
    Some(hint("spec.ingressClassName", text))
}

/// ConfigMaps of a controller that no flag names: what they allow or change does not count.
pub(crate) fn about_config_maps(
    resources: &Resources,
    options: &Options,
) -> Vec<(ObjectRef, Remark)> {
    if options.configmap.is_some() {
        return Vec::new();
    }
    let all = resources.config_maps_of_controllers();
    let remark = |key: &ObjectKey| {
        let text = format!("not read; its settings count with --configmap {key}");
        let object = ObjectRef {
            kind: Kind::ConfigMap,
            key: key.clone(),
        };
        (object, hint("data", text))
    };
    all.map(remark).collect()
}

fn about_annotation(key: &str, value: &str, prefix: &str) -> Option<Remark> {
    let field = format!("annotation {key}");
    if let Some((_, text)) = OTHERS.iter().find(|(prefix, _)| key.starts_with(prefix)) {
        return Some(hint(field, *text));
    }
    let name = name(key, prefix)?;
    let text = match name {
        "x-forwarded-prefix" if matches!(value, "true" | "false") => {
            format!("it takes a path since ingress-nginx 0.24; {value:?} is sent as is")
        }
        "auth-url" if asks_own_host(value) => {
            "$host is an address of Sluice itself: external authentication reaches it only if --publish-service is set and the host resolves to the \
             address of that Service; otherwise name the authentication service: http://NAME.NAMESPACE.svc.cluster.local:PORT/PATH"
                .to_owned()
        }
        name if name.ends_with("-snippet") && value.contains("satisfy") => {
            format!("`satisfy` has an annotation of its own: {prefix}/satisfy")
        }
        _ => return None,
    };
    Some(hint(format!("annotation {name}"), text))
}

/// True of a URL whose host is that of the request, which is one of ours.
fn asks_own_host(url: &str) -> bool {
    let authority = url.split_once("://").map(|(_, rest)| rest);
    let authority = authority.and_then(|rest| rest.split(['/', '?']).next());
    matches!(
        authority,
        Some("$host" | "${host}" | "$http_host" | "${http_host}")
    )
}

fn name<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('/')
}

fn hint(field: impl Into<String>, text: impl Into<String>) -> Remark {
    Remark {
        code: None,
        severity: Severity::Note,
        field: field.into(),
        text: text.into(),
        location: None,
    }
}
