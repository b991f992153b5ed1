//! Safe wrapper around nginx for the nginx module, whose own code has no `unsafe`.
//!
//! ```text
//!   nginx ---------> extern "C" functions (config, phases, peer, stream, timer, call)
//!                       |  check pointers once, make a handle
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
//!    a module may start ([`process::spawn`]) is given nothing of nginx.
//! 2. **A handle outlives its request.** [`Request`] is counted, and the request's pool tells it when the request
//!    is gone; from then on it answers [`Finished`]. References into a request never leave [`Request::with`].
//! 3. **Nothing here re-enters.** What could end a request or call the module again (a reply, a resume) is recorded
//!    and done by nginx's event loop, or by the phase handler when the module has returned. So a request cannot end
//!    under a reference to it.
//!
//! Absent: bodies, subrequests, shared memory, HTTP upstream filters. What is not here is not needed.
#![allow(
    unsafe_code,
    reason = "nginx is C; this crate is the only one of the workspace that talks to it"
)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod address;
mod call;
mod candidates;
mod conf;
mod directives;
mod headers;
mod list;
mod log;
mod module;
mod peer;
mod phases;
mod pods;
mod pool;
mod precompiled;
pub mod process;
mod registration;
mod reply;
mod request;
mod stream;
mod table;
mod timer;
mod variables;
mod view;
mod worker;

pub use call::{Answer, Call, Message, NotStarted};
pub use conf::Conf;
pub use headers::Refused;
pub use log::{Level, log};
pub use module::{Arguments, Directive, Module, Peers, Registered, Set, Step};
#[doc(hidden)]
pub use nginx_sys;
pub use pool::OutOfMemory;
pub use precompiled::load as load_precompiled;
pub use registration::{Commands, HttpContext, Pointers};
pub use reply::Reply;
pub use request::{Finished, Request};
pub use table::Table;
pub use timer::Timer;
pub use view::{NotSet, View};
