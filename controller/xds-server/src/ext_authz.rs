//! External authorization service (ext_authz): Envoy asks it about requests before they go on.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{
    Authorization, AuthorizationServer,
};
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{
    CheckRequest, CheckResponse, DeniedHttpResponse, OkHttpResponse,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};
use envoy_types::pb::google::rpc;
use futures::future::BoxFuture;
use sluice_xds::{
    CLIENT_METADATA, ISSUER_METADATA, PATH_HEADER, ROUTE_METADATA, SIGN_IN_KEY, SUBJECT_METADATA,
    VERIFY_METADATA,
};
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::{Request as Rpc, Response, Status};

/// The head of a request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuthzRequest {
    /// The route that takes it, by its id.
    pub route: String,
    /// Client address, from trusted headers only.
    pub client: Option<IpAddr>,
    /// `GET`, `POST` ...
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The `Host` header.
    pub host: String,
    /// The path and the query.
    pub path: String,
    /// Names in lower case, in the order of the request; without what begins with a colon.
    pub headers: Vec<(String, Vec<u8>)>,
    /// On hosts that verify client certificates.
    pub certificate: Option<ClientCertificate>,
}

/// Client certificate of a connection, as pods hear of it. What there is not is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Result of the verification: `SUCCESS`, `NONE` or what begins with `FAILED`.
    pub verify: String,
    /// Its subject (RFC 2253).
    pub subject: String,
    /// The subject of its issuer.
    pub issuer: String,
    /// The certificate, PEM with escapes of URLs, where it is forwarded.
    pub pem: String,
}

/// Decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthzDecision {
    /// It goes on.
    Allow(Changes),
    /// It is answered at once.
    Deny {
        /// The status.
        status: u16,
        /// Headers of the answer, in this order.
        headers: Vec<(String, String)>,
    },
}

/// Header changes on an allowed request and on its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Headers that the pod sees, instead of the client's.
    pub set: Vec<(String, String)>,
    /// Headers that the pod does not see.
    pub remove: Vec<String>,
    /// Headers that are added to the answer.
    pub answer: Vec<(String, String)>,
    /// URL that the client is sent to if the pod answers 401.
    pub sign_in: Option<String>,
}

impl AuthzRequest {
    /// The first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_slice())
    }
}

impl fmt::Debug for AuthzRequest {
    /// Headers hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthzRequest")
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

type Decide = dyn Fn(AuthzRequest) -> BoxFuture<'static, AuthzDecision> + Send + Sync;

/// The authorization service.
#[derive(Clone)]
pub struct AuthzService(Arc<Decide>);

impl AuthzService {
    /// `decide` may take its time; each request has a call of its own.
    pub fn new(
        decide: impl Fn(AuthzRequest) -> BoxFuture<'static, AuthzDecision> + Send + Sync + 'static,
    ) -> Self {
        AuthzService(Arc::new(decide))
    }

    /// Adds the service to `routes`.
    #[must_use]
    pub fn merge_into(self, routes: Routes) -> Routes {
        routes.add_service(AuthorizationServer::new(self))
    }
}

impl fmt::Debug for AuthzService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthzService")
    }
}

#[tonic::async_trait]
impl Authorization for AuthzService {
    async fn check(&self, rpc: Rpc<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let (metadata, _, request) = rpc.into_parts();
        let check =
            read(&metadata, request).ok_or_else(|| Status::invalid_argument("no request in it"))?;
        Ok(Response::new(answer((self.0)(check).await)))
    }
}

fn read(metadata: &MetadataMap, request: CheckRequest) -> Option<AuthzRequest> {
    let text = |key| {
        metadata
            .get(key)
            .and_then(|value| String::from_utf8(value.as_bytes().to_vec()).ok())
    };
    let attributes = request.attributes?;
    let peer = attributes.source.unwrap_or_default();
    let certificate = text(VERIFY_METADATA).map(|verify| ClientCertificate {
        verify,
        subject: text(SUBJECT_METADATA).unwrap_or_default(),
        issuer: text(ISSUER_METADATA).unwrap_or_default(),
        pem: peer.certificate,
    });
    let http = attributes.request?.http?;
    let headers = headers(http.header_map.unwrap_or_default());
    // Where the path was decoded for the look-up of the route: as the client has sent it.
    let sent = headers.iter().find(|(name, _)| name == PATH_HEADER);
    let sent = sent.and_then(|(_, path)| String::from_utf8(path.clone()).ok());
    Some(AuthzRequest {
        route: text(ROUTE_METADATA)?,
        client: text(CLIENT_METADATA).and_then(|address| address.parse().ok()),
        method: http.method,
        scheme: http.scheme,
        host: http.host,
        path: sent.unwrap_or(http.path),
        headers,
        certificate,
    })
}

fn headers(map: HeaderMap) -> Vec<(String, Vec<u8>)> {
    let named = map
        .headers
        .into_iter()
        .filter(|header| !header.key.starts_with(':'));
    named
        .map(
            |HeaderValue {
                 key,
                 value,
                 raw_value,
             }| {
                (
                    key.to_ascii_lowercase(),
                    if raw_value.is_empty() {
                        value.into_bytes()
                    } else {
                        raw_value
                    },
                )
            },
        )
        .collect()
}

