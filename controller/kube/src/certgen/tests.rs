use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::*;

type Objects = Arc<Mutex<BTreeMap<String, Value>>>;

/// An API server of objects by path: get, create, replace with a version.
fn api(objects: &Objects) -> Client {
    let objects = Arc::clone(objects);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let objects = Arc::clone(&objects);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let (status, answer) = answer(
                &mut objects.lock().unwrap(),
                &head.method,
                head.uri.path(),
                body,
            );
            let response = Response::builder()
                .status(status)
                .body(Body::from(answer.to_string()))
                .unwrap();
            Ok::<_, Infallible>(response)
        }
    });
    Client::new(service, "default")
}

fn answer(
    objects: &mut BTreeMap<String, Value>,
    method: &Method,
    path: &str,
    body: Value,
) -> (StatusCode, Value) {
    let fault = |code: StatusCode, reason: &str| {
        (
            code,
            json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code.as_u16(), "message": ""}),
        )
    };
    let name = if *method == Method::POST {
        format!(
            "{path}/{}",
            body["metadata"]["name"].as_str().unwrap_or_default()
        )
    } else {
        path.to_owned()
    };
    let version = |object: &Value| {
        object["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned)
    };
    match (method, objects.get(&name)) {
        (&Method::GET, Some(object)) => (StatusCode::OK, object.clone()),
        (&Method::GET, None) => fault(StatusCode::NOT_FOUND, "NotFound"),
        (&Method::POST, Some(_)) => fault(StatusCode::CONFLICT, "AlreadyExists"),
        (&Method::PUT, Some(object)) if version(object) != version(&body) => {
            fault(StatusCode::CONFLICT, "Conflict")
        }
        _ => {
            objects.insert(name, body.clone());
            (StatusCode::OK, body)
        }
    }
}

const SECRET: &str = "/api/v1/namespaces/sluice/secrets/admission";
const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/sluice-admission";

fn place() -> SecretRef {
    SecretRef {
        namespace: "sluice".to_owned(),
        name: "admission".to_owned(),
    }
}

fn trust(webhook: Option<&str>) -> Trust {
    Trust {
        webhook: webhook.map(str::to_owned),
        apiservice: None,
        validating: true,
        mutating: true,
        failure_policy: Some(FailurePolicy::Fail),
    }
}

async fn make(objects: &Objects, webhook: Option<&str>) {
    let wanted = Wanted {
        secret: place(),
        hosts: vec![
            "sluice-admission".to_owned(),
            "sluice-admission.sluice.svc".to_owned(),
        ],
        certificate_key: "cert".to_owned(),
        private_key_key: "key".to_owned(),
    };
    create(&api(objects), &wanted, &trust(webhook))
        .await
        .unwrap();
}

fn with_webhook() -> Objects {
    let webhook = |name: &str| {
        json!({"name": name, "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "sluice-admission", "namespace": "sluice"}}})
    };
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "sluice-admission", "resourceVersion": "7"},
        "webhooks": [webhook("a.sluice.example"), webhook("b.sluice.example")],
    });
    Arc::new(Mutex::new(BTreeMap::from([(
        VALIDATING.to_owned(),
        configuration,
    )])))
}

fn pem(objects: &Objects, key: &str) -> Vec<u8> {
    let secret: Secret = serde_json::from_value(objects.lock().unwrap()[SECRET].clone()).unwrap();
    secret.data.unwrap()[key].0.clone()
}

#[tokio::test]
async fn one_job_makes_the_certificate_and_has_it_trusted() {
    let objects = with_webhook();
    make(&objects, Some("sluice-admission")).await;
    let bundle = serde_json::to_value(ByteString(pem(&objects, "ca"))).unwrap();
    let configuration = objects.lock().unwrap()[VALIDATING].clone();
    for webhook in configuration["webhooks"].as_array().unwrap() {
        assert_eq!(
            (
                &webhook["clientConfig"]["caBundle"],
                &webhook["failurePolicy"]
            ),
            (&bundle, &json!("Fail"))
        );
        assert_eq!(
            webhook["clientConfig"]["service"]["name"], "sluice-admission",
            "the rest stays"
        );
    }
}

#[tokio::test]
async fn a_certificate_that_is_there_is_kept() {
    let objects = with_webhook();
    make(&objects, None).await;
    let first = pem(&objects, "cert");
    make(&objects, None).await;
    assert_eq!(pem(&objects, "cert"), first);
}

#[tokio::test]
async fn a_patch_without_a_secret_or_a_webhook_says_what_is_missing() {
    let objects = with_webhook();
    let patch = async |webhook| {
        patch(&api(&objects), &place(), &trust(webhook))
            .await
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        patch(Some("sluice-admission")).await,
        "Secret sluice/admission: not found"
    );
    make(&objects, None).await;
    assert_eq!(
        patch(Some("nope")).await,
        "ValidatingWebhookConfiguration nope: not found"
    );
    assert!(patch(None).await.starts_with("nothing to patch"));
}

