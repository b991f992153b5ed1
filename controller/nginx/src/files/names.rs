//! Names of the files that nginx reads certificates from.

use sha2::{Digest, Sha256};
use sluice_ir::SecretId;

/// Certificate of hosts without one of their own, when the operator did not choose one.
const NO_SECRET: &str = "default";

/// The name of the file for what a host presents, without its end.
pub(crate) fn presented(id: Option<&SecretId>) -> String {
    id.map_or_else(|| NO_SECRET.to_owned(), |id| hash(id.as_str()))
}

/// With the end that a certificate has.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}.pem")
}

/// A name that no text of others can be found in.
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
