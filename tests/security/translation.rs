//! Translates an Ingress of the owner with some annotations, for each data plane, beside objects that values may name and an
//! Ingress of the foreign namespace.

use serde_json::{Value, json};
use sluice_tests::manifests::{self, Ingress};
use sluice_translate::annotations::{Annotation, GROUPS, Risk, Value as Takes};
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, Translation, translate};

use crate::setup::{FOREIGN, OWNER};

/// The data planes; `None` is a translation without one.
pub(crate) const DATA_PLANES: [Option<DataPlane>; 3] =
    [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)];
/// The owner's host.
pub(crate) const HOST: &str = "own.test";
/// A value that is none of any annotation that does not take every text.
pub(crate) const INVALID: &str = "no such: value?!";

/// Every annotation.
pub(crate) fn all() -> impl Iterator<Item = &'static Annotation> {
    GROUPS.iter().flat_map(|group| group.annotations)
}

/// Annotations without which another has no effect.
const COMPANIONS: &[(&str, &[(&str, &str)])] = &[
    ("affinity-", &[("affinity", "cookie")]),
    (
        "auth-secret",
        &[("auth-type", "basic"), ("auth-secret", "users")],
    ),
    ("auth-tls-", &[("auth-tls-secret", "owner/ca")]),
    ("auth-", &[("auth-url", "http://web.owner.svc/")]),
    (
        "canary",
        &[
            ("canary", "true"),
            ("canary-weight", "30"),
            ("canary-by-header", "x-canary"),
        ],
    ),
    ("cors-", &[("enable-cors", "true")]),
    ("limit-burst-multiplier", &[("limit-rps", "5")]),
    ("limit-allowlist", &[("limit-rps", "5")]),
    ("limit-whitelist", &[("limit-rps", "5")]),
    ("limit-rate-after", &[("limit-rate", "5")]),
    ("mirror-", &[("mirror-target", "http://web.owner.svc")]),
    (
        "permanent-redirect-",
        &[("permanent-redirect", "http://a.example/")],
    ),
    (
        "temporal-redirect-",
        &[("temporal-redirect", "http://a.example/")],
    ),
    (
        "proxy-ssl-",
        &[
            ("backend-protocol", "HTTPS"),
            ("proxy-ssl-secret", "owner/ca"),
        ],
    ),
    (
        "satisfy",
        &[
            ("auth-type", "basic"),
            ("auth-secret", "users"),
            ("allowlist-source-range", "10.0.0.0/8"),
        ],
    ),
    ("session-", &[("affinity", "cookie")]),
    ("sluice.dev/eject", &[("sluice.dev/eject-after", "3")]),
    ("sluice.dev/hash-", &[("upstream-hash-by", "$request_uri")]),
    ("sluice.dev/max-", &[("sluice.dev/eject-after", "3")]),
    (
        "upstream-hash-by-",
        &[
            ("upstream-hash-by", "$request_uri"),
            ("upstream-hash-by-subset", "true"),
        ],
    ),
];

fn companions(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    let found = COMPANIONS
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning));
    found
        .into_iter()
        .flat_map(|(_, companions)| companions.iter().copied())
}

/// ConfigMaps and Secrets that annotations name.
fn named_objects(settings: &Value) -> Vec<Value> {
    let named = |kind: &str, namespace: &str, name: &str, field: &str, data: &Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}, field: data});
    vec![
        named("ConfigMap", "ops", "settings", "data", settings),
        named(
            "ConfigMap",
            OWNER,
            "headers",
            "data",
            &json!({"X-Team": "shop"}),
        ),
        named(
            "Secret",
            OWNER,
            "users",
            "stringData",
            &json!({"auth": "ada:{PLAIN}secret\n"}),
        ),
        named(
            "Secret",
            OWNER,
            "ca",
            "stringData",
            &json!({"ca.crt": "-----BEGIN CERTIFICATE-----"}),
        ),
    ]
}

/// The translation of an Ingress with these annotations, under these settings of the operator.
pub(crate) fn translate_annotations(
    annotations: &[(&str, &str)],
    settings: &Value,
    data_plane: Option<DataPlane>,
) -> Translation {
    let own = Ingress::new(OWNER, "own").host(HOST).path("/", "web", 80);
    let own = annotations
        .iter()
        .fold(own, |own, (name, value)| own.annotation(name, value))
        .to_json();
    let main = Ingress::new(OWNER, "main").host(HOST);
    let main = main.path("/", "web", 80).to_json();
    let foreign = Ingress::new(FOREIGN, "web").host("foreign.test");
    let foreign = foreign.path("/", "web", 80).to_json();
    let pods = ["10.0.0.1:80", "10.0.0.2:80"].map(|pod| pod.parse().unwrap());
    let mut objects = named_objects(settings);
    objects.extend([own, foreign]);
    // A canary is one of another Ingress; without that one, the owner's would be alone with its host.
    if annotations
        .iter()
        .any(|(name, _)| name.starts_with("canary"))
    {
        objects.push(main);
    }
    for namespace in [OWNER, FOREIGN] {
        objects.push(manifests::service(namespace, "web", 80, &pods));
        objects.push(manifests::endpoint_slice(namespace, "web", &pods));
    }
    let mut resources = Resources::default();
    objects
        .into_iter()
        .for_each(|object| drop(resources.apply(Object::from_value(object).unwrap())));
    let configmap = Some(ObjectKey::new("ops", "settings"));
    translate(
        &resources,
        &Options {
            class_is_implied: true,
            configmap,
            data_plane,
            ..Options::default()
        },
    )
}

