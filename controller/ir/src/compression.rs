//! Compression of responses.

use serde::Serialize;

use crate::is_default;

/// By algorithm; when a client takes both, it gets Brotli.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compression {
    /// RFC 1952.
    #[serde(skip_serializing_if = "is_default")]
    pub gzip: Option<CompressionSettings>,
    /// Clients that do not get gzip, although they take it.
    #[serde(skip_serializing_if = "is_default")]
    pub no_gzip: Option<NoGzip>,
    /// RFC 7932.
    #[serde(skip_serializing_if = "is_default")]
    pub brotli: Option<CompressionSettings>,
}

/// Clients by their `User-Agent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoGzip {
    /// `msie6` of nginx: Internet Explorer up to 6, but for 6 with Service Pack 2.
    OldInternetExplorer,
    /// Those in which this pattern is found, whatever case the letters have.
    Regex(String),
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
