//! Basic authentication: passwords of a file, as nginx's `auth_basic_user_file` has them.
//!
//! ```text
//!   Authorization --Credentials--+
//!                                +--> Users::hash_of --> Hash::matches (slow)   the answer
//!   htpasswd text ------Users----+             \--> Remembered (fast)           the answer of last time
//! ```
//!
//! Pure: what is slow is run by the caller, where it may be slow; random bytes are an argument.
//!
//! Absent on purpose: sockets, clocks, and any way to see a password or a hash.

mod credentials;
mod hash;
mod remembered;
mod users;

pub use credentials::Credentials;
pub use hash::{Hash, InvalidHash, LONGEST_BCRYPT, MOST_ROUNDS};
pub use remembered::{Proof, Remembered};
pub use users::{Users, Version};
