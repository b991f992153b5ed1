use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use axum::routing::get;
use futures::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;

use super::*;
use crate::with_write_timeout;

const HEADERS: Duration = Duration::from_millis(300);
const LIMITS: ListenerLimits = ListenerLimits {
    header_timeout: HEADERS,
    max_connections: 8,
    max_connections_per_address: 8,
    http2: true,
};
const REQUEST: &[u8] = b"GET /short HTTP/1.1\r\nHost: a\r\n\r\n";

/// In HTTP/2: all may be sent that there is, and much is asked for.
fn large_requests() -> Vec<u8> {
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff";
    let window = b"\0\0\x04\x08\0\0\0\0\0\x7f\0\0\0";
    let requests = (0..50).flat_map(|n| {
        let frame = [0, 0, 13, 1, 5, 0, 0, 0, 2 * n + 1];
        // A GET of http://a/large.
        let headers = b"\x82\x86\x41\x01a\x44\x06/large\xbe";
        frame.into_iter().chain(*headers)
    });
    let begin = settings.iter().chain(window).copied();
    begin.chain(requests).collect()
}

/// Beginning of HTTP/2, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A stream of events that lasts longer than a request may.
async fn pieces() -> Body {
    Body::from_stream(stream::iter(0..4).then(|_| async {
        sleep(HEADERS).await;
        Ok::<_, Infallible>(Bytes::from_static(b"piece"))
    }))
}

async fn listening(limits: ListenerLimits) -> SocketAddr {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new()
        .route("/short", get(async || "done"))
        .route("/long", get(pieces));
    tokio::spawn(serve_router(listener, router, limits));
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A connection from this address of loopback, on which something was said.
async fn said(from: u8, server: SocketAddr, bytes: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    let from = SocketAddr::from(([127, 0, 0, from], 0));
    socket.bind(from).unwrap();
    let mut stream = socket.connect(server).await.unwrap();
    // One that is closed at once may be reset before it hears anything.
    stream.write_all(bytes).await.ok();
    stream
}

/// All that comes until the connection ends.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end.
    stream.read_to_end(&mut bytes).await.ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn is_served(stream: &mut TcpStream) -> bool {
    let mut answer = Vec::new();
    while !answer.ends_with(b"done") {
        if stream.read_buf(&mut answer).await.unwrap_or_default() == 0 {
            return false;
        }
    }
    answer.starts_with(b"HTTP/1.1 200")
}

#[tokio::test]
async fn client_that_sends_no_whole_headers_is_closed_and_others_are_served() {
    let server = listening(LIMITS).await;
    let slow = [
        &b""[..],
        b"GET /short HT",
        b"GET /short HTTP/1.1\r\nHost: a\r\n",
        b"PRI * HTTP/2.0\r\n",
        PREFACE,
    ];
    let mut clients = Vec::new();
    for bytes in slow {
        clients.push(said(1, server, bytes).await);
    }
    let mut next = said(1, server, REQUEST).await;
    assert!(is_served(&mut next).await);
    // The next request on a connection has no more time than the first.
    next.write_all(b"GET /short HT").await.ok();
    clients.push(next);
    for client in clients {
        let rest = rest(client).await;
        assert!(!rest.contains("done"), "{rest}");
        let mut other = said(1, server, REQUEST).await;
        assert!(is_served(&mut other).await);
    }
}

/// Also one that goes on talking, whom HTTP/2 does not ask whether it is there.
#[tokio::test]
async fn client_that_takes_nothing_of_its_responses_is_closed() {
    const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0talking!";
    let requests = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50);
    for (requests, more, limits) in [
        (requests, REQUEST, ListenerLimits::OPERATORS),
        (large_requests(), PING, ListenerLimits::DATA_PLANES),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let listener = with_write_timeout(listener, HEADERS);
        let large = || async { vec![0; 1 << 20] };
        let router = Router::new()
            .route("/short", get(async || "done"))
            .route("/large", get(large));
        let limits = ListenerLimits {
            max_connections: 1,
            ..limits
        };
        tokio::spawn(serve_router(listener, router, limits));
        let mut silent = said(1, server, &requests).await;
        tokio::spawn(async move {
            while silent.write_all(more).await.is_ok() {
                sleep(HEADERS / 10).await;
            }
            std::future::pending::<()>().await;
        });
        assert!(is_served(&mut said(1, server, REQUEST).await).await);
    }
}

/// After its first request nothing would end a connection of HTTP/2.
#[tokio::test]
async fn operators_speak_no_http2() {
    let limits = ListenerLimits {
        header_timeout: Duration::from_hours(1),
        ..ListenerLimits::OPERATORS
    };
    let server = listening(limits).await;
    let answer = rest(said(1, server, PREFACE).await).await;
    assert!(!answer.contains('\0'), "{answer:?}");
}

#[tokio::test]
async fn response_takes_as_long_as_it_takes() {
    let server = listening(LIMITS).await;
    let request = b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let whole = rest(said(1, server, request).await).await;
    assert_eq!(whole.matches("piece").count(), 4, "{whole}");
}

#[tokio::test]
async fn connection_beyond_the_limit_waits_for_one_that_ends() {
    let limits = ListenerLimits {
        header_timeout: Duration::from_hours(1),
        max_connections: 2,
        ..LIMITS
    };
    let server = listening(limits).await;
    let mut first = said(1, server, REQUEST).await;
    let mut second = said(1, server, REQUEST).await;
    assert!(is_served(&mut first).await && is_served(&mut second).await);
    let mut third = said(1, server, REQUEST).await;
    let waits = tokio::time::timeout(HEADERS, is_served(&mut third)).await;
    assert!(waits.is_err());
    drop(second);
    assert!(is_served(&mut third).await);
}

#[tokio::test]
async fn address_with_all_its_connections_takes_no_others() {
    let limits = ListenerLimits {
        header_timeout: Duration::from_hours(1),
        max_connections_per_address: 2,
        ..LIMITS
    };
    let server = listening(limits).await;
    let mut first = said(1, server, b"").await;
    let _second = said(1, server, b"").await;
    assert_eq!(rest(said(1, server, REQUEST).await).await, "");
    // A probe comes from elsewhere.
    assert!(is_served(&mut said(2, server, REQUEST).await).await);
    first.write_all(REQUEST).await.unwrap();
    assert!(is_served(&mut first).await);
    drop(first);
    // The server may learn of the end later than we.
    while !is_served(&mut said(1, server, REQUEST).await).await {}
}
