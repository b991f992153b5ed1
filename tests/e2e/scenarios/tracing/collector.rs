//! A collector of spans: OTLP over gRPC, which is a POST over HTTP/2 with a length before the message.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;
use sluice_tests::ports::Port;
use sluice_tests::wait;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/// Of gRPC: whether the message is compressed, and its length.
const PREFIX: usize = 5;

/// A span of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) service: String,
    pub(crate) name: String,
    /// In hexadecimal, as in a header.
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) attributes: BTreeMap<String, String>,
}

/// Listens until it is dropped.
pub(crate) struct Collector {
    pub(crate) port: Port,
    spans: Arc<Mutex<Vec<Span>>>,
    task: JoinHandle<()>,
}

impl Collector {
    pub(crate) async fn start() -> Result<Collector> {
        Collector::at(Port::reserve()?).await
    }

    /// Listens on a port that nobody listened on so far.
    pub(crate) async fn at(port: Port) -> Result<Collector> {
        let listener = TcpListener::bind(port.addr()).await.context("collector")?;
        let spans = Arc::new(Mutex::default());
        let task = tokio::spawn(accept(listener, Arc::clone(&spans)));
        Ok(Collector { port, spans, task })
    }

    /// Spans are sent in the order in which requests end: with this one, all before it are here.
    pub(crate) async fn wait_for(&self, target: &str) -> Result<Span> {
        let of_target = |span: &Span| {
            span.attributes
                .get("http.target")
                .is_some_and(|it| it == target)
        };
        let sent = async || self.spans().into_iter().find(of_target);
        Ok(wait::until(&format!("the span of {target}"), sent).await?.0)
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.spans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, spans: Arc<Mutex<Vec<Span>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let spans = Arc::clone(&spans);
        tokio::spawn(async move {
            let service = service_fn(move |request| export(request, Arc::clone(&spans)));
            // An Envoy that ends breaks its connection off.
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn export(
    request: Request<Incoming>,
    spans: Arc<Mutex<Vec<Span>>>,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>> {
    anyhow::ensure!(request.uri().path() == EXPORT, "{}", request.uri());
    let body = request.into_body().collect().await?.to_bytes();
    let message = body
        .get(PREFIX..)
        .context("shorter than the prefix of a message")?;
    let told = ExportTraceServiceRequest::decode(message)?;
    let read = told.resource_spans.iter().flat_map(spans_of_service);
    spans
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .extend(read);
    let mut status = HeaderMap::new();
    status.insert("grpc-status", "0".parse()?);
    // An empty message says that all was taken.
    let body =
        Full::new(Bytes::from_static(&[0; PREFIX])).with_trailers(async { Some(Ok(status)) });
    Ok(Response::builder()
        .header(CONTENT_TYPE, "application/grpc")
        .body(body)?)
}

fn spans_of_service(resource: &ResourceSpans) -> impl Iterator<Item = Span> + '_ {
    let of_resource = resource
        .resource
        .iter()
        .flat_map(|resource| &resource.attributes);
    let service = string_attributes(of_resource)
        .remove("service.name")
        .unwrap_or_default();
    let spans = resource.scope_spans.iter().flat_map(|scope| &scope.spans);
    spans.map(move |span| Span {
        service: service.clone(),
        name: span.name.clone(),
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        attributes: string_attributes(&span.attributes),
    })
}

fn string_attributes<'a>(
    attributes: impl IntoIterator<Item = &'a KeyValue>,
) -> BTreeMap<String, String> {
    let text = |attribute: &KeyValue| match attribute.value.clone()?.value? {
        Value::StringValue(text) => Some((attribute.key.clone(), text)),
        _ => None,
    };
    attributes.into_iter().filter_map(text).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
