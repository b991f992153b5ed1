//! External processing service (ext_proc): Envoy shows it requests and responses, part by part, and waits for each verdict.
//!
//! A stream that ends without an error lets the rest of a request through. So it ends when Envoy ends it, or with an error.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::ProcessingMode;
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::{
    BodySendMode, HeaderSendMode,
};
use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::{
    ExternalProcessor, ExternalProcessorServer,
};
use envoy_types::pb::envoy::service::ext_proc::v3::processing_request::Request;
use envoy_types::pb::envoy::service::ext_proc::v3::processing_response::Response as Answer;
use envoy_types::pb::envoy::service::ext_proc::v3::{
    BodyResponse, HeaderMutation, HeadersResponse, HttpBody, HttpHeaders, ImmediateResponse,
    ProcessingRequest, ProcessingResponse, TrailersResponse,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use futures::stream::{self, Stream};
use sluice_xds::{
    CLIENT_METADATA, PATH_HEADER, PROTOCOL_METADATA, RULES_METADATA, SERVER_METADATA,
    TRANSACTION_METADATA,
};
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::{Request as Rpc, Response, Status, Streaming};

/// Path of the service.
pub const EXT_PROC_PATH: &str = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";
/// Largest message: a body of 128 MiB, and what is around it.
const LARGEST: usize = (128 << 20) + (1 << 20);
/// Headers of ours, which are no part of the request.
const OUR_HEADERS: &str = "x-sluice-";

/// A request, before its first part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Name of the rules.
    pub rules: String,
    /// Its id in logs, if there is one.
    pub id: Option<String>,
    /// The client.
    pub client: SocketAddr,
    /// The address that it connected to.
    pub server: SocketAddr,
    /// `HTTP/1.1` ...
    pub protocol: String,
}

/// Headers, with names in lower case.
pub type Headers = Vec<(String, Vec<u8>)>;

/// A part of a request or of its response, in this order.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// Everything before the body of a request.
    Request {
        /// `GET`, `POST` ...
        method: Vec<u8>,
        /// The path and the query, as they were sent.
        target: Vec<u8>,
        /// With `host`.
        headers: Headers,
        /// There is no body.
        is_last: bool,
    },
    /// The body of a request.
    RequestBody {
        /// As much as was kept.
        bytes: Vec<u8>,
        /// It is all.
        is_last: bool,
    },
    /// Everything before the body of a response.
    Response {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: Headers,
        /// There is no body.
        is_last: bool,
    },
    /// A part of the body of a response.
    ResponseBody {
        /// In their order.
        bytes: Vec<u8>,
        /// It is the last.
        is_last: bool,
    },
}

impl fmt::Debug for Part {
    /// Requests hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Request { .. } => "Request",
            Part::RequestBody { .. } => "RequestBody",
            Part::Response { .. } => "Response",
            Part::ResponseBody { .. } => "ResponseBody",
        })
    }
}

/// Verdict on a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Continue,
    /// It goes on, and its body does so without being shown.
    WithoutBody,
    /// It goes on, and its body is shown. Of a response only: requests say so from the beginning.
    WithBody,
    /// It is answered at once.
    Reject {
        /// The status.
        status: u16,
        /// `Location` of the answer.
        location: Option<String>,
    },
}

/// No verdict: the request does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

/// Looks at the parts of one request. When it is dropped, nothing more comes.
#[tonic::async_trait]
pub trait Inspector: Send {
    /// The verdict on a part.
    async fn inspect(&mut self, part: Part) -> Result<Verdict, Failed>;
}

type Begin = dyn Fn(Exchange) -> Result<Box<dyn Inspector>, Failed> + Send + Sync;

/// The service.
#[derive(Clone)]
pub struct ProcessorService(Arc<Begin>);

impl ProcessorService {
    /// `begin` is called for each request.
    pub fn new(
        begin: impl Fn(Exchange) -> Result<Box<dyn Inspector>, Failed> + Send + Sync + 'static,
    ) -> Self {
        ProcessorService(Arc::new(begin))
    }

    /// Adds the service to `routes`.
    #[must_use]
    pub fn merge_into(self, routes: Routes) -> Routes {
        let server = ExternalProcessorServer::new(self).max_decoding_message_size(LARGEST);
        routes.add_service(server)
    }
}

impl fmt::Debug for ProcessorService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessorService")
    }
}

#[tonic::async_trait]
impl ExternalProcessor for ProcessorService {
    type ProcessStream = Pin<Box<dyn Stream<Item = Result<ProcessingResponse, Status>> + Send>>;

