//! Digest authentication, RFC 7616 with `qop=auth`, against files as `htdigest` writes them.
//!
//! ```text
//!   Authorization --Credentials--+--> Users::verify    is it the user's answer to this nonce, path and method?
//!   htdigest text ------Users----+
//!   the nonce in it --NonceKey::decode--> Nonce --> Replays::admit    is it ours, recent, and used for the first time?
//! ```
//!
//! Pure: time and random bytes are arguments.
//!
//! Absent on purpose: `auth-int`, for which the whole body would have to be here; RFC 2069, whose answers can be replayed; sockets,
//! clocks, and any way to see a hash.

mod algorithm;
mod credentials;
mod nonce;
mod replays;
mod users;

pub use algorithm::Algorithm;
pub use credentials::Credentials;
pub use nonce::{LIFETIME, Nonce, NonceKey};
pub use replays::Replays;
pub use users::{InvalidLine, Users, Version};
