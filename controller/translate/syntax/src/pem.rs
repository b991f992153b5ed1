//! PEM, as entries of Secrets hold it and as data planes get it.
//!
//! Data planes get what was read here, written anew: readers of PEM differ in what they take for a block, and one that only a data plane
//! reads was checked by nobody.

use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::PrivateKeyDer;

/// A block that was read.
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) der: Vec<u8>,
}

/// All blocks of a text. `None`: one of them is broken.
pub(crate) fn blocks(text: &str) -> Option<Vec<Block>> {
    let blocks = x509_parser::pem::Pem::iter_from_buffer(text.as_bytes());
    let block = |pem: x509_parser::pem::Pem| Block {
        label: pem.label,
        der: pem.contents,
    };
    blocks.map(|pem| Some(block(pem.ok()?))).collect()
}

/// Blocks with this label.
pub(crate) fn written<'a>(label: &str, blocks: impl IntoIterator<Item = &'a [u8]>) -> String {
    let blocks = blocks.into_iter();
    let blocks = blocks.map(|der| {
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        pem::encode_config(&Pem::new(label, der), lines)
    });
    blocks.collect()
}

/// The block of a private key.
pub(crate) fn written_key(key: &PrivateKeyDer<'_>) -> Option<String> {
    let label = match key {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        PrivateKeyDer::Pkcs8(_) => "PRIVATE KEY",
        _ => return None,
    };
    Some(written(label, [key.secret_der()]))
}
