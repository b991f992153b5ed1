//! How a client's connection begins: TCP, then what the case wants before the first request.

pub mod openssl;

use std::fmt;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::tls::{self, ClientTls};

/// How to connect.
#[derive(Clone, Debug)]
pub struct Dial {
    /// The address.
    pub addr: SocketAddr,
    /// A line of the PROXY protocol (without its end), sent first.
    pub proxy_line: Option<String>,
    /// TLS after that.
    pub tls: Option<ClientTls>,
}

/// TCP, or TLS over it.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug> Stream for S {}

/// A connection, and what the server showed.
#[derive(Debug)]
pub struct Dialled {
    /// Ready for the first request.
    pub stream: Box<dyn Stream>,
    /// The server's certificate, in DER.
    pub certificate: Option<Vec<u8>>,
}

impl Dial {
    /// Plain TCP.
    pub fn plain(addr: SocketAddr) -> Dial {
        Dial {
            addr,
            proxy_line: None,
            tls: None,
        }
    }

    /// TLS for HTTP/1.1 with this server name.
    pub fn tls(addr: SocketAddr, sni: &str) -> Dial {
        let tls = ClientTls {
            sni: Some(sni.to_owned()),
            ..ClientTls::default()
        };
        Dial {
            addr,
            proxy_line: None,
            tls: Some(tls),
        }
    }

    /// Connects.
    pub async fn connect(&self) -> Result<Dialled> {
        if let Some(name) = self.openssl_name() {
            ensure!(
                self.proxy_line.is_none(),
                "such a server name behind a PROXY line"
            );
            return openssl::connect(self.addr, name).await;
        }
        let mut stream = TcpStream::connect(self.addr).await.context("connect")?;
        stream.set_nodelay(true)?;
        if let Some(line) = &self.proxy_line {
            stream
                .write_all(format!("{}\r\n", line.trim_end()).as_bytes())
                .await
                .context("PROXY line")?;
        }
        let Some(tls) = &self.tls else {
            return Ok(Dialled {
                stream: Box::new(stream),
                certificate: None,
            });
        };
        let stream = tls::handshake(stream, tls).await.context("handshake")?;
        let certificates = stream.get_ref().1.peer_certificates();
        let certificate = certificates
            .and_then(<[_]>::first)
            .map(|certificate| certificate.to_vec());
        Ok(Dialled {
            stream: Box::new(stream),
            certificate,
        })
    }

    /// A server name with a dot at its end, or with a control character: only [`openssl`] sends it.
    pub fn openssl_name(&self) -> Option<&str> {
        let name = self.tls.as_ref()?.sni.as_deref()?;
        let is_odd = name.ends_with('.') || name.contains(char::is_control);
        is_odd.then_some(name)
    }
}