/// With one annotation and what it says something beside.
pub(crate) fn translate_annotation(
    name: &str,
    value: &str,
    settings: &Value,
    data_plane: Option<DataPlane>,
) -> Translation {
    let mut annotations: Vec<(&str, &str)> = companions(name)
        .filter(|(other, _)| *other != name)
        .collect();
    annotations.push((name, value));
    translate_annotations(&annotations, settings, data_plane)
}

/// The translation of an annotation's companions without it.
pub(crate) fn translate_companions(
    name: &str,
    settings: &Value,
    data_plane: Option<DataPlane>,
) -> Translation {
    let annotations: Vec<_> = companions(name)
        .filter(|(other, _)| *other != name)
        .collect();
    translate_annotations(&annotations, settings, data_plane)
}

/// All that is served, as data.
pub(crate) fn config(translation: &Translation) -> Value {
    json!(translation.config())
}

/// The same is served.
pub(crate) fn is_same_config(translate_annotation: &Translation, other: &Translation) -> bool {
    translate_annotation.config() == other.config()
}

/// One of the data planes: all pairs would take a debug build too long, and each annotation and each value meets all.
pub(crate) fn some_data_plane(annotation: usize, value: usize) -> Option<DataPlane> {
    DATA_PLANES[(annotation + value) % DATA_PLANES.len()]
}

/// No path of the owner's host lets anybody in.
pub(crate) fn is_closed(translation: &Translation) -> bool {
    let config = config(translation);
    let routes = config["servers"][HOST]["routes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    !routes.is_empty() && routes.iter().all(|route| route["action"] == "denied")
}

/// Returns `true` if the data plane honours the annotation.
pub(crate) fn is_honoured(annotation: &Annotation, data_plane: Option<DataPlane>) -> bool {
    let (envoy, nginx) = (
        annotation.supports.envoy.is_honoured(),
        annotation.supports.nginx.is_honoured(),
    );
    match data_plane {
        None => envoy || nginx,
        Some(DataPlane::Envoy) => envoy,
        Some(DataPlane::Nginx) => nginx,
    }
}

/// A report names the annotation.
pub(crate) fn is_reported(translation: &Translation, name: &str) -> bool {
    let field = format!("annotation {name}");
    translation
        .reports()
        .iter()
        .any(|report| &*report.object.key.name == "own" && report.field == field)
}

/// Returns `true` if a text is a valid value of an annotation with a finite grammar, as far as that can be said without knowing
/// the annotation; `None` for those that take nearly any text.
pub(crate) fn is_in(takes: Takes, text: &str) -> Option<bool> {
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    let but_letters = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    match takes {
        Takes::Bool => {
            Some(["1", "t", "0", "f", "true", "false"].contains(&text.to_lowercase().as_str()))
        }
        Takes::OnOff => Some(["on", "off"].contains(&text)),
        Takes::OneOf(values) => Some(values.iter().any(|value| value.eq_ignore_ascii_case(text))),
        Takes::Int => Some(is_number(text)),
        Takes::Seconds | Takes::Size => Some(is_number(but_letters)),
        Takes::Cidrs => Some(
            text.split(',')
                .any(|part| part.trim().parse::<sluice_ir::Cidr>().is_ok()),
        ),
        _ => None,
    }
}

/// Differences between the effect of invalid values and that of a known bad one; each must be reported where the annotation is
/// honoured.
pub(crate) fn unexpected_effects(
    number: usize,
    annotation: &Annotation,
    values: &[String],
) -> Vec<String> {
    let (name, settings) = (
        annotation.name,
        json!({"annotations-risk-level": "Critical"}),
    );
    let bad =
        DATA_PLANES.map(|data_plane| translate_annotation(name, INVALID, &settings, data_plane));
    let reported_as = annotation.alias_of.unwrap_or(name);
    let wrong = values.iter().enumerate().filter_map(|(position, value)| {
        let place = (number + position) % DATA_PLANES.len();
        let found = translate_annotation(name, value, &settings, DATA_PLANES[place]);
        let is_told = is_reported(&found, name) || is_reported(&found, reported_as);
        let is_silent = !is_told && is_honoured(annotation, DATA_PLANES[place]);
        match is_same_config(&found, &bad[place]) {
            false => Some(format!(
                "{name}: {value:?} means something ({:?})",
                DATA_PLANES[place]
            )),
            true => is_silent.then(|| {
                format!(
                    "{name}: {value:?} is not reported ({:?})",
                    DATA_PLANES[place]
                )
            }),
        }
    });
    wrong.collect()
}

/// The annotation and its companions are taken at this level.
pub(crate) fn is_allowed_at(annotation: &Annotation, level: Risk) -> bool {
    let names = companions(annotation.name).map(|(name, _)| name);
    let companions = all().filter(|other| names.clone().any(|name| name == other.name));
    annotation.risk <= level
        && companions
            .into_iter()
            .all(|companion| companion.risk <= level)
}
