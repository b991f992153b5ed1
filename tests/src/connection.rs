//! One HTTP/1.1 connection of the client: bytes out, one answer in, again.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::dial::{Dial, Dialled, Stream};
use crate::message::{Request, Response};
use crate::tls::ClientTls;

const MAX_HEADERS: usize = 128;
const MAX_RESPONSE: usize = 64 << 20;

/// An open connection. Requests on it are strictly one after the other.
#[derive(Debug)]
pub struct Connection {
    stream: Box<dyn Stream>,
    certificate: Option<Vec<u8>>,
    /// Received and not yet used.
    input: Vec<u8>,
    reusable: bool,
}

/// How the end of a body is known (RFC 9112, section 6.3).
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

impl Connection {
    /// Connects.
    pub async fn open(addr: SocketAddr) -> Result<Connection> {
        Connection::dial(&Dial::plain(addr)).await
    }

    /// Connects with TLS, and takes whatever certificate it is shown. `sni` goes into the ClientHello.
    pub async fn open_tls(addr: SocketAddr, sni: &str) -> Result<Connection> {
        Connection::dial(&Dial::tls(addr, sni)).await
    }

    /// Connects with TLS to a server whose certificate is signed by this authority (PEM) and names `sni`.
    pub async fn open_trusted(addr: SocketAddr, sni: &str, authority: &str) -> Result<Connection> {
        let dial = Dial::tls(addr, sni);
        let tls = dial.tls.map(|tls| ClientTls {
            authority: Some(authority.to_owned()),
            ..tls
        });
        Connection::dial(&Dial { tls, ..dial }).await
    }

    /// Connects to a unix socket.
    pub async fn open_unix(socket: &Path) -> Result<Connection> {
        let stream = UnixStream::connect(socket).await.context("connect")?;
        Ok(Connection::over(Box::new(stream)))
    }

    /// On a stream that is connected.
    pub fn over(stream: Box<dyn Stream>) -> Connection {
        Connection {
            stream,
            certificate: None,
            input: Vec::new(),
            reusable: true,
        }
    }

    /// Connects as it is told.
    pub async fn dial(dial: &Dial) -> Result<Connection> {
        let Dialled {
            stream,
            certificate,
        } = dial.connect().await?;
        Ok(Connection {
            certificate,
            ..Connection::over(stream)
        })
    }

    /// The server's certificate, in DER.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.certificate.as_deref()
    }

    /// Returns `true` if the server keeps the connection for another request.
    pub fn is_reusable(&self) -> bool {
        self.reusable
    }

    /// Sends a request and reads the answer.
    pub async fn send(&mut self, request: &Request) -> Result<Response> {
        self.send_bytes(&request.to_bytes(), request.method == "HEAD")
            .await
    }

    /// Sends prepared bytes and reads one answer; `head`: an answer without a body, whatever its headers say.
    pub async fn send_bytes(&mut self, request: &[u8], head: bool) -> Result<Response> {
        self.stream.write_all(request).await.context("send")?;
        // TLS may hold the end back until then.
        self.stream.flush().await.context("send")?;
        loop {
            let mut response = self.read_head().await?;
            if (100..200).contains(&response.status) && response.status != 101 {
                continue;
            }
            self.reusable &= keeps_alive(&response);
            response.body = match framing(&response, head)? {
                Framing::Length(length) => self.take(length).await?,
                Framing::Chunked => self.read_chunks().await?,
                Framing::UntilClose => self.read_to_end().await?,
            };
            return Ok(response);
        }
    }

    async fn read_head(&mut self) -> Result<Response> {
        loop {
            if let Some((length, response)) = parse_head(&self.input)? {
                self.input.drain(..length);
                return Ok(response);
            }
            self.fill().await?;
        }
    }

    async fn read_chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.read_line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size =
                usize::from_str_radix(size, 16).with_context(|| format!("chunk size {line:?}"))?;
            if size == 0 {
                break;
            }
            body.extend(self.take(size).await?);
            self.read_line().await?;
        }
        while !self.read_line().await?.is_empty() {}
        Ok(body)
    }

    async fn read_line(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.input.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.input[..end]).into_owned();
                self.input.drain(..end + 2);
                return Ok(line);
            }
            self.fill().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        ensure!(length <= MAX_RESPONSE, "a body of {length} bytes");
        while self.input.len() < length {
            self.fill().await?;
        }
        Ok(self.input.drain(..length).collect())
    }

    async fn read_to_end(&mut self) -> Result<Vec<u8>> {
        self.reusable = false;
        while self
            .stream
            .read_buf(&mut self.input)
            .await
            .context("receive")?
            > 0
        {
            ensure!(self.input.len() <= MAX_RESPONSE, "a body without an end");
        }
        Ok(std::mem::take(&mut self.input))
    }

    async fn fill(&mut self) -> Result<()> {
        if self
            .stream
            .read_buf(&mut self.input)
            .await
            .context("receive")?
            == 0
        {
            bail!(
                "the connection was closed in the middle of an answer ({} bytes)",
                self.input.len()
            );
        }
        Ok(())
    }
}

