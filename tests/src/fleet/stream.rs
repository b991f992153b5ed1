//! One client on the wire.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};

use super::holdings::Holdings;
use super::kind::Kind;
use super::reader::{Part, Reader};
use super::{Behaviour, Expected, Progress};
use crate::dial;

const PATH: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// Until it tries again to connect.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that a client takes before it has read them: fewer than with Envoy.
const WINDOW: u32 = 1 << 20;

/// The state of a client's task.
pub(super) struct Stream {
    pub(super) address: String,
    pub(super) behaviour: watch::Receiver<Behaviour>,
    pub(super) conversation: Conversation,
}

impl Stream {
    /// One stream after the other, for as long as what comes is xDS.
    pub(super) async fn run(mut self) {
        loop {
            // There may be no controller just now.
            if let Ok(stream) = connect(&self.address).await
                && let Err(error) = self.on(stream).await
            {
                let text = Some(format!("{error:#}"));
                let progress = &self.conversation.progress;
                progress.send_modify(|progress| progress.error = text);
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Until the connection ends. An error: it was sent something that is no xDS.
    async fn on(&mut self, stream: Box<dyn dial::Stream>) -> Result<()> {
        let (requests, body) = mpsc::unbounded_channel();
        let mut begin = http2::Builder::new(TokioExecutor::new());
        begin.initial_stream_window_size(WINDOW);
        begin.initial_connection_window_size(WINDOW);
        let Ok((mut sender, connection)) = begin.handshake(TokioIo::new(stream)).await else {
            return Ok(());
        };
        let request = hyper::Request::post(format!("http://controller{PATH}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Requests(body))?;
        let response = sender.send_request(request);
        let behaviour = &mut self.behaviour;
        let (mut connection, mut talk) = (
            pin!(connection),
            pin!(
                self.conversation
                    .talk(requests, response, behaviour.clone())
            ),
        );
        loop {
            if *behaviour.borrow_and_update() == Behaviour::Stopped {
                std::future::pending::<()>().await;
            }
            tokio::select! {
                result = &mut talk => return result,
                _ = &mut connection => return Ok(()),
                _ = behaviour.changed() => {}
            }
        }
    }
}

/// A client's side of a stream.
pub(super) struct Conversation {
    pub(super) holdings: Holdings,
    pub(super) expected: watch::Receiver<Expected>,
    pub(super) progress: watch::Sender<Progress>,
}

impl Conversation {
    async fn talk(
        &mut self,
        requests: mpsc::UnboundedSender<Bytes>,
        response: impl Future<Output = hyper::Result<hyper::Response<Incoming>>>,
        behaviour: watch::Receiver<Behaviour>,
    ) -> Result<()> {
        send(&requests, self.holdings.open());
        let Ok(response) = response.await else {
            return Ok(());
        };
        self.progress.send_modify(|progress| progress.streams += 1);
        let (mut body, mut reader, mut seen) = (response.into_body(), Reader::default(), None);
        while let Some(Ok(frame)) = body.frame().await {
            if let Some(trailers) = frame.trailers_ref() {
                let status = trailers.get("grpc-status");
                ensure!(
                    status.is_none_or(|status| status == "0"),
                    "the stream ended: {trailers:?}"
                );
            }
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            self.progress.send_if_modified(|progress| {
                progress.bytes += bytes.len() as u64;
                false
            });
            reader.push(bytes, |part| {
                let answers = self.take(part, &mut seen)?;
                if !answers.is_empty() && *behaviour.borrow() != Behaviour::Mute {
                    send(&requests, answers);
                    self.acknowledged(seen.take());
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Takes a part of a response, and returns what it makes the client say. `seen` becomes the number of an expected text.
    fn take(
        &mut self,
        part: Part<'_>,
        seen: &mut Option<u64>,
    ) -> Result<Vec<DeltaDiscoveryRequest>> {
        match part {
            Part::Resource {
                kind,
                name,
                version,
                body,
            } => {
                let kind = kind.with_context(|| format!("{name} is of no known type"))?;
                if kind == Kind::Endpoints {
                    *seen = self.expected.borrow().number_in(body).or(*seen);
                }
                self.progress.send_if_modified(|progress| {
                    progress.resources += 1;
                    false
                });
                self.holdings.set(kind, name, version, body)?;
                Ok(Vec::new())
            }
            Part::End {
                type_url,
                nonce,
                removed,
            } => {
                let kind = Kind::from_type_url(type_url.as_bytes());
                let kind = kind.with_context(|| format!("{type_url:?} is no known type"))?;
                removed
                    .iter()
                    .for_each(|name| self.holdings.remove(kind, name));
                Ok(self.holdings.end(kind, nonce))
            }
        }
    }

    /// A response was answered.
    fn acknowledged(&self, seen: Option<u64>) {
        let (held, missing) = (self.holdings.counts(), self.holdings.missing());
        self.progress.send_modify(|progress| {
            (progress.held, progress.missing) = (held, missing);
            if let Some(number) = seen {
                progress.acknowledged = Some((number, Instant::now()));
            }
        });
    }
}

/// The body of the request: messages, until the stream is dropped.
struct Requests(mpsc::UnboundedReceiver<Bytes>);

impl Body for Requests {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let received = self.0.poll_recv(context);
        received.map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}

fn send(requests: &mpsc::UnboundedSender<Bytes>, messages: Vec<DeltaDiscoveryRequest>) {
    for message in messages {
        let len = message.encoded_len();
        let mut framed = BytesMut::with_capacity(5 + len);
        framed.put_u8(0);
        framed.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
        framed.extend_from_slice(&message.encode_to_vec());
        // Without a receiver the connection has ended, which is seen elsewhere.
        requests.send(framed.freeze()).ok();
    }
}

async fn connect(address: &str) -> io::Result<Box<dyn dial::Stream>> {
    Ok(match address.strip_prefix("unix:") {
        Some(path) => Box::new(UnixStream::connect(path).await?),
        None => Box::new(TcpStream::connect(address).await?),
    })
}
