//! A checklist as people and programs read it.

use std::fmt::Write;

use anstyle::{AnsiColor, Effects, Style};
use serde_json::json;
use sluice_syntax::{is_unprintable, printable};

use crate::checklist::{Checklist, Status};

impl Checklist {
    /// For a terminal; `colours`: of a terminal that has them.
    #[must_use]
    pub fn text(&self, colours: bool) -> String {
        let paint = |text: &str, style: Style| match colours {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        };
        let mut text = String::new();
        for (section, checks) in self.sections() {
            let title = section.title();
            let line = "-".repeat(title.len());
            let title = paint(title, Style::new().effects(Effects::BOLD));
            writeln!(text, "{title}\n{line}").ok();
            for check in checks {
                let mark = paint(mark(check.status), style(check.status));
                writeln!(text, "{mark} {}", printable(&check.message)).ok();
                if !check.advice.is_empty() {
                    writeln!(text, "    {}", printable(&check.advice)).ok();
                }
            }
            text.push('\n');
        }
        let status = self.status();
        let mark = paint(mark(status), style(status));
        writeln!(text, "{} {mark}", self.sum()).ok();
        text
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> String {
        let sections = self.sections();
        let sections: Vec<_> = sections
            .map(|(section, checks)| json!({ "section": section, "checks": checks }))
            .collect();
        let value = json!({ "status": self.status(), "sections": sections });
        // Letters that a terminal takes for commands occur in strings only, and there an escape is the same letter.
        let text = format!("{value:#}");
        let text: String = text.chars().map(escaped_for_json).collect();
        text + "\n"
    }

    fn sum(&self) -> String {
        let count = |wanted| {
            let checks = self.sections().flat_map(|(_, checks)| checks);
            checks.filter(|check| check.status == wanted).count()
        };
        match (count(Status::Failure), count(Status::Warning)) {
            (0, 0) => "everything is as it should be".to_owned(),
            (0, warnings) => plural(warnings, "warning"),
            (failures, 0) => plural(failures, "failure"),
            (failures, warnings) => {
                format!(
                    "{}, {}",
                    plural(failures, "failure"),
                    plural(warnings, "warning")
                )
            }
        }
    }
}

/// `2 warnings`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {word}{ending}")
}

fn mark(status: Status) -> &'static str {
    match status {
        Status::Ok => "√",
        Status::Warning => "‼",
        Status::Failure => "×",
    }
}

fn style(status: Status) -> Style {
    match status {
        Status::Ok => AnsiColor::Green.on_default(),
        Status::Warning => AnsiColor::Yellow.on_default(),
        Status::Failure => AnsiColor::Red.on_default().effects(Effects::BOLD),
    }
}

/// The line ends between values stay.
fn escaped_for_json(letter: char) -> String {
    if letter == '\n' || !is_unprintable(letter) {
        return letter.to_string();
    }
    let mut units = [0; 2];
    let units = letter.encode_utf16(&mut units);
    units.iter().fold(String::new(), |mut text, unit| {
        write!(text, "\\u{unit:04x}").ok();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::Section;

    /// Everything that moves a cursor, changes colours, reorders or hides text, in C0, C1 and Unicode.
    #[test]
    fn no_letter_of_an_object_is_a_command_to_a_terminal() {
        let commands = (0..=0x10_ffff).filter_map(char::from_u32).filter(|letter| {
            letter.is_control() || "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}".contains(*letter)
        });
        for letter in commands {
            let mut list = Checklist::default();
            list.failure(
                Section::Webhook,
                format!("a{letter}b"),
                format!("c{letter}d"),
            );
            let text = list.text(false);
            assert_eq!(text.matches('\n').count(), 6, "{letter:?}: {text}");
            assert!(
                letter == '\n' || !text.contains(letter),
                "{letter:?}: {text}"
            );
            let json = list.json();
            assert!(
                letter == '\n' || !json.contains(letter),
                "{letter:?}: {json}"
            );
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            let check = &read["sections"][0]["checks"][0];
            assert_eq!(check["message"], format!("a{letter}b"));
        }
    }

    #[test]
    fn a_list_is_as_bad_as_its_worst_check() {
        let mut list = Checklist::default();
        assert_eq!(list.status(), Status::Ok);
        list.ok(Section::Rights, "fine");
        assert!(list.text(false).ends_with("as it should be √\n"));
        list.warning(Section::Rights, "odd", "look");
        assert!(list.text(false).ends_with("1 warning ‼\n"));
        list.failure(Section::KubernetesApi, "bad", "mend");
        assert_eq!(list.status(), Status::Failure);
        let expected = "\
kubernetes-api
--------------
× bad
    mend

rights
------
√ fine
‼ odd
    look

1 failure, 1 warning ×
";
        assert_eq!(list.text(false), expected);
        assert!(list.text(true).contains("\u{1b}["));
    }
}
