//! Delta xDS without I/O: a cache of resources, and for each client what it is to be sent.
//!
//! ```text
//!   Update --> Cache --difference, apply--> Generation
//!                |
//!   request --> Client --next--> Response --Encoder--> bytes
//! ```
//!
//! - [`cache`]: all resources of one generation; [`message`]: one of them, compressed; [`history`]: recent changes; [`version`]: a hash of a
//!   resource's bytes.
//! - [`client`]: all resource types of one client, in the order in which a change is safe (make before break).
//! - [`subscription`]: one resource type of one client; the delta protocol and the handling of a NACK.
//! - [`acknowledgement`]: the answer to a response.
//! - [`known`]: versions that a client has, shared with all others.
//! - [`unique`]: bytes that are unique per response where Envoy would skip equal ones.
//! - [`encode`]: the bytes of a response, piece by piece.
//!
//! Pure: the time is an argument. Absent on purpose: tasks, streams and everything about the content of a resource, but for [`unique`].

mod acknowledgement;
mod cache;
mod client;
mod encode;
mod history;
mod known;
mod message;
mod progress;
mod response;
mod subscription;
mod text;
mod unique;
mod version;

pub use acknowledgement::{Acknowledgement, Sent, SentName, TooManyNames};
pub use cache::{Cache, Difference, Stored};
pub use client::Client;
pub use encode::Encoder;
pub use history::Generation;
pub use progress::{Probed, Progress};
pub use response::Response;
pub use text::shortened;
pub use version::Version;