/// `None` while the head is incomplete.
fn parse_head(input: &[u8]) -> Result<Option<(usize, Response)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(input).context("parse the answer")? else {
        return Ok(None);
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = head
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), text(header.value)));
    let status = head.code.context("an answer without a status")?;
    Ok(Some((
        length,
        Response {
            status,
            headers: headers.collect(),
            body: Vec::new(),
        },
    )))
}

fn framing(response: &Response, head: bool) -> Result<Framing> {
    if head || matches!(response.status, 101 | 204 | 304) {
        return Ok(Framing::Length(0));
    }
    if response
        .headers("transfer-encoding")
        .any(|value| value.eq_ignore_ascii_case("chunked"))
    {
        return Ok(Framing::Chunked);
    }
    match response.header("content-length") {
        Some(length) => Ok(Framing::Length(
            length
                .parse()
                .with_context(|| format!("content-length {length:?}"))?,
        )),
        None => Ok(Framing::UntilClose),
    }
}

fn keeps_alive(response: &Response) -> bool {
    response.status != 101
        && !response
            .headers("connection")
            .any(|value| value.eq_ignore_ascii_case("close"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Parses raw responses that a server writes in small pieces.
    async fn answers(raw: &'static [u8], count: usize) -> Result<Vec<Response>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            for piece in raw.chunks(7) {
                stream.write_all(piece).await?;
                tokio::task::yield_now().await;
            }
            stream.shutdown().await?;
            // Closing with unread input would reset the connection under the client.
            stream.read_to_end(&mut Vec::new()).await?;
            anyhow::Ok(())
        });
        let mut connection = Connection::open(addr).await?;
        let mut responses = Vec::new();
        for _ in 0..count {
            responses.push(connection.send(&Request::get("h", "/")).await?);
        }
        drop(connection);
        server.await??;
        Ok(responses)
    }

    #[tokio::test]
    async fn an_answer_may_be_chunked_after_an_interim_one() {
        let raw =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nt: 1\r\n\r\nHTTP/1.1 204 No\r\n\r\n";
        let responses = answers(raw, 2).await.unwrap();
        assert_eq!(
            (responses[0].status, responses[0].text().as_str()),
            (200, "hello!")
        );
        assert_eq!(responses[1].status, 204);
    }

    #[tokio::test]
    async fn a_body_may_end_with_the_connection_but_a_length_must_be_met() {
        let until_close = answers(b"HTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\n\r\nbye", 1)
            .await
            .unwrap();
        assert_eq!(until_close[0].text(), "bye");
        assert_eq!(until_close[0].headers("a").collect::<Vec<_>>(), ["1", "2"]);
        assert!(
            answers(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbye", 1)
                .await
                .is_err()
        );
    }
}
