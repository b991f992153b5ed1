//! A pod on loopback that answers with its name and the request's head.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Pod {
    pub(crate) address: SocketAddr,
}

impl Pod {
    pub(crate) async fn start(name: &'static str) -> Pod {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, name));
            }
        });
        Pod { address }
    }
}

async fn answer(mut stream: TcpStream, name: &str) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).await {
            Ok(read) if read > 0 => head.push_str(&String::from_utf8_lossy(&bytes[..read])),
            _ => return,
        }
    }
    let body = format!("{name}\n{head}");
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok();
}
