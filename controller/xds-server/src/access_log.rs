//! Access logs of requests that Envoys have served (gRPC access log service).

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::socket_address::PortSpecifier;
use envoy_types::pb::envoy::config::core::v3::{Address, Metadata, RequestMethod, address};
use envoy_types::pb::envoy::data::accesslog::v3::{AccessLogCommon, HttpAccessLogEntry};
use envoy_types::pb::envoy::service::accesslog::v3::access_log_service_server::{
    self, AccessLogServiceServer,
};
use envoy_types::pb::envoy::service::accesslog::v3::stream_access_logs_message::LogEntries;
use envoy_types::pb::envoy::service::accesslog::v3::{
    StreamAccessLogsMessage, StreamAccessLogsResponse,
};
use envoy_types::pb::google::protobuf::{self, value};
use sluice_xds::{CONNECTING_TAG, EJECTIONS_TAG, ROUTE_KEY};
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use tracing::debug;

use crate::Ejection;

/// A request that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLogEntry {
    /// The route that took it, by its id; empty: none.
    pub route: String,
    /// The backend that answered, by its id; empty: none.
    pub backend: String,
    /// The endpoint that answered, or was asked last.
    pub endpoint: Option<SocketAddr>,
    /// `GET`, `POST` ...; empty for one that Envoy has no name for.
    pub method: &'static str,
    /// The status of the answer; 0 when there was none.
    pub status: u16,
    /// All of it, from the first byte of the client to the last byte for the client.
    pub duration: Option<Duration>,
    /// Time to connect to the upstream: zero on a reused connection.
    pub connecting: Option<Duration>,
    /// From the first byte to the pod to the first byte of the pod.
    pub to_header: Option<Duration>,
    /// From the first byte to the pod to the last byte of the pod.
    pub to_end: Option<Duration>,
    /// Bytes received from the client, with headers.
    pub received: u64,
    /// Bytes sent to the client, with headers.
    pub sent: u64,
    /// Endpoints that its worker has ejected since the request before.
    pub ejections: Vec<Ejection>,
}

type Listener = dyn Fn(&[AccessLogEntry]) + Send + Sync;

/// Receiver of access logs.
#[derive(Clone)]
pub struct AccessLogService(Arc<Listener>);

impl AccessLogService {
    /// `listener` is called with some at a time, and should not take long.
    pub fn new(listener: impl Fn(&[AccessLogEntry]) + Send + Sync + 'static) -> Self {
        AccessLogService(Arc::new(listener))
    }

    /// Adds the service to others.
    #[must_use]
    pub fn merge_into(self, routes: Routes) -> Routes {
        routes.add_service(AccessLogServiceServer::new(self))
    }
}

impl fmt::Debug for AccessLogService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessLogService")
    }
}

#[tonic::async_trait]
impl access_log_service_server::AccessLogService for AccessLogService {
    async fn stream_access_logs(
        &self,
        messages: Request<Streaming<StreamAccessLogsMessage>>,
    ) -> Result<Response<StreamAccessLogsResponse>, Status> {
        let mut messages = messages.into_inner();
        loop {
            match messages.message().await {
                Ok(Some(StreamAccessLogsMessage {
                    log_entries: Some(LogEntries::HttpLogs(logs)),
                    ..
                })) => {
                    let requests: Vec<AccessLogEntry> = logs
                        .log_entry
                        .into_iter()
                        .map(AccessLogEntry::from)
                        .collect();
                    (self.0)(&requests);
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Response::new(StreamAccessLogsResponse {})),
                Err(status) => {
                    debug!("requests: {status}");
                    return Err(status);
                }
            }
        }
    }
}

impl From<HttpAccessLogEntry> for AccessLogEntry {
    fn from(entry: HttpAccessLogEntry) -> Self {
        let common = entry.common_properties.unwrap_or_default();
        let request = entry.request.unwrap_or_default();
        let response = entry.response.unwrap_or_default();
        let status = response
            .response_code
            .and_then(|code| u16::try_from(code.value).ok());
        AccessLogEntry {
            method: name(request.request_method),
            status: status.unwrap_or_default(),
            duration: length(common.duration.as_ref()),
            connecting: connecting(&common),
            to_header: since_pod(&common, common.time_to_first_upstream_rx_byte.as_ref()),
            to_end: since_pod(&common, common.time_to_last_upstream_rx_byte.as_ref()),
            received: request.request_headers_bytes + request.request_body_bytes,
            sent: response.response_headers_bytes + response.response_body_bytes,
            ejections: ejections(&common),
            route: route(common.metadata.as_ref()).unwrap_or(common.route_name),
            endpoint: socket(common.upstream_remote_address.as_ref()),
            backend: common.upstream_cluster,
        }
    }
}

