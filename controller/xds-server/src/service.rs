//! The gRPC service over HTTP, in the place of tonic's own, which encodes a response as a whole before the client has read any
//! of it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http_body::Frame;
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::codec::{DecodeBuf, Decoder};
use tonic::codegen::http::header::CONTENT_TYPE;
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response as HttpResponse};
use tonic::codegen::{Body as HttpBody, Service as HttpService};
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::{Status, Streaming};

use crate::store::Store;
use crate::stream::Stream;
use sluice_xds_delta::{Encoder, Response};

const NAME: &str = "envoy.service.discovery.v3.AggregatedDiscoveryService";
const DELTA: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// Responses that wait for a slow client. There is one in flight for each type, so more never come.
const WAITING: usize = 8;
/// A client that reconnects lists all that it has; 100,000 resources are about 10 MB.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// One stream, from its first request to its end.
pub type Session = BoxFuture<'static, ()>;

/// The service over a store, to be mounted in a router. `spawn` starts a session: it takes as long as a client is there.
#[must_use]
pub fn discovery_service(store: &Store, spawn: impl Fn(Session) + Send + Sync + 'static) -> Routes {
    Routes::new(Service {
        store: store.clone(),
        spawn: Arc::new(spawn),
    })
}

/// The service, cloned for each connection.
struct Service<S> {
    store: Store,
    spawn: Arc<S>,
}

impl<S> Clone for Service<S> {
    fn clone(&self) -> Self {
        Service {
            store: self.store.clone(),
            spawn: Arc::clone(&self.spawn),
        }
    }
}

impl<S> NamedService for Service<S> {
    const NAME: &'static str = NAME;
}

impl<S: Fn(Session)> HttpService<Request<Body>> for Service<S> {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Ready<Result<HttpResponse<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let response = if request.uri().path() == DELTA {
            self.open(request.into_body())
        } else {
            let status = "only delta xDS is served: set api_type DELTA_GRPC in ads_config";
            Status::unimplemented(status).into_http()
        };
        ready(Ok(response))
    }
}

impl<S: Fn(Session)> Service<S> {
    fn open(&self, requests: Body) -> HttpResponse<Body> {
        let (responses, waiting) = mpsc::channel(WAITING);
        let stream = Stream::new(&self.store, responses);
        let requests = Streaming::new_request(Requests, requests, None, Some(LARGEST_REQUEST));
        (self.spawn)(stream.run(requests).boxed());
        let body = Body::new(Responses {
            waiting,
            current: None,
            has_ended: false,
        });
        let mut response = HttpResponse::new(body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        response
    }
}

/// Decodes what a client sends.
struct Requests;

impl Decoder for Requests {
    type Item = DeltaDiscoveryRequest;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        let request = DeltaDiscoveryRequest::decode(bytes);
        request
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

/// The body of responses, encoded as fast as a client reads.
struct Responses {
    waiting: mpsc::Receiver<Result<Response, Status>>,
    current: Option<Encoder>,
    has_ended: bool,
}

impl Responses {
    fn end(&mut self, status: &Status) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.has_ended = true;
        let mut trailers = HeaderMap::new();
        let added = status.add_header(&mut trailers);
        Poll::Ready(Some(added.map(|()| Frame::trailers(trailers))))
    }
}

impl HttpBody for Responses {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if self.has_ended {
                return Poll::Ready(None);
            }
            if let Some(piece) = self.current.as_mut().and_then(Iterator::next) {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            self.current = None;
            match std::task::ready!(self.waiting.poll_recv(context)) {
                Some(Ok(response)) => match Encoder::new(response) {
                    Some(encoder) => self.current = Some(encoder),
                    None => return self.end(&Status::out_of_range("a response of 4 GiB")),
                },
                Some(Err(status)) => return self.end(&status),
                None => return self.end(&Status::ok("")),
            }
        }
    }
}
