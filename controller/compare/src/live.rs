//! Live traffic: mirrored requests are answered at once with 204, and a share of them is sent to both data planes.
//!
//! ```text
//!   clients --> Envoy, nginx (a proxy in front) --> old
//!                     \--mirror--> here --share--> queue --> Pair::judge --> Tally
//! ```
//!
//! The queue is short, and what it does not take is counted: a slow data plane makes nobody wait.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as Message, Response as Reply, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sluice_explain::Request;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, Sender};

use crate::findings::Tally;
use crate::plan::{LeftOut, MOST_HOSTS, Selection, reasons};
use crate::probe::{Probe, is_safe};
use crate::recorded::is_sent;
use crate::run::Pair;
use crate::site::{Context, Site};
use crate::subject::Subject;

/// Name in `CDN-Loop` (RFC 8586) of requests that are sent from here: one that comes back is none of a client's.
pub const MARK: (&str, &str) = ("cdn-loop", "sluice-compare");
/// Envoy's suffix of the host of a mirrored request.
const SHADOW: &str = "-shadow";
/// Header that says the scheme of the client's request.
const SCHEME: &str = "x-forwarded-proto";
/// Requests that wait to be sent.
const QUEUE: usize = 256;
/// Connections of proxies.
const MOST_CONNECTIONS: usize = 512;
/// For the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Share of requests that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// Parses `5%`.
    ///
    /// # Errors
    /// When it is not more than 0 % and at most 100 %.
    pub fn parse(text: &str) -> Result<Share, String> {
        let percent = text
            .strip_suffix('%')
            .and_then(|number| number.parse().ok());
        let percent = percent.filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0);
        let share = percent.map(|percent| Share(percent / 100.0));
        share.ok_or_else(|| format!("expected a percentage above 0% up to 100%, got {text:?}"))
    }
}

/// Mirrored requests, and which of them are compared.
pub struct Live<'s> {
    /// Takes them.
    pub listener: TcpListener,
    /// How many of them.
    pub share: Share,
    /// A choice among them.
    pub selection: Selection,
    /// The Ingresses.
    pub site: Option<&'s Site<'s>>,
}

/// Requests that came, and the way of each.
struct Intake<'s> {
    share: Share,
    selection: Selection,
    site: Option<&'s Site<'s>>,
    /// Parts of requests that were not taken yet.
    owed: Cell<f64>,
    left_out: RefCell<LeftOut>,
    queue: Sender<Probe>,
}

impl Live<'_> {
    /// Compares until `stop` ends. `news` hears of each difference once.
    pub async fn compare(
        self,
        pair: &Pair,
        concurrency: usize,
        stop: impl Future<Output = ()>,
        news: &mut dyn FnMut(&Subject, &str),
    ) -> (Tally, LeftOut) {
        let (queue, mut waiting) = mpsc::channel(QUEUE);
        let intake = Rc::new(Intake {
            share: self.share,
            selection: self.selection,
            site: self.site,
            owed: Cell::new(0.0),
            left_out: RefCell::default(),
            queue,
        });
        let mut tally = Tally::default();
        let mut connections = FuturesUnordered::new();
        let mut judged = FuturesUnordered::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let (has_room, has_turn) = (
                connections.len() < MOST_CONNECTIONS,
                judged.len() < concurrency,
            );
            tokio::select! {
                () = &mut stop => break,
                Ok((stream, _)) = self.listener.accept(), if has_room => {
                    connections.push(serve(stream, Rc::clone(&intake)));
                }
                Some(()) = connections.next() => {}
                Some(probe) = waiting.recv(), if has_turn => {
                    judged.push(async { (pair.judge(&probe).await, probe) });
                }
                Some((judgement, probe)) = judged.next() => {
                    let request = probe.shown();
                    let subject = &probe.context.subject;
                    let is_host = matches!(subject, Subject::Host(_));
                    if is_host && tally.subjects() >= MOST_HOSTS && !tally.has(subject) {
                        intake.leave_out(reasons::HOSTS);
                        continue;
                    }
                    for difference in tally.add(&probe.context, &request, judgement) {
                        news(subject, &format!("{difference} ({request})"));
                    }
                }
            }
        }
        let left_out = intake.left_out.borrow().clone();
        (tally, left_out)
    }
}

