//! Colours of a terminal.

use anstyle::{AnsiColor, Effects, Style};
use sluice_translate::Severity;

use crate::finding::Verdict;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    pub(super) colours: bool,
}

impl Paint {
    /// A severity, and spaces up to a width.
    pub(super) fn severity(self, severity: Severity, width: usize) -> String {
        let style = match severity {
            Severity::Error => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Severity::Warning => AnsiColor::Yellow.on_default(),
            Severity::Note => AnsiColor::Cyan.on_default(),
        };
        self.text(&format!("{:width$}", severity.to_string()), style)
    }

    /// Words about an Ingress with this verdict.
    pub(super) fn verdict(self, verdict: Verdict, words: &str) -> String {
        let style = match verdict {
            Verdict::Unchanged => AnsiColor::Green.on_default(),
            Verdict::Differences => AnsiColor::Yellow.on_default(),
            Verdict::NotAtAll => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Verdict::OtherClass | Verdict::NotWatched => Style::new().effects(Effects::DIMMED),
        };
        self.text(words, style)
    }

    /// Styles the place of a remark.
    pub(super) fn place(self, text: &str) -> String {
        self.text(text, Style::new().effects(Effects::DIMMED))
    }

    fn text(self, text: &str, style: Style) -> String {
        match self.colours {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }
}