    async fn process(
        &self,
        rpc: Rpc<Streaming<ProcessingRequest>>,
    ) -> Result<Response<Self::ProcessStream>, Status> {
        let (metadata, _, parts) = rpc.into_parts();
        let exchange = exchange(&metadata).ok_or_else(|| Status::invalid_argument("metadata"))?;
        let inspector = (self.0)(exchange).map_err(failed)?;
        let answers = stream::try_unfold((parts, inspector), async |(mut parts, mut inspector)| {
            let Some(part) = parts.message().await? else {
                return Ok(None);
            };
            let answer = answer(part, inspector.as_mut()).await?;
            Ok(Some((answer, (parts, inspector))))
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

fn failed(Failed(reason): Failed) -> Status {
    Status::unavailable(reason)
}

fn exchange(metadata: &MetadataMap) -> Option<Exchange> {
    let text = |key| {
        let value = metadata.get(key)?.as_bytes().to_vec();
        String::from_utf8(value).ok()
    };
    Some(Exchange {
        rules: text(RULES_METADATA)?,
        id: text(TRANSACTION_METADATA),
        client: text(CLIENT_METADATA)?.parse().ok()?,
        server: text(SERVER_METADATA)?.parse().ok()?,
        protocol: text(PROTOCOL_METADATA)?,
    })
}

async fn answer(
    request: ProcessingRequest,
    inspector: &mut dyn Inspector,
) -> Result<ProcessingResponse, Status> {
    let request = request
        .request
        .ok_or_else(|| Status::invalid_argument("no part in it"))?;
    let accepted = accepted(&request);
    let Some(part) = part(request) else {
        return Ok(response(accepted));
    };
    let verdict = inspector.inspect(part).await.map_err(failed)?;
    Ok(match verdict {
        Verdict::Continue => response(accepted),
        Verdict::WithoutBody => with_response_body(response(accepted), BodySendMode::None),
        Verdict::WithBody => with_response_body(response(accepted), BodySendMode::Streamed),
        Verdict::Reject { status, location } => {
            response(Answer::ImmediateResponse(rejection(status, location)))
        }
    })
}

fn response(answer: Answer) -> ProcessingResponse {
    ProcessingResponse {
        response: Some(answer),
        ..ProcessingResponse::default()
    }
}

/// It replaces the mode as a whole; of a request, no body is shown.
fn with_response_body(response: ProcessingResponse, body: BodySendMode) -> ProcessingResponse {
    let mode = ProcessingMode {
        response_header_mode: HeaderSendMode::Send.into(),
        request_body_mode: BodySendMode::None.into(),
        response_body_mode: body.into(),
        ..ProcessingMode::default()
    };
    ProcessingResponse {
        mode_override: Some(mode),
        ..response
    }
}

/// The part goes on as it is.
fn accepted(request: &Request) -> Answer {
    match request {
        Request::RequestHeaders(_) => Answer::RequestHeaders(HeadersResponse::default()),
        Request::ResponseHeaders(_) => Answer::ResponseHeaders(HeadersResponse::default()),
        Request::RequestBody(_) => Answer::RequestBody(BodyResponse::default()),
        Request::ResponseBody(_) => Answer::ResponseBody(BodyResponse::default()),
        Request::RequestTrailers(_) => Answer::RequestTrailers(TrailersResponse::default()),
        Request::ResponseTrailers(_) => Answer::ResponseTrailers(TrailersResponse::default()),
    }
}

fn rejection(status: u16, location: Option<String>) -> ImmediateResponse {
    let location = location.map(|value| HeaderValueOption {
        header: Some(HeaderValue {
            key: "location".to_owned(),
            raw_value: value.into_bytes(),
            ..HeaderValue::default()
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..HeaderValueOption::default()
    });
    ImmediateResponse {
        status: Some(HttpStatus {
            code: status.into(),
        }),
        headers: location.map(|location| HeaderMutation {
            set_headers: vec![location],
            ..HeaderMutation::default()
        }),
        details: "firewall".to_owned(),
        ..ImmediateResponse::default()
    }
}

/// `None`: trailers, which rules know nothing of.
fn part(request: Request) -> Option<Part> {
    Some(match request {
        Request::RequestHeaders(head) => request_head(head),
        Request::ResponseHeaders(head) => response_head(head),
        Request::RequestBody(HttpBody {
            body: bytes,
            end_of_stream: is_last,
            ..
        }) => Part::RequestBody { bytes, is_last },
        Request::ResponseBody(HttpBody {
            body: bytes,
            end_of_stream: is_last,
            ..
        }) => Part::ResponseBody { bytes, is_last },
        Request::RequestTrailers(_) | Request::ResponseTrailers(_) => return None,
    })
}

fn request_head(head: HttpHeaders) -> Part {
    let (mut method, mut target, mut sent) = (Vec::new(), Vec::new(), None);
    let mut headers = Headers::new();
    for (name, value) in named(head.headers) {
        match name.as_str() {
            ":method" => method = value,
            ":path" => target = value,
            ":authority" => headers.push(("host".to_owned(), value)),
            PATH_HEADER => sent = Some(value),
            name if name.starts_with(':') || name.starts_with(OUR_HEADERS) => {}
            _ => headers.push((name, value)),
        }
    }
    Part::Request {
        method,
        // Where the path was decoded for the look-up of the route.
        target: sent.unwrap_or(target),
        headers,
        is_last: head.end_of_stream,
    }
}

fn response_head(head: HttpHeaders) -> Part {
    let mut status = 0;
    let mut headers = Headers::new();
    for (name, value) in named(head.headers) {
        if name == ":status" {
            let text = String::from_utf8(value).unwrap_or_default();
            status = text.parse().unwrap_or_default();
        } else if !name.starts_with(OUR_HEADERS) {
            headers.push((name, value));
        }
    }
    Part::Response {
        status,
        headers,
        is_last: head.end_of_stream,
    }
}

fn named(map: Option<HeaderMap>) -> impl Iterator<Item = (String, Vec<u8>)> {
    let headers = map.unwrap_or_default().headers.into_iter();
    headers.map(
        |HeaderValue {
             key,
             value,
             raw_value,
         }| {
            let value = if raw_value.is_empty() {
                value.into_bytes()
            } else {
                raw_value
            };
            (key.to_ascii_lowercase(), value)
        },
    )
}