#[tokio::test]
async fn the_certificate_is_valid_for_its_hosts_under_its_authority_for_a_century() {
    let objects = with_webhook();
    make(&objects, None).await;
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&pem(&objects, "ca")).unwrap())
        .unwrap();
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem(&objects, "cert")).unwrap();
    let valid = |host: &'static str, year: u64| {
        let now =
            UnixTime::since_unix_epoch(std::time::Duration::from_secs((year - 1970) * 31_557_600));
        let host = ServerName::try_from(host).unwrap();
        verifier
            .verify_server_cert(&certificate, &[], &host, &[], now)
            .is_ok()
    };
    for host in ["sluice-admission", "sluice-admission.sluice.svc"] {
        assert!(valid(host, 2115), "{host}");
    }
    assert!(!valid("other.sluice.svc", 2115) && !valid("sluice-admission", 2300));
    let key = PrivateKeyDer::from_pem_slice(&pem(&objects, "key")).unwrap();
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    server
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
}

const CONTROLLER: &str = "/api/v1/namespaces/sluice/secrets/xds-controller";
const DATA_PLANE: &str = "/api/v1/namespaces/sluice/secrets/xds-data-plane";

async fn xds(objects: &Objects) -> anyhow::Result<()> {
    let wanted = XdsSecrets {
        namespace: "sluice".to_owned(),
        controller: "xds-controller".to_owned(),
        data_plane: "xds-data-plane".to_owned(),
        hosts: vec!["sluice-controller.sluice.svc".to_owned()],
    };
    create_xds(&api(objects), &wanted).await
}

/// The three entries of a Secret.
fn entries(objects: &Objects, path: &str) -> BTreeMap<String, Vec<u8>> {
    let secret: Secret = serde_json::from_value(objects.lock().unwrap()[path].clone()).unwrap();
    let data = secret.data.unwrap().into_iter();
    data.map(|(key, value)| (key, value.0)).collect()
}

/// Both, each with the other's authority.
fn assert_pair(objects: &Objects) {
    let (server, client) = (entries(objects, CONTROLLER), entries(objects, DATA_PLANE));
    assert_eq!(server["ca.crt"], client["ca.crt"]);
    assert_ne!(server["tls.key"], client["tls.key"]);
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(&server["ca.crt"]).unwrap();
    roots.add(ca).unwrap();
    let roots = Arc::new(roots);
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
    let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
    let clients = WebPkiClientVerifier::builder_with_provider(roots, provider);
    let (servers, clients) = (servers.build().unwrap(), clients.build().unwrap());
    let name = ServerName::try_from("sluice-controller.sluice.svc").unwrap();
    let of = |entries: &BTreeMap<String, Vec<u8>>| {
        CertificateDer::from_pem_slice(&entries["tls.crt"]).unwrap()
    };
    let is_server = |entries| servers.verify_server_cert(&of(entries), &[], &name, &[], now);
    let is_client = |entries| clients.verify_client_cert(&of(entries), &[], now);
    is_server(&server).unwrap();
    is_client(&client).unwrap();
    assert!(is_server(&client).is_err() && is_client(&server).is_err());
}

#[tokio::test]
async fn xds_secrets_are_made_once_for_each_other() {
    let objects = Objects::default();
    xds(&objects).await.unwrap();
    assert_pair(&objects);
    let before = objects.lock().unwrap().clone();
    xds(&objects).await.unwrap();
    assert_eq!(*objects.lock().unwrap(), before);
}

#[tokio::test]
async fn an_xds_secret_without_the_other_is_made_again() {
    for lost in [CONTROLLER, DATA_PLANE] {
        let objects = Objects::default();
        xds(&objects).await.unwrap();
        objects.lock().unwrap().remove(lost);
        xds(&objects).await.unwrap();
        assert_pair(&objects);
    }
}

#[tokio::test]
async fn xds_secrets_of_two_jobs_become_those_of_one() {
    let (objects, others) = (Objects::default(), Objects::default());
    xds(&objects).await.unwrap();
    xds(&others).await.unwrap();
    let of_other = others.lock().unwrap()[DATA_PLANE].clone();
    objects
        .lock()
        .unwrap()
        .insert(DATA_PLANE.to_owned(), of_other);
    xds(&objects).await.unwrap();
    assert_pair(&objects);
}

#[tokio::test]
async fn xds_secrets_of_somebody_else_are_kept_or_named() {
    let objects = Objects::default();
    xds(&objects).await.unwrap();
    for path in [CONTROLLER, DATA_PLANE] {
        let mut objects = objects.lock().unwrap();
        let secret = objects.get_mut(path).unwrap();
        secret["metadata"]["labels"] = json!({});
        secret["data"]["ca.crt"] = json!(if path == CONTROLLER { "QUFB" } else { "QkJC" });
    }
    let before = objects.lock().unwrap().clone();
    xds(&objects).await.unwrap();
    assert_eq!(*objects.lock().unwrap(), before, "whole ones are kept");
    objects.lock().unwrap().remove(DATA_PLANE);
    let error = xds(&objects).await.unwrap_err().to_string();
    assert!(
        error.starts_with("Secret sluice/xds-controller: expected the other one"),
        "{error}"
    );
    assert_eq!(objects.lock().unwrap().len(), 1);
}
