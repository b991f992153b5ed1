//! OTLP over gRPC, without TLS, as Envoy sends it.

use std::net::Ipv6Addr;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use sluice_ir::{Collector, Tracing};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

const CONNECT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);

/// The connection to the collector, while it stays the same one.
#[derive(Default)]
pub(crate) struct Exporter(Option<(Collector, TraceServiceClient<Channel>)>);

/// Reason why spans did not arrive.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// The same spans may arrive later.
    pub(crate) may_pass: bool,
}

impl Exporter {
    /// Sends spans; how many of them the collector has rejected.
    pub(crate) async fn send(
        &mut self,
        tracing: &Tracing,
        spans: &[Span],
    ) -> Result<usize, Failure> {
        let request = message(&tracing.service, spans.to_vec());
        let client = self.client(&tracing.collector)?;
        // Before the channel's own: that one begins with the connection.
        let answer = tokio::time::timeout(TIMEOUT, client.export(request)).await;
        let answer = answer
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("no response within 10 seconds")))?;
        let partial = answer.into_inner().partial_success;
        let rejected = partial.map_or(0, |partial| partial.rejected_spans);
        Ok(usize::try_from(rejected).unwrap_or(0))
    }

    fn client(
        &mut self,
        collector: &Collector,
    ) -> Result<&mut TraceServiceClient<Channel>, Failure> {
        let known = self.0.take().filter(|(known, _)| known == collector);
        let connected = match known {
            Some(known) => known,
            None => (
                collector.clone(),
                TraceServiceClient::new(channel(collector)?),
            ),
        };
        Ok(&mut self.0.insert(connected).1)
    }
}

/// Its name is looked up whenever it connects.
fn channel(collector: &Collector) -> Result<Channel, Failure> {
    let Collector { host, port } = collector;
    let authority = match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]:{port}"),
        Err(_) => format!("{host}:{port}"),
    };
    let endpoint = Endpoint::from_shared(format!("http://{authority}"));
    let endpoint = endpoint.map_err(|error| Failure {
        reason: error.to_string(),
        may_pass: false,
    })?;
    // A collector that is gone without a word is noticed.
    let endpoint = endpoint
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(TIMEOUT)
        .keep_alive_timeout(CONNECT);
    Ok(endpoint.connect_lazy())
}

impl From<Status> for Failure {
    /// OTLP names the codes after which the same message may be sent again.
    fn from(status: Status) -> Self {
        let may_pass = matches!(
            status.code(),
            Code::Cancelled
                | Code::DeadlineExceeded
                | Code::Aborted
                | Code::OutOfRange
                | Code::Unavailable
                | Code::DataLoss
                | Code::Unknown
        );
        let cause = std::error::Error::source(&status).map(ToString::to_string);
        let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
        Failure {
            reason: format!("{}{cause}", status.message()),
            may_pass,
        }
    }
}

fn message(service: &str, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope {
        name: "sluice".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let resource = Resource {
        attributes: vec![attribute("service.name", service.to_owned())],
        ..Resource::default()
    };
    let scope_spans = ScopeSpans {
        scope: Some(scope),
        spans,
        ..ScopeSpans::default()
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![resource_spans],
    }
}

/// An attribute that is a text.
pub(crate) fn attribute(key: &str, text: String) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(text)),
        }),
        ..KeyValue::default()
    }
}
