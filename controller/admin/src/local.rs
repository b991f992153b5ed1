//! The endpoints that ingress-nginx has inside its nginx (`--status-port`), for `sluice dbg` and people with a shell in the
//! pod. Here they are on the admin socket.
//!
//! | path | answer |
//! |---|---|
//! | `/configuration/backends` | every backend, in ingress-nginx's JSON |
//! | `/configuration/general` | `{}`, as in ingress-nginx |
//! | `/configuration/certs?hostname=NAME` | the certificate chain of NAME; never a key |
//! | `/configuration/conf` | the whole configuration, in the place of nginx.conf |
//! | `/reports` | reports that hold |
//! | `/ingresses` | the paths that each Ingress serves |
//! | `/is-dynamic-lb-initialized` | 200 once something has been published, 500 before |
//! | `/nginx_status` | nginx's counters, or Envoy's in their format |
//! | `/dashboard` | URL of the dashboard, with its token |
//! | `/xds` | target versions of Envoys, their responses and NACKs |
//! | the health path | as on `--healthz-port` |
//! | `/debug/pprof/profile?seconds=N` | CPU profile of the controller for `go tool pprof` |
//!
//! Read only: configuration comes from the API server, so the POST requests of ingress-nginx are answered with 400; that of backends
//! with 403 without `--admin-writes`.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use sluice_ir::{Config, SecretValue, ServerName};
use sluice_translate::ObjectKey;
use sluice_xds_server::Store;

use super::backends;
use super::health::Health;
use super::posted;
use super::public::healthz;
use super::reply::json;
use super::{ingresses, profile, xds};
use sluice_metrics::DataPlane;
use sluice_state::{Posts, View};

/// Inputs of the answers.
#[derive(Clone)]
pub struct Local {
    /// Objects and their translation.
    pub view: View,
    /// Health of the controller.
    pub health: Health,
    /// Metrics of the data plane.
    pub data_plane: DataPlane,
    /// `--default-backend-service`
    pub default_service: Option<ObjectKey>,
    /// The chain that hosts without a certificate of their own present.
    pub default_chain: String,
    /// Resources published to Envoys.
    pub store: Store,
    /// URL of the dashboard, with its token; `None`: there is none.
    pub dashboard: Option<String>,
    /// Takes backends that are posted; `None`: nothing is changed here.
    pub posts: Option<Posts>,
}

pub(super) fn router(local: Local, health_path: &str) -> Router {
    let store = local.store.clone();
    let health = get(healthz).with_state(local.health.clone());
    Router::new()
        .route("/configuration/{name}", any(configuration))
        .route("/reports", get(reports))
        .route("/ingresses", get(served))
        .route("/is-dynamic-lb-initialized", get(is_initialized))
        .route("/nginx_status", get(nginx_status))
        .route("/dashboard", get(dashboard))
        .with_state(local)
        .merge(profile::router())
        .merge(xds::router(store))
        .route(health_path, health)
}

/// The checks and their order are ingress-nginx's.
async fn configuration(
    State(local): State<Local>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    method: Method,
    body: Body,
) -> Response {
    let bad = |text: &'static str| (StatusCode::BAD_REQUEST, text).into_response();
    let is_get = method == Method::GET;
    if !is_get && method != Method::POST {
        return bad("Only POST and GET requests are allowed!");
    }
    match name.as_str() {
        "servers" if is_get => bad("Only POST requests are allowed!"),
        "certs" if !is_get => bad("Only GET requests are allowed!"),
        "servers" | "general" | "conf" if !is_get => {
            bad("Read only: configuration comes from the API server.")
        }
        "backends" if !is_get => {
            let default = local.default_service.as_ref();
            let names = backends::ids_by_name(local.view.snapshot().config(), default);
            posted::take(local.posts.as_ref(), &names, body).await
        }
        "backends" => {
            let default = local.default_service.as_ref();
            let config = posted::served(local.view.snapshot().config(), local.posts.as_ref());
            json(&backends::upstreams(
                &config,
                &local.view.resources(),
                default,
            ))
        }
        "general" => json(&serde_json::json!({})),
        "conf" => json(local.view.snapshot().config()),
        "certs" => certificate(&local, query.as_deref().unwrap_or_default()),
        _ => (StatusCode::NOT_FOUND, "Not found!").into_response(),
    }
}

