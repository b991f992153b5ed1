//! A controller that answers when the test says so, on TCP or on a Unix socket.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

/// Answers all polls with one document, or none as long as there is none.
pub(crate) struct Controller {
    document: watch::Sender<Option<Arc<[u8]>>>,
    polls: watch::Receiver<usize>,
}

impl Controller {
    /// On TCP.
    pub(crate) async fn on_tcp(addr: SocketAddr) -> Result<Controller> {
        let listener = TcpListener::bind(addr).await?;
        let (controller, poll) = Controller::new();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(poll.clone().answer(stream));
            }
        });
        Ok(controller)
    }

    /// On a Unix socket.
    pub(crate) fn on_socket(path: &Path) -> Result<Controller> {
        let listener = UnixListener::bind(path)?;
        let (controller, poll) = Controller::new();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(poll.clone().answer(stream));
            }
        });
        Ok(controller)
    }

    fn new() -> (Controller, Poll) {
        let (document, documents) = watch::channel(None);
        let (counter, polls) = watch::channel(0);
        (
            Controller { document, polls },
            Poll {
                documents,
                counter: Arc::new(counter),
            },
        )
    }

    /// Answers from now on.
    pub(crate) fn publish(&self, document: impl Into<Vec<u8>>) {
        self.document.send_replace(Some(document.into().into()));
    }

    /// Waits for the first poll.
    pub(crate) async fn wait_for_poll(&mut self) -> Result<()> {
        Ok(self.polls.wait_for(|polls| *polls > 0).await.map(drop)?)
    }
}

#[derive(Clone)]
struct Poll {
    documents: watch::Receiver<Option<Arc<[u8]>>>,
    counter: Arc<watch::Sender<usize>>,
}

impl Poll {
    async fn answer(mut self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            anyhow::ensure!(
                stream.read_buf(&mut head).await? > 0,
                "the poll ended early"
            );
        }
        self.counter.send_modify(|polls| *polls += 1);
        let is_first = !String::from_utf8_lossy(&head).contains("since=");
        if !is_first {
            // Nothing new is ever there; the poll is held until it is given up.
            self.documents.wait_for(|_| false).await.map(drop)?;
        }
        let document = self
            .documents
            .wait_for(Option::is_some)
            .await?
            .clone()
            .unwrap_or_default();
        let head = format!(
            "HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n",
            document.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&document).await?;
        Ok(())
    }
}
