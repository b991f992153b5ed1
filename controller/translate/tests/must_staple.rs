//! A certificate that asks for a stapled OCSP response: Envoy would refuse it, so its hosts present the default one, and that is
//! reported; nginx presents it. However a host comes to it.

use rcgen::{CertificateParams, CustomExtension, KeyPair};
use serde_json::{Value, json};
use sluice_ir::ServerName;
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, translate};

fn secret() -> Value {
    const FEATURES: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 24];
    const STATUS_REQUEST: [u8; 5] = [0x30, 0x03, 0x02, 0x01, 0x05];
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["a.test".to_owned()]).unwrap();
    let extension = CustomExtension::from_oid_content(&FEATURES, STATUS_REQUEST.to_vec());
    params.custom_extensions.push(extension);
    let certificate = params.self_signed(&key).unwrap().pem();
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "staple", "namespace": "a"},
        "stringData": {"tls.crt": certificate, "tls.key": key.serialize_pem()},
    })
}

fn ingress(tls: &Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {"ingressClassName": "nginx", "tls": tls, "rules": [{"host": "a.test", "http": {"paths": [{
            "path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}},
        }]}}]},
    })
}

/// The certificate is presented, and reported.
fn served(tls: &Value, default: Option<ObjectKey>, data_plane: Option<DataPlane>) -> (bool, bool) {
    let mut resources = Resources::default();
    for object in [secret(), ingress(tls)] {
        resources.apply(Object::from_value(object).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        data_plane,
        default_certificate: default.clone(),
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let config = translation.config();
    let host = config.tls.get(&ServerName::parse("a.test").unwrap());
    let certificate = match default {
        Some(_) => config.default_certificate.as_ref(),
        None => host.and_then(|host| host.certificate.as_ref()),
    };
    let mut reports = translation.reports().into_iter();
    let is_reported = reports.any(|report| report.reason.contains("must-staple"));
    (certificate.is_some(), is_reported)
}

#[test]
fn a_certificate_that_envoy_would_refuse_is_reported_and_not_presented_there() {
    let key = ObjectKey::new("a", "staple");
    for (tls, default) in [
        (json!([{"hosts": ["a.test"], "secretName": "staple"}]), None),
        (json!([{"secretName": "staple"}]), None),
        (json!([]), Some(key)),
    ] {
        let served = |data_plane| served(&tls, default.clone(), data_plane);
        assert_eq!(served(Some(DataPlane::Envoy)), (false, true), "{tls}");
        assert_eq!(served(None), (false, true), "{tls}");
        assert_eq!(served(Some(DataPlane::Nginx)), (true, false), "{tls}");
    }
}