/// The listening address.
///
/// # Errors
/// When it cannot be listened on.
pub async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers the requests of a connection; ends with it.
async fn serve(stream: TcpStream, intake: Rc<Intake<'_>>) {
    let service = service_fn(|message: Message<Incoming>| {
        intake.take(&message);
        async {
            let mut reply = Reply::new(Empty::<Bytes>::new());
            *reply.status_mut() = StatusCode::NO_CONTENT;
            Ok::<_, Infallible>(reply)
        }
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(128 << 10);
    // Of a connection that breaks nothing is to be said.
    server
        .serve_connection(TokioIo::new(stream), service)
        .await
        .ok();
}

impl Intake<'_> {
    fn leave_out(&self, reason: &'static str) {
        *self.left_out.borrow_mut().entry(reason).or_default() += 1;
    }

    fn take(&self, message: &Message<Incoming>) {
        match self.probe(message) {
            Ok(Some(probe)) => {
                if self.queue.try_send(probe).is_err() {
                    self.leave_out(reasons::RATE);
                }
            }
            Ok(None) => {}
            Err(reason) => self.leave_out(reason),
        }
    }

    /// `None`: it is not of the share, or of no host that is asked for.
    fn probe<B>(&self, message: &Message<B>) -> Result<Option<Probe>, &'static str> {
        if is_own(message) {
            return Err(reasons::OWN);
        }
        let method = message.method().as_str();
        if !is_safe(method) || !self.selection.methods.iter().any(|it| it == method) {
            return Err(reasons::METHOD);
        }
        let owed = self.owed.get() + self.share.0;
        // A hundred times a hundredth is not quite 1.
        let is_taken = owed >= 1.0 - 1e-9;
        self.owed.set(if is_taken { owed - 1.0 } else { owed });
        if !is_taken {
            return Ok(None);
        }
        let sent = request(message, "").ok_or(reasons::UNREADABLE)?;
        let mirrored = request(message, SHADOW).ok_or(reasons::UNREADABLE)?;
        let (request, context) = match self.site {
            None => {
                let context = Context::unknown(&mirrored.host);
                (mirrored, context)
            }
            Some(site) => {
                let is_whole = site.context(&sent).is_known_host;
                let request = if is_whole { sent } else { mirrored };
                let has_scheme = message.headers().contains_key(SCHEME);
                let request = match has_scheme {
                    true => request,
                    false => site.as_answered(request),
                };
                let context = site.context(&request);
                (request, context)
            }
        };
        if self.site.is_some() && !context.is_known_host {
            return Err(reasons::HOST);
        }
        let probe = Probe {
            request,
            body: Bytes::new(),
            context,
            is_ours: false,
        };
        let is_wanted = self.selection.takes_host(&probe.request.host);
        Ok(is_wanted.then_some(probe))
    }
}

/// True if it was sent from here.
fn is_own<B>(message: &Message<B>) -> bool {
    let marks = message.headers().get_all(MARK.0);
    let mut marks = marks.iter().filter_map(|value| value.to_str().ok());
    marks.any(|value| value.split(',').any(|mark| mark.trim() == MARK.1))
}

/// The request as the client has sent it to the proxy; `suffix` is taken from its host.
fn request<B>(message: &Message<B>, suffix: &str) -> Option<Request> {
    let text = |name: &str| message.headers().get(name)?.to_str().ok();
    let target = message.uri().path_and_query()?.as_str();
    let (host, port) = match text("host")?.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, Some(port)),
        _ => (text("host")?, None),
    };
    let host = host.strip_suffix(suffix).unwrap_or(host);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let scheme = text(SCHEME).filter(|it| *it == "https");
    let url = format!("{}://{host}{port}{target}", scheme.unwrap_or("http"));
    let headers = message.headers().iter();
    let headers = headers.filter(|(name, _)| is_of_client(name.as_str()));
    let headers: Vec<String> = headers
        .filter_map(|(name, value)| Some(format!("{name}: {}", value.to_str().ok()?)))
        .collect();
    Request::parse(&url, message.method().as_str(), &headers).ok()
}

/// Not of the proxy that mirrors.
fn is_of_client(name: &str) -> bool {
    is_sent(name) && name != "x-request-id" && !name.starts_with("x-envoy-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(host: &str, headers: &[(&str, &str)]) -> Message<()> {
        let mut message = Message::builder().uri("/a?b=c").header("host", host);
        for (name, value) in headers {
            message = message.header(*name, *value);
        }
        message.body(()).unwrap()
    }

    fn intake(share: &str) -> (Intake<'static>, mpsc::Receiver<Probe>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let selection = Selection {
            methods: vec!["GET".to_owned()],
            hosts: Vec::new(),
            most: usize::MAX,
        };
        let intake = Intake {
            share: Share::parse(share).unwrap(),
            selection,
            site: None,
            owed: Cell::new(0.0),
            left_out: RefCell::default(),
            queue,
        };
        (intake, waiting)
    }

    #[test]
    fn a_share_is_an_even_part() {
        for (share, expected) in [("100%", 1000), ("5%", 50), ("0.1%", 1), ("33%", 330)] {
            let (intake, _waiting) = intake(share);
            let taken = (0..1000).filter(|_| intake.probe(&message("a.b", &[])).unwrap().is_some());
            assert_eq!(taken.count(), expected, "{share}");
        }
        for text in ["", "5", "0%", "101%", "-1%", "nan%", "inf%"] {
            assert!(Share::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_mirrored_request_is_the_clients_own() {
        let (intake, _waiting) = intake("100%");
        let headers = [
            ("x-forwarded-proto", "https"),
            ("x-request-id", "1"),
            ("x-envoy-internal", "true"),
            ("accept", "text/html"),
            ("connection", "keep-alive"),
        ];
        for (host, expected) in [
            ("Shop.example-shadow", "GET https://shop.example/a?b=c"),
            (
                "shop.example-shadow:8443",
                "GET https://shop.example:8443/a?b=c",
            ),
            ("shop.example", "GET https://shop.example/a?b=c"),
        ] {
            let probe = intake.probe(&message(host, &headers)).unwrap().unwrap();
            assert_eq!(probe.request.to_string(), expected);
            let names = probe.request.headers.iter().map(|(name, _)| name.as_str());
            let names: Vec<&str> = names.collect();
            assert_eq!(names, ["x-forwarded-proto", "accept"]);
        }
    }

    #[test]
    fn a_request_that_comes_back_or_changes_something_is_not_sent() {
        let (intake, _waiting) = intake("100%");
        let own = message("a.b", &[("cdn-loop", "x, sluice-compare")]);
        assert_eq!(intake.probe(&own).err(), Some(reasons::OWN));
        for method in ["POST", "DELETE", "OPTIONS"] {
            let mut other = message("a.b", &[]);
            *other.method_mut() = method.parse().unwrap();
            assert_eq!(
                intake.probe(&other).err(),
                Some(reasons::METHOD),
                "{method}"
            );
        }
    }
}
