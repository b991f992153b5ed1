//! A pod that counts its connections and closes each after some requests, without a word: as one does whose idle
//! timeout is over just when a request arrives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct PooledPod {
    addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl PooledPod {
    /// Answers this many requests on each connection; the next one finds it closed.
    pub(crate) async fn start(addr: SocketAddr, requests: usize) -> Result<PooledPod> {
        let listener = TcpListener::bind(addr).await?;
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, requests));
            }
        });
        Ok(PooledPod {
            addr,
            connections,
            task,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for PooledPod {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, requests: usize) -> std::io::Result<()> {
    let mut input = Vec::new();
    for n in 0.. {
        while !input.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
        }
        input.clear();
        if n == requests {
            return Ok(());
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .await?;
    }
    Ok(())
}
