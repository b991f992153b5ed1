//! Compression of responses.

use serde::Serialize;

use crate::is_default;

/// By algorithm; when a client takes both, it gets Brotli.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compression {
    /// RFC 1952.
    #[serde(skip_serializing_if = "is_default")]
    pub gzip: Option<CompressionSettings>,
    /// RFC 7932.
    #[serde(skip_serializing_if = "is_default")]
    pub brotli: Option<CompressionSettings>,
}

/// Responses that are compressed, and the level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompressionSettings {
    /// gzip: 1 to 9; Brotli: 0 to 11.
    pub level: u8,
    /// Bytes below which an answer stays as it is, where its length is known.
    pub min_length: u32,
    /// MIME types without parameters; `None`: any.
    pub types: Option<Vec<String>>,
}
