//! Servers that mean no good: whatever they send costs bounded time and memory, and is one answer.

use std::io::Write;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Bytes of a body that are compared.
const MOST: u64 = 10_000;

/// Conduct of a server towards a connection, once it has the head of a request.
#[derive(Clone)]
enum Behaviour {
    /// Sends this, and closes.
    Says(Vec<u8>),
    /// Sends this, and then the other for ever.
    SaysForEver(Vec<u8>, Vec<u8>),
    /// Says nothing.
    IsSilent,
}

async fn server(behaviour: Behaviour) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut connections = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            match &behaviour {
                Behaviour::Says(text) => drop(stream.write_all(text).await),
                Behaviour::SaysForEver(text, more) => {
                    let mut result = stream.write_all(text).await;
                    while result.is_ok() {
                        result = stream.write_all(more).await;
                    }
                }
                Behaviour::IsSilent => connections.push(stream),
            }
        }
    });
    address
}

fn client(address: SocketAddr) -> Client {
    let settings = ClientSettings {
        headers: Vec::new(),
        resolve: Vec::new(),
        timeout: Duration::from_secs(2),
        most_body: MOST,
        insecure: true,
    };
    let plane = DataPlane::parse([address.to_string().as_str()]).unwrap();
    Client::new("--old", plane, Arc::new(settings)).unwrap()
}

async fn ask(behaviour: Behaviour) -> Answered {
    let request = Request::parse("http://a.b/", "GET", &[]).unwrap();
    let client = client(server(behaviour).await);
    client.ask(&request, &Bytes::new()).await
}

fn says(text: &str) -> Behaviour {
    Behaviour::Says(text.as_bytes().to_vec())
}

fn reason(answered: Answered) -> String {
    answered.unwrap_err().to_string()
}

#[tokio::test]
async fn a_head_of_megabytes_is_no_response() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let line = format!("x-{}: y\r\n", "a".repeat(1000)).into_bytes();
    let endless = ask(Behaviour::SaysForEver(head.clone(), line)).await;
    assert!(
        matches!(endless, Err(Failure::NoResponse(_))),
        "{endless:?}"
    );
    let one = vec![b'a'; 8 << 20];
    let value = [&head[..], b"x: ", &one, b"\r\n\r\n"].concat();
    let long = ask(Behaviour::Says(value)).await;
    assert!(matches!(long, Err(Failure::NoResponse(_))), "{long:?}");
    let many = "x: y\r\n".repeat(HEADERS + 1);
    let many = ask(says(&format!("HTTP/1.1 200 OK\r\n{many}\r\n"))).await;
    assert!(matches!(many, Err(Failure::NoResponse(_))), "{many:?}");
}

#[tokio::test]
async fn an_endless_body_is_read_up_to_the_limit() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
    ] {
        let behaviour = Behaviour::SaysForEver(head.as_bytes().to_vec(), vec![b'a'; 4096]);
        let body = ask(behaviour).await.unwrap().body;
        assert_eq!(
            (body.bytes, body.is_longer, body.is_cut),
            (MOST, true, false)
        );
        assert!(body.start.len() < 4096);
    }
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";
    let body = ask(says(short)).await.unwrap().body;
    assert_eq!((body.bytes, body.is_longer, body.is_cut), (3, false, true));
}

#[tokio::test]
async fn a_compressed_body_is_compared_as_what_it_says_and_no_bomb() {
    let gzip = |bytes: &[u8], level| {
        let mut encoder =
            flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(bytes).unwrap();
        let body = encoder.finish().unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        Behaviour::Says([head.as_bytes(), &body].concat())
    };
    let text = "text ".repeat(200);
    let quick = ask(gzip(text.as_bytes(), 1)).await.unwrap().body;
    let best = ask(gzip(text.as_bytes(), 9)).await.unwrap().body;
    assert_eq!(quick, best);
    assert_eq!(quick.bytes, 1000);
    let bomb = ask(gzip(&vec![0; 8 << 20], 9)).await.unwrap().body;
    assert_eq!((bomb.bytes, bomb.is_longer), (MOST, true));
    let broken = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc";
    assert!(ask(says(broken)).await.unwrap().body.is_cut);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let response = ask(says(
        "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
    ));
    let response = response.await.unwrap();
    assert_eq!(response.status, 302);
    assert_eq!(response.values("location").next(), Some(&b"/"[..]));
}

#[tokio::test]
async fn silence_and_nonsense_are_no_responses() {
    assert_eq!(ask(Behaviour::IsSilent).await, Err(Failure::Timeout));
    for text in [
        "",
        "SSH-2.0-x\r\n",
        "HTTP/1.1 999999 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx",
    ] {
        let said = reason(ask(says(text)).await);
        assert!(said.starts_with("no response: "), "{text:?}: {said}");
    }
    // TLS that is none.
    let address = server(says("HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    let plane = DataPlane::parse([format!("https://{address}").as_str()]).unwrap();
    let client = Client {
        plane,
        ..client(address)
    };
    let https = Request::parse("https://a.b/", "GET", &[]).unwrap();
    let answered = client.ask(&https, &Bytes::new()).await;
    assert!(matches!(answered, Err(Failure::Tls(_))), "{answered:?}");
    let http = Request::parse("http://a.b/", "GET", &[]).unwrap();
    let answered = client.ask(&http, &Bytes::new()).await;
    assert_eq!(answered, Err(Failure::NoAddress("--old")));
}

#[tokio::test]
async fn header_that_cannot_be_written_is_not_sent() {
    let client = client(server(Behaviour::IsSilent).await);
    let request = Request::parse("http://a.b/", "GET", &["x: a\nb".to_owned()]).unwrap();
    let answered = client.ask(&request, &Bytes::new()).await;
    assert!(
        matches!(answered, Err(Failure::Unsendable(_))),
        "{answered:?}"
    );
}
