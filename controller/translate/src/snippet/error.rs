//! Reason why a snippet is not served.

use std::borrow::Cow;

/// The first thing in a snippet that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnippetError {
    /// Line of the snippet; the first is 1.
    pub(crate) line: usize,
    /// To be read after the line: `gzip is not supported`.
    pub(crate) reason: Cow<'static, str>,
    /// Name of the directive that is not supported, if it is one.
    pub(crate) directive: Option<String>,
}

impl SnippetError {
    pub(super) fn new(line: usize, reason: impl Into<Cow<'static, str>>) -> Self {
        SnippetError {
            line,
            reason: reason.into(),
            directive: None,
        }
    }

    /// Text that nginx would refuse.
    pub(super) fn syntax(line: usize) -> Self {
        SnippetError::new(line, "invalid nginx configuration")
    }
}
