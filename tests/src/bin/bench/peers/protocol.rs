//! The ways in which clients ask.

/// A protocol of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// HTTP/1.1 over TLS.
    Https,
    /// Over TLS.
    Http2,
    /// Unary calls over TLS; HTTP/2 without it to pods.
    Grpc,
    /// Messages on connections that were upgraded.
    WebSocket,
}

impl Protocol {
    pub(crate) const ALL: [Protocol; 5] = [
        Protocol::Http1,
        Protocol::Https,
        Protocol::Http2,
        Protocol::Grpc,
        Protocol::WebSocket,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "http1",
            Protocol::Https => "https",
            Protocol::Http2 => "http2",
            Protocol::Grpc => "grpc",
            Protocol::WebSocket => "websocket",
        }
    }

    /// As a heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Https => "HTTP/1.1 over TLS",
            Protocol::Http2 => "HTTP/2 over TLS",
            Protocol::Grpc => "gRPC over TLS",
            Protocol::WebSocket => "WebSocket messages",
        }
    }

    pub(crate) fn is_http2(self) -> bool {
        matches!(self, Protocol::Http2 | Protocol::Grpc)
    }

    /// The name that clients and servers agree on in a handshake.
    pub(crate) fn alpn(self) -> &'static str {
        if self.is_http2() { "h2" } else { "http/1.1" }
    }

    pub(crate) fn is_secure(self) -> bool {
        matches!(self, Protocol::Https | Protocol::Http2 | Protocol::Grpc)
    }
}
