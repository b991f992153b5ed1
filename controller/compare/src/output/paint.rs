//! Colours of a terminal.

use anstyle::{AnsiColor, Effects, Style};

use crate::findings::Verdict;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    pub(super) colours: bool,
}

impl Paint {
    pub(super) fn verdict(self, verdict: Verdict) -> String {
        let style = match verdict {
            Verdict::Same | Verdict::SameShares => AnsiColor::Green.on_default(),
            Verdict::Differs => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Verdict::NotJudged => AnsiColor::Yellow.on_default(),
        };
        self.text(verdict.words(), style)
    }

    /// Text that is read after the rest.
    pub(super) fn dimmed(self, text: &str) -> String {
        self.text(text, Style::new().effects(Effects::DIMMED))
    }

    fn text(self, text: &str, style: Style) -> String {
        match self.colours {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }
}
