//! Listeners of the controller, whoever asks: data planes, operators, the API server. A client that says nothing, or says it slowly,
//! keeps nobody else out.
//!
//! ```text
//!   TcpListener --with_write_timeout--> ServerTls::listen --> serve_router --ListenerLimits--> Router
//!   UnixListener (bind_unix) ---------------------------------^
//! ```

mod clients;
mod refused_peers;
mod serve;
mod tls;

pub use clients::{ClientAddress, ListenerLimits, with_write_timeout};
pub use serve::{bind_unix, serve_router};
pub use tls::{HandshakeLimits, ServerTls, TlsFile, TlsFiles, TlsListener};
