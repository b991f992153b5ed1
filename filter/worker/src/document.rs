//! Documents of the log that a host takes, or refuses.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use sluice_filter_config::{InvalidConfig, PluginConfig, Tables as Update};
use sluice_filter_core::{ApplyError, PollResult};

use crate::LogLevel;

/// Why a document was not applied.
#[derive(Debug)]
pub enum DocumentError {
    /// It cannot be read.
    Invalid(InvalidConfig),
    /// Tables cannot take it.
    Refused(ApplyError),
}

impl From<InvalidConfig> for DocumentError {
    fn from(error: InvalidConfig) -> Self {
        DocumentError::Invalid(error)
    }
}

impl From<ApplyError> for DocumentError {
    fn from(error: ApplyError) -> Self {
        DocumentError::Refused(error)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentError::Invalid(error) => error.fmt(f),
            DocumentError::Refused(error) => error.fmt(f),
        }
    }
}

/// Reads a document, and gives its update to `apply`.
///
/// # Errors
///
/// It cannot be read, or is refused.
pub fn apply_document(
    document: &[u8],
    apply: impl FnOnce(Update) -> Result<(), ApplyError>,
) -> Result<(), DocumentError> {
    Ok(apply(PluginConfig::parse_tables(document)?)?)
}

/// Documents that were refused. One comes again with each poll, until the controller has another one; it is logged once.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Hash of the last one; `None` once another one is applied.
    last: Option<u64>,
}

impl Refusals {
    /// Result of a poll that brought a document, by that of [`apply_document`]. `log` hears of it if it is news.
    pub fn poll_result(
        &mut self,
        document: &[u8],
        applied: Result<(), DocumentError>,
        log: impl FnOnce(LogLevel, &str),
    ) -> PollResult {
        let (result, level, line) = match applied {
            Ok(()) => {
                self.last = None;
                return PollResult::Current;
            }
            Err(error @ DocumentError::Refused(ApplyError::Base { .. })) => {
                let line = format!("log out of step, asking for a snapshot: {error}");
                (PollResult::OutOfStep, LogLevel::Info, line)
            }
            Err(error) => {
                let line = format!("log refused, the last good tables stay: {error}");
                (PollResult::Failed, LogLevel::Error, line)
            }
        };
        let mut hasher = DefaultHasher::new();
        document.hash(&mut hasher);
        let refused = Some(hasher.finish());
        if std::mem::replace(&mut self.last, refused) != refused {
            log(level, &line);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use sluice_filter_config::Version;

    use super::*;

    fn base() -> Result<(), DocumentError> {
        let base = Version::new(1, 1);
        Err(ApplyError::Base { have: None, base }.into())
    }

    /// Result of a poll, and the lines for the log.
    fn result(
        refusals: &mut Refusals,
        document: &[u8],
        applied: Result<(), DocumentError>,
    ) -> (PollResult, Option<(LogLevel, String)>) {
        let mut line = None;
        let log = |level, text: &str| line = Some((level, text.to_owned()));
        let result = refusals.poll_result(document, applied, log);
        (result, line)
    }

    #[test]
    fn a_document_is_told_of_once_until_another_one_is_applied() {
        let mut refusals = Refusals::default();
        let mut result = |document: &[u8], applied| result(&mut refusals, document, applied);
        let (out_of_step, line) = result(b"a", base());
        assert_eq!(out_of_step, PollResult::OutOfStep);
        assert!(line.is_some_and(|(level, _)| level == LogLevel::Info));
        assert_eq!(result(b"a", base()).1, None, "again");
        assert!(result(b"b", base()).1.is_some(), "another one");
        assert_eq!(result(b"c", Ok(())), (PollResult::Current, None));
        assert!(result(b"b", base()).1.is_some(), "news again");
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let applied = apply_document(b"{}", |_| unreachable!("there are no tables in it"));
        let (result, line) = result(&mut Refusals::default(), b"{}", applied);
        assert_eq!(result, PollResult::Failed);
        let (level, line) = line.expect("news");
        assert_eq!(level, LogLevel::Error);
        assert!(
            line.starts_with("log refused, the last good tables stay: plugin configuration"),
            "{line}"
        );
    }
}
