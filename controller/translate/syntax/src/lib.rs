//! The grammars of texts that people write into manifests, without Kubernetes: a text comes in, a value goes out.
//!
//! ```text
//!   annotations, ConfigMap keys --value.rs--> bools, sizes, times, CIDRs, names
//!        \--variables.rs--> expression.rs, template.rs: texts with nginx's variables and captured groups
//!   paths of rules --path.rs-->    entries of Secrets --certificate.rs, authorities.rs--> certificates that every data plane takes
//!   server-alias --server_alias.rs--> names of hosts
//! ```
//!
//! An error is what was expected; the caller knows what it got, and where.
//!
//! Absent on purpose: Kubernetes objects, reports, and anything that depends on other objects.

pub mod authorities;
mod cert_info;
pub mod certificate;
pub mod dns_name;
mod entry;
pub mod expression;
pub mod path;
mod pem;
mod private_key;
pub mod seclang;
pub mod server_alias;
pub mod settings;
pub mod template;
mod text;
pub mod value;
pub mod variables;

pub use cert_info::CertInfo;
pub use dns_name::{DnsName, is_dns_name};
pub use entry::Entry;
pub use expression::MAX_HEADER_BYTES;
pub use text::{excerpt, is_unprintable, printable, shortened};
pub use value::{Expected, Parsed};
