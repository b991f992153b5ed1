//! Reasons why a snippet is not served.

use std::borrow::Cow;

/// Things that a report names of many.
const MOST: usize = 5;

/// The first of many texts, and how many more there are.
pub(crate) fn first_of(
    texts: impl ExactSizeIterator<Item = String>,
    between: &str,
    last: &str,
) -> String {
    let more = texts.len().saturating_sub(MOST);
    let first: Vec<String> = texts.take(MOST).collect();
    let first = first.join(between);
    match more {
        0 => first,
        more => format!("{first}{last}{more} more"),
    }
}

/// One thing in a snippet that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnippetError {
    /// Line of the snippet; the first is 1.
    pub(crate) line: usize,
    /// To be read after the line: `gzip is not supported`.
    pub(crate) reason: Cow<'static, str>,
    /// The directive that is not supported, if it is one: its name and arguments.
    pub(crate) directive: Option<Vec<String>>,
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
    pub(super) fn syntax(line: usize, why: &str) -> Self {
        SnippetError::new(line, format!("invalid nginx configuration: {why}"))
    }

    /// True if nothing behind it is worth a look: what seems wrong there may be so only because of it.
    pub(super) fn is_last(&self) -> bool {
        self.directive.is_none()
    }
}

/// Everything in a snippet that cannot be served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SnippetErrors(Vec<SnippetError>);

impl From<SnippetError> for SnippetErrors {
    fn from(error: SnippetError) -> Self {
        SnippetErrors(vec![error])
    }
}

impl SnippetErrors {
    /// Takes the errors of a part. The error: nothing behind it is worth a look.
    pub(super) fn take<T>(
        &mut self,
        part: Result<T, impl Into<SnippetErrors>>,
    ) -> Result<Option<T>, SnippetErrors> {
        let errors = match part {
            Ok(value) => return Ok(Some(value)),
            Err(errors) => errors.into(),
        };
        let is_last = errors.0.iter().any(SnippetError::is_last);
        self.0.extend(errors.0);
        if is_last {
            Err(std::mem::take(self))
        } else {
            Ok(None)
        }
    }

    /// `Err` where there are any.
    pub(super) fn check(&mut self) -> Result<(), SnippetErrors> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(std::mem::take(self)),
        }
    }

    /// Marks errors of Envoy that nginx does not have. `with_nginx`: what it cannot serve of the same snippet.
    pub(crate) fn mark_served_by_nginx(&mut self, with_nginx: Option<SnippetErrors>) {
        let others = with_nginx.unwrap_or_default().0;
        // Behind such an error nothing was looked at.
        if others.iter().any(SnippetError::is_last) {
            return;
        }
        for error in self.0.iter_mut().filter(|error| !others.contains(error)) {
            error.reason =
                format!("{} by Envoy (served with --data-plane nginx)", error.reason).into();
        }
    }

    /// All of them, in the order of their lines.
    pub(super) fn by_line(mut self) -> Vec<SnippetError> {
        self.0.sort_by_key(|error| error.line);
        self.0
    }

    /// The first of them with their lines, and what to use in place of the directives among them.
    pub(crate) fn reason(self, alternatives: impl FnOnce(&[Vec<String>]) -> String) -> String {
        let errors = self.by_line();
        let said = errors.iter();
        let said = said.map(|error| format!("line {}: {}", error.line, error.reason));
        let reason = first_of(said, "; ", "; and ");
        let directives = errors.into_iter().filter_map(|error| error.directive);
        match alternatives(&directives.collect::<Vec<_>>()).as_str() {
            "" => reason,
            instead => format!("{reason}; use {instead}"),
        }
    }

    /// The same without lines, which are those of two snippets.
    pub(crate) fn reason_without_lines(&self) -> String {
        let said = self.0.iter().map(|error| error.reason.to_string());
        first_of(said, "; ", "; and ")
    }
}