fn answer(decision: AuthzDecision) -> CheckResponse {
    let mut metadata = None;
    let (code, response) = match decision {
        AuthzDecision::Allow(Changes {
            set,
            remove,
            answer,
            sign_in,
        }) => {
            metadata = sign_in.map(sign_in_metadata);
            let response = OkHttpResponse {
                headers: all(set, HeaderAppendAction::OverwriteIfExistsOrAdd),
                headers_to_remove: remove,
                response_headers_to_add: all(answer, HeaderAppendAction::AppendIfExistsOrAdd),
                ..OkHttpResponse::default()
            };
            (tonic::Code::Ok, HttpResponse::OkResponse(response))
        }
        AuthzDecision::Deny { status, headers } => {
            let response = DeniedHttpResponse {
                status: Some(HttpStatus {
                    code: status.into(),
                }),
                headers: all(headers, HeaderAppendAction::AppendIfExistsOrAdd),
                ..DeniedHttpResponse::default()
            };
            (
                tonic::Code::PermissionDenied,
                HttpResponse::DeniedResponse(response),
            )
        }
    };
    let status = rpc::Status {
        code: code as i32,
        ..rpc::Status::default()
    };
    CheckResponse {
        status: Some(status),
        http_response: Some(response),
        dynamic_metadata: metadata,
    }
}

fn sign_in_metadata(url: String) -> Struct {
    let url = Value {
        kind: Some(Kind::StringValue(url)),
    };
    Struct {
        fields: [(SIGN_IN_KEY.to_owned(), url)].into(),
    }
}

/// Envoy takes no raw values here, though there is a field for them.
fn all(headers: Vec<(String, String)>, action: HeaderAppendAction) -> Vec<HeaderValueOption> {
    let option = |(key, value)| HeaderValueOption {
        header: Some(HeaderValue {
            key,
            value,
            ..HeaderValue::default()
        }),
        append_action: action.into(),
        ..HeaderValueOption::default()
    };
    headers.into_iter().map(option).collect()
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::service::auth::v3::AttributeContext;
    use envoy_types::pb::envoy::service::auth::v3::attribute_context::{
        HttpRequest, Peer, Request,
    };

    use super::*;

    fn request() -> CheckRequest {
        let header = |key: &str, raw: &[u8]| HeaderValue {
            key: key.to_owned(),
            raw_value: raw.to_vec(),
            ..HeaderValue::default()
        };
        let headers = vec![
            header(":path", b"/x"),
            header("Cookie", b"a"),
            header("cookie", b"\xff"),
        ];
        let http = HttpRequest {
            path: "/x".to_owned(),
            header_map: Some(HeaderMap { headers }),
            ..HttpRequest::default()
        };
        let request = Request {
            http: Some(http),
            ..Request::default()
        };
        CheckRequest {
            attributes: Some(AttributeContext {
                request: Some(request),
                source: Some(Peer {
                    certificate: "PEM".to_owned(),
                    ..Peer::default()
                }),
                ..AttributeContext::default()
            }),
        }
    }

    #[test]
    fn a_request_is_of_the_route_that_envoy_names() {
        let mut metadata = MetadataMap::new();
        assert!(
            read(&metadata, request()).is_none(),
            "it is not known which route it is for"
        );
        metadata.insert(ROUTE_METADATA, "a.example/".parse().unwrap());
        metadata.insert(CLIENT_METADATA, "10.1.2.3".parse().unwrap());
        let check = read(&metadata, request()).unwrap();
        assert_eq!(
            (check.route.as_str(), check.client),
            ("a.example/", "10.1.2.3".parse().ok())
        );
        let headers = [
            ("cookie".to_owned(), b"a".to_vec()),
            ("cookie".to_owned(), b"\xff".to_vec()),
        ];
        assert_eq!(check.headers, headers);
        assert!(!format!("{check:?}").contains("cookie"));
    }

    #[test]
    fn a_certificate_is_told_where_the_result_of_its_verification_is() {
        let read = |pairs: &[(&'static str, &'static str)]| {
            let mut metadata = MetadataMap::new();
            for (key, value) in pairs {
                metadata.insert(*key, value.parse().unwrap());
            }
            read(&metadata, request()).unwrap().certificate
        };
        let told = [(ROUTE_METADATA, "a/"), (SUBJECT_METADATA, "CN=a")];
        assert_eq!(read(&told), None);
        let certificate = read(&[told[0], told[1], (VERIFY_METADATA, "SUCCESS")]);
        let expected = ClientCertificate {
            verify: "SUCCESS".to_owned(),
            subject: "CN=a".to_owned(),
            issuer: String::new(),
            pem: "PEM".to_owned(),
        };
        assert_eq!(certificate, Some(expected));
    }

    #[test]
    fn metadata_of_a_request_has_its_sign_in_page() {
        let url = |sign_in: Option<&str>| {
            let changes = Changes {
                sign_in: sign_in.map(str::to_owned),
                ..Changes::default()
            };
            let metadata = answer(AuthzDecision::Allow(changes)).dynamic_metadata?;
            metadata.fields.get(SIGN_IN_KEY)?.kind.clone()
        };
        let said = Kind::StringValue("http://login.test/".to_owned());
        assert_eq!(url(Some("http://login.test/")), Some(said));
        assert_eq!(url(None), None);
    }

    #[test]
    fn only_an_allowed_request_is_ok() {
        let code = |decision| answer(decision).status.unwrap().code;
        assert_eq!(code(AuthzDecision::Allow(Changes::default())), 0);
        assert_ne!(
            code(AuthzDecision::Deny {
                status: 200,
                headers: Vec::new()
            }),
            0
        );
    }
}
