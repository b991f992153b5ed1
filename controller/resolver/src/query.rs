//! One question to DNS servers, over UDP, and over TCP where an answer is too long.

use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::message::{self, Family, Reply};

/// Without more being said, no datagram is longer than 512 bytes; some servers do not know.
const LONGEST_DATAGRAM: usize = 4096;

/// Servers to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Servers {
    pub(super) addresses: Vec<SocketAddr>,
    /// How long each has for an answer.
    pub(super) patience: Duration,
    /// How often all are asked.
    pub(super) attempts: u32,
}

impl Servers {
    /// Asks one after the other until one knows an answer, or all have said that they do not. The error says who was silent.
    pub(super) async fn ask(&self, name: &str, family: Family) -> Result<Reply, String> {
        let mut last = Err("there is no DNS server to ask".to_owned());
        for _ in 0..self.attempts {
            for server in &self.addresses {
                last = match timeout(self.patience, exchange(*server, name, family)).await {
                    Ok(Ok(Reply::Error(code))) => Ok(Reply::Error(code)),
                    Ok(Ok(reply)) => return Ok(reply),
                    Ok(Err(error)) => Err(format!("DNS server {server}: {error}")),
                    Err(_) => Err(format!("no answer from DNS server {server}")),
                };
            }
        }
        last
    }
}

async fn exchange(server: SocketAddr, name: &str, family: Family) -> Result<Reply, Error> {
    let invalid = || Error::new(ErrorKind::InvalidInput, "no name that can be asked about");
    let question = message::question(id(), name, family).ok_or_else(invalid)?;
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A port of its own for each question, and nobody else is heard: that is what a forger has to guess.
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(&question).await?;
    let mut buffer = vec![0; LONGEST_DATAGRAM];
    loop {
        let length = socket.recv(&mut buffer).await?;
        match message::answer(buffer.get(..length).unwrap_or_default(), &question) {
            Some(Reply::Truncated) => return over_tcp(server, &question).await,
            Some(reply) => return Ok(reply),
            None => {}
        }
    }
}

/// Every message is led by its length (RFC 7766).
async fn over_tcp(server: SocketAddr, question: &[u8]) -> Result<Reply, Error> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(question.len()).map_err(Error::other)?;
    stream
        .write_all(&[&length.to_be_bytes(), question].concat())
        .await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    let unreadable = || Error::new(ErrorKind::InvalidData, "an answer that cannot be read");
    message::answer(&answer, question)
        .filter(|reply| *reply != Reply::Truncated)
        .ok_or_else(unreadable)
}

/// The keys of the hash are random and secret.
fn id() -> u16 {
    let [low, high, ..] = RandomState::new().hash_one(()).to_ne_bytes();
    u16::from_ne_bytes([low, high])
}
