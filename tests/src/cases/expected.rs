//! The cases that are known not to pass, each with the reason: lists that only get shorter.
//!
//! One line is an id and a reason. A case that fails, or that does not apply, and is not listed as such is a fault; so is
//! one that is listed and passes, because then the list is stale and would hide it the next time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{Outcome, Played, Summary};

/// Reasons by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(BTreeMap<String, String>);

impl Reasons {
    /// Reads a list; lines that begin with `#` are for readers.
    pub fn parse(text: &str) -> Result<Reasons> {
        let mut reasons = BTreeMap::new();
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let (id, reason) = line
                .split_once(' ')
                .with_context(|| format!("{line:?} gives no reason"))?;
            let before = reasons.insert(id.to_owned(), reason.trim().to_owned());
            ensure!(before.is_none(), "{id} is listed twice");
        }
        Ok(Reasons(reasons))
    }

    /// Listed ids that no case has.
    pub fn unknown<'a>(&'a self, ids: &[String]) -> Vec<&'a str> {
        self.0
            .keys()
            .map(String::as_str)
            .filter(|id| !ids.iter().any(|known| known == id))
            .collect()
    }

    /// The list of failures that these outcomes make; what was listed before keeps its words.
    pub fn updated(&self, summary: &Summary) -> String {
        let mut text =
            "# Cases of ingress.json that fail today: id and reason. Written by `cargo xtask cases FILE \
            --update-expected PATH`;\n# a reason that somebody wrote by hand stays.\n"
                .to_owned();
        for played in &summary.played {
            let Outcome::Failed(reasons) = &played.outcome else {
                continue;
            };
            let first = reasons
                .first()
                .and_then(|reason| reason.lines().next())
                .unwrap_or_default();
            let reason = self.0.get(&played.id).map_or(first, String::as_str);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {}", played.id, reason);
        }
        text
    }

    /// Returns `true` if a case is listed.
    pub fn lists(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    fn has(&self, played: &Played) -> bool {
        self.lists(&played.id)
    }
}

/// Both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Cases that fail.
    pub failures: Reasons,
    /// Cases that cannot be played.
    pub not_applicable: Reasons,
}

impl Expected {
    /// Deviations from the list, among the played cases.
    pub fn surprises(&self, summary: &Summary) -> Vec<String> {
        let (failures, not_applicable) = (&self.failures, &self.not_applicable);
        let surprise = |played: &Played| match &played.outcome {
            Outcome::Failed(_) => (!failures.has(played)).then(|| played.to_string()),
            Outcome::NotApplicable(_) => (!not_applicable.has(played)).then(|| played.to_string()),
            Outcome::Passed => (failures.has(played) || not_applicable.has(played))
                .then(|| format!("{} passes: take it off the list", played.id)),
        };
        summary.played.iter().filter_map(surprise).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(outcomes: &[(&str, Outcome)]) -> Summary {
        let played = outcomes.iter().map(|(id, outcome)| Played {
            id: (*id).to_owned(),
            area: String::new(),
            title: String::new(),
            outcome: outcome.clone(),
        });
        Summary {
            played: played.collect(),
        }
    }

    #[test]
    fn every_outcome_but_a_pass_is_a_surprise_unless_it_is_listed_as_such() {
        let list = |text| Reasons::parse(text).unwrap();
        let expected = Expected {
            failures: list("# for readers\n\nfails broken\n"),
            not_applicable: list("cannot nobody does\n"),
        };
        let outcomes = || {
            [
                Outcome::Passed,
                Outcome::failed("status"),
                Outcome::NotApplicable(String::new()),
            ]
        };
        for (id, as_listed) in [("other", 0), ("fails", 1), ("cannot", 2)] {
            for (n, outcome) in outcomes().into_iter().enumerate() {
                let surprises = expected.surprises(&summary(&[(id, outcome)]));
                assert_eq!(surprises.is_empty(), n == as_listed, "{id}: {surprises:?}");
            }
        }
        assert_eq!(expected.failures.unknown(&["cannot".to_owned()]), ["fails"]);
        assert!(Reasons::parse("a\n").is_err() && Reasons::parse("a x\na y\n").is_err());
    }

    #[test]
    fn an_update_keeps_the_words_of_before() {
        let listed = Reasons::parse("a by hand\nb gone\n").unwrap();
        let now = summary(&[
            ("a", Outcome::failed("x")),
            ("b", Outcome::Passed),
            ("c", Outcome::failed("y\nz")),
        ]);
        let updated = Reasons::parse(&listed.updated(&now)).unwrap();
        assert_eq!(updated, Reasons::parse("a by hand\nc y").unwrap());
    }
}
