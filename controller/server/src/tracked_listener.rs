//! A listener that tells [`Peers`] who is connected.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::machines::Peers;

/// A listener whose clients are tracked.
pub(crate) struct TrackedListener<L> {
    listener: L,
    peers: Peers,
}

impl<L> TrackedListener<L> {
    pub(crate) fn new(listener: L, peers: &Peers) -> Self {
        TrackedListener {
            listener,
            peers: peers.clone(),
        }
    }
}

impl<L: Listener<Addr = SocketAddr>> Listener for TrackedListener<L> {
    type Io = TrackedStream<L::Io>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        let (stream, address) = self.listener.accept().await;
        let peer = address.ip().to_canonical();
        self.peers.connected(peer, Instant::now());
        (
            TrackedStream {
                stream,
                peer,
                peers: self.peers.clone(),
            },
            address,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection of a tracked client.
pub struct TrackedStream<S> {
    stream: S,
    peer: IpAddr,
    peers: Peers,
}

impl<S> Drop for TrackedStream<S> {
    fn drop(&mut self) {
        self.peers.disconnected(self.peer, Instant::now());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrackedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