fn certificate(local: &Local, query: &str) -> Response {
    let hostname = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("hostname="));
    match hostname {
        None => (StatusCode::BAD_REQUEST, "Hostname must be specified.").into_response(),
        Some(name) => match chain_of(local.view.snapshot().config(), name) {
            Some(chain) => chain.to_owned().into_response(),
            None if name == "_" => local.default_chain.clone().into_response(),
            None => (
                StatusCode::NOT_FOUND,
                "No key associated with this hostname.",
            )
                .into_response(),
        },
    }
}

/// The chain of a host, or of the wildcard that it falls under; `_` is the operator's default.
fn chain_of<'a>(config: &'a Config, name: &str) -> Option<&'a str> {
    let certificate = match name {
        "_" => config.default_certificate.as_ref(),
        host => {
            let exact = ServerName::parse(host).ok();
            let wildcard = host
                .split_once('.')
                .and_then(|(_, rest)| ServerName::parse(&format!("*.{rest}")).ok());
            let names = [exact, wildcard].into_iter().flatten();
            names
                .filter_map(|name| config.tls.get(&name))
                .find_map(|host| host.certificate.as_ref())
        }
    };
    match config.secrets.get(certificate?)? {
        SecretValue::Certificate { chain, .. } => Some(chain),
        SecretValue::Authorities { .. } => None,
    }
}

async fn reports(State(local): State<Local>) -> Response {
    json(&local.view.snapshot().reports())
}

async fn served(State(local): State<Local>) -> Response {
    json(&ingresses::served(&local.view.snapshot()))
}

async fn is_initialized(State(local): State<Local>) -> (StatusCode, &'static str) {
    if local.health.is_initialized() {
        (StatusCode::OK, "OK")
    } else {
        (StatusCode::INTERNAL_SERVER_ERROR, "ERROR")
    }
}

async fn nginx_status(State(local): State<Local>) -> (StatusCode, String) {
    let Some(now) = local.data_plane.connections().await else {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "no data plane of this controller answers\n".to_owned(),
        );
    };
    (StatusCode::OK, now.stub_status())
}

async fn dashboard(State(local): State<Local>) -> (StatusCode, String) {
    match local.dashboard {
        Some(url) => (StatusCode::OK, url),
        None => (
            StatusCode::NOT_FOUND,
            "there is no dashboard: start the controller with --dashboard-port".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{HostTls, SecretId, Sensitive};

    use super::*;

    #[test]
    fn a_host_shows_its_chain_or_that_of_its_wildcard_and_never_a_key() {
        let mut config = Config::default();
        for (host, name) in [("a.example", "own"), ("*.example", "wild")] {
            let id = SecretId::new(format!("default/{name}"));
            let value = SecretValue::Certificate {
                chain: name.to_owned(),
                key: Sensitive::new("K".to_owned()),
            };
            config.secrets.insert(id.clone(), value);
            let host_tls = HostTls {
                certificate: Some(id),
                ..HostTls::default()
            };
            config
                .tls
                .insert(ServerName::parse(host).unwrap(), host_tls);
        }
        config.default_certificate = Some(SecretId::new("default/wild"));
        for (name, chain) in [
            ("a.example", Some("own")),
            ("A.Example", Some("own")),
            ("b.example", Some("wild")),
            ("c.b.example", None),
            ("_", Some("wild")),
            ("", None),
        ] {
            assert_eq!(chain_of(&config, name), chain, "{name:?}");
        }
    }
}