/// Route of a logged request. An error service has another one in the end than the request had.
fn route(metadata: Option<&Metadata>) -> Option<String> {
    match &metadata?
        .filter_metadata
        .get("sluice")?
        .fields
        .get(ROUTE_KEY)?
        .kind
    {
        Some(value::Kind::StringValue(id)) => Some(id.clone()),
        _ => None,
    }
}

fn socket(address: Option<&Address>) -> Option<SocketAddr> {
    let Some(address::Address::SocketAddress(socket)) = &address?.address else {
        return None;
    };
    let Some(PortSpecifier::PortValue(port)) = socket.port_specifier else {
        return None;
    };
    let ip = socket.address.parse().ok()?;
    Some(SocketAddr::new(ip, u16::try_from(port).ok()?))
}

fn name(method: i32) -> &'static str {
    match RequestMethod::try_from(method) {
        Ok(RequestMethod::MethodUnspecified) | Err(_) => "",
        Ok(method) => method.as_str_name(),
    }
}

fn length(duration: Option<&protobuf::Duration>) -> Option<Duration> {
    let duration = duration?;
    Some(Duration::new(
        u64::try_from(duration.seconds).ok()?,
        u32::try_from(duration.nanos).ok()?,
    ))
}

/// Only of requests that have reached a pod.
fn connecting(common: &AccessLogCommon) -> Option<Duration> {
    common.time_to_first_upstream_tx_byte.as_ref()?;
    let tag = common
        .custom_tags
        .get(CONNECTING_TAG)
        .map(String::as_str)
        .unwrap_or_default();
    let micros = tag.split_once('/').and_then(|(begun, took)| {
        // Only a connection that was begun after the request has cost it something.
        begun.parse::<u64>().ok()?;
        took.parse().ok()
    });
    Some(Duration::from_micros(micros.unwrap_or_default()))
}

fn ejections(common: &AccessLogCommon) -> Vec<Ejection> {
    let told = common.custom_tags.get(EJECTIONS_TAG);
    told.map_or_else(Vec::new, |told| Ejection::parse_list(told))
}

fn since_pod(common: &AccessLogCommon, then: Option<&protobuf::Duration>) -> Option<Duration> {
    length(then)?.checked_sub(length(common.time_to_first_upstream_tx_byte.as_ref())?)
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::data::accesslog::v3::{
        HttpRequestProperties, HttpResponseProperties,
    };
    use envoy_types::pb::google::protobuf::UInt32Value;

    use super::*;

    fn millis(millis: i32) -> Option<protobuf::Duration> {
        Some(protobuf::Duration {
            seconds: 0,
            nanos: millis * 1_000_000,
        })
    }

    #[test]
    fn times_of_the_pod_begin_when_it_was_asked() {
        let common = AccessLogCommon {
            duration: millis(9),
            time_to_first_upstream_tx_byte: millis(2),
            time_to_first_upstream_rx_byte: millis(5),
            route_name: "a.example/".to_owned(),
            ..AccessLogCommon::default()
        };
        let response = HttpResponseProperties {
            response_code: Some(UInt32Value { value: 201 }),
            response_headers_bytes: 40,
            response_body_bytes: 2,
            ..HttpResponseProperties::default()
        };
        let request = HttpRequestProperties {
            request_method: RequestMethod::Post.into(),
            ..HttpRequestProperties::default()
        };
        let entry = HttpAccessLogEntry {
            common_properties: Some(common),
            request: Some(request),
            response: Some(response),
            ..HttpAccessLogEntry::default()
        };
        let expected = AccessLogEntry {
            route: "a.example/".to_owned(),
            method: "POST",
            status: 201,
            duration: Some(Duration::from_millis(9)),
            connecting: Some(Duration::ZERO),
            to_header: Some(Duration::from_millis(3)),
            sent: 42,
            ..AccessLogEntry::default()
        };
        assert_eq!(AccessLogEntry::from(entry), expected);
        assert_eq!(
            AccessLogEntry::from(HttpAccessLogEntry::default()),
            AccessLogEntry::default()
        );
    }

    #[test]
    fn only_a_connection_that_was_begun_for_a_request_has_cost_it_something() {
        let micros = |tag: &str| {
            let custom_tags = [(CONNECTING_TAG.to_owned(), tag.to_owned())].into();
            let asked = millis(1);
            let common = AccessLogCommon {
                time_to_first_upstream_tx_byte: asked,
                custom_tags,
                ..Default::default()
            };
            connecting(&common).map(|took| took.as_micros())
        };
        assert_eq!(micros("120/80"), Some(80));
        for kept in ["", "/80", "-/80", "-120/80", "/", "120/"] {
            assert_eq!(micros(kept), Some(0), "{kept:?}");
        }
        assert_eq!(connecting(&AccessLogCommon::default()), None);
    }
}
