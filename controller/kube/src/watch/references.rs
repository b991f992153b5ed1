//! The Secrets and ConfigMaps that Ingresses and the controller's own ConfigMap refer to. Only those are fetched.
//!
//! The annotations and keys that may name one are those of the catalogues in `sluice-translate`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use sluice_translate::global::KEYS;
use sluice_translate::{Ingress, Kind, ObjectKey, annotations};

/// A Secret or a ConfigMap, by name.
pub(super) type Name = (Kind, ObjectKey);

/// References of an Ingress, whether they exist or not, and whatever the prefix of its annotations. Permission to use them is
/// up to the translation.
pub(super) fn named_by(ingress: &Ingress) -> BTreeSet<Name> {
    let namespace = ingress.namespace();
    let tls = ingress
        .spec
        .iter()
        .flat_map(|spec| spec.tls.iter().flatten());
    let tls = tls
        .filter_map(|tls| tls.secret_name.as_deref())
        .filter(|name| !name.is_empty());
    let tls = tls.map(|name| (Kind::Secret, ObjectKey::new(namespace, name)));
    let annotated = ingress.annotations.iter();
    let annotated = annotated.filter_map(|(key, value)| {
        let (_, name) = key.rsplit_once('/')?;
        let kind = annotations::referenced_kind(name)?;
        Some((kind, named(namespace, value.trim())?))
    });
    tls.chain(annotated)
        .filter(|(_, key)| could_exist(key))
        .collect()
}

/// References of the controller's own ConfigMap.
pub(super) fn of_settings(settings: &ConfigMap) -> BTreeSet<Name> {
    let namespace = settings.metadata.namespace.as_deref().unwrap_or_default();
    let refers = |name: &str| {
        KEYS.iter()
            .any(|key| key.names_config_map && key.name == name)
    };
    let values = settings
        .data
        .iter()
        .flatten()
        .filter(|(key, _)| refers(key));
    let names =
        values.filter_map(|(_, value)| Some((Kind::ConfigMap, named(namespace, value.trim())?)));
    names.filter(|(_, key)| could_exist(key)).collect()
}

fn named(namespace: &str, value: &str) -> Option<ObjectKey> {
    if value.contains('/') {
        ObjectKey::parse(value)
    } else {
        Some(ObjectKey::new(namespace, value))
    }
}

/// A name becomes part of a URL: what no object can be called is not asked for.
fn could_exist(key: &ObjectKey) -> bool {
    let plain = |text: &str| {
        let allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        (1..=253).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with('.')
    };
    plain(&key.namespace) && plain(&key.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tls_and_annotations_name_secrets_and_config_maps() {
        let ingress = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "a", "annotations": {
                "nginx.ingress.kubernetes.io/auth-secret": "users",
                "nginx.ingress.kubernetes.io/auth-tls-secret": "pki/ca",
                "nginx.ingress.kubernetes.io/custom-headers": "shop/headers",
                "nginx.ingress.kubernetes.io/proxy-body-size": "8m",
                "nginx.ingress.kubernetes.io/proxy-ssl-secret": "../../api/v1/secrets/x",
            }},
            "spec": {"tls": [{"secretName": "cert"}, {"hosts": ["h"]}, {"secretName": ""}]},
        }));
        let found: Vec<String> = named_by(&ingress.unwrap())
            .iter()
            .map(|(kind, key)| format!("{kind} {key}"))
            .collect();
        assert_eq!(
            found,
            [
                "ConfigMap shop/headers",
                "Secret pki/ca",
                "Secret shop/cert",
                "Secret shop/users"
            ]
        );
    }

    #[test]
    fn the_settings_name_config_maps() {
        let settings = serde_json::from_value(json!({
            "metadata": {"namespace": "sluice", "name": "settings"},
            "data": {"add-headers": "elsewhere/answers", "proxy-set-headers": "requests", "keep-alive": "7"},
        }));
        let found: Vec<String> = of_settings(&settings.unwrap())
            .iter()
            .map(|(_, key)| key.to_string())
            .collect();
        assert_eq!(found, ["elsewhere/answers", "sluice/requests"]);
    }
}
