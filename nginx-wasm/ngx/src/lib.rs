//! Safe bindings to nginx for the nginx module, whose own code has no `unsafe`.
//!
//! ```text
//!   nginx ---------> extern "C" functions (directives, phases, peer, stream, timer, call)
//!                       |  check pointers once, create a handle
//!                       v
//!                    Module: callbacks of safe Rust  --- effects ---> recorded in the handle
//!                       |
//!                       v  the callback has returned
//!   nginx <--------- pause, reply, resume
//! ```
//!
//! Three rules make the safe half of this crate safe:
//!
//! 1. **One thread.** nginx calls a module from one thread of a process. No handle is `Send`, and the one thread that
//!    a module may start ([`process::spawn`]) gets no access to nginx.
//! 2. **A handle outlives its request.** [`Request`] is reference-counted, and a cleanup of the request's pool marks it
//!    as ended; from then on it returns [`Finished`]. References into a request never leave [`Request::with`].
//! 3. **Nothing here re-enters.** Actions that could end a request or call the module again (a reply, a resume) are
//!    recorded, and applied by nginx's event loop or by the phase handler when the module has returned. So a request cannot end
//!    under a reference to it.
//!
//! Absent, because the module does not need them: bodies, subrequests, shared memory, HTTP upstream filters.
#![allow(
    unsafe_code,
    reason = "nginx is C; no other crate of the workspace binds to it"
)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod address;
mod call;
mod candidates;
mod conf;
mod directives;
mod endpoint_file;
mod headers;
mod list;
mod live_request;
mod log;
mod module;
mod named_location;
mod peer;
mod phases;

mod pool;
mod precompiled;
pub mod process;
mod registration;
mod replaced_file;
mod reply;
mod request;
mod stream;
mod table;
mod timer;
mod variables;

mod worker;

pub use call::{Call, CallError, CallRequest, CallResponse};
pub use conf::{Conf, VariableIndex};
pub use headers::HeaderError;
pub use live_request::{LiveRequest, VariableError};
pub use log::{Level, log};
pub use module::{
    Arguments, Computed, Directive, Module, PeerVariables, Registered, Setter, Step,
    UpstreamHeaders,
};
#[doc(hidden)]
pub use nginx_sys;
pub use pool::OutOfMemory;
pub use precompiled::load as load_precompiled;
pub use registration::{Commands, HttpContext, Pointers};
pub use replaced_file::ReplacedFile;
pub use reply::Reply;
pub use request::{Finished, Request};
pub use table::Table;
pub use timer::Timer;
