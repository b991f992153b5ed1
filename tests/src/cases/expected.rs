//! The cases that are known to fail, each with the reason: a list that only gets shorter.
//!
//! One line is an id and a reason. A case that fails and is not listed is a fault; so is one that is listed and passes,
//! because then the list is stale and would hide it the next time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{Outcome, Summary};

/// Reasons by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedFailures(BTreeMap<String, String>);

impl ExpectedFailures {
    /// Reads the list; lines that begin with `#` are for readers.
    pub fn parse(text: &str) -> Result<ExpectedFailures> {
        let mut reasons = BTreeMap::new();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let (id, reason) = line.split_once(' ').with_context(|| format!("{line:?} gives no reason"))?;
            let before = reasons.insert(id.to_owned(), reason.trim().to_owned());
            ensure!(before.is_none(), "{id} is listed twice");
        }
        Ok(ExpectedFailures(reasons))
    }

    /// What is not as listed, among the cases that were played.
    pub fn surprises(&self, summary: &Summary) -> Vec<String> {
        let surprise = |played: &super::Played| match (&played.outcome, self.0.get(&played.id)) {
            (Outcome::Failed(_), None) => Some(played.to_string()),
            (Outcome::Passed, Some(_)) => {
                Some(format!("{} passes: take it off the list of expected failures", played.id))
            }
            (Outcome::NotApplicable(_), Some(_)) => {
                Some(format!("{} is not applicable: take it off the list of expected failures", played.id))
            }
            _ => None,
        };
        summary.played.iter().filter_map(surprise).collect()
    }

    /// The same for a list of the cases that do not apply: whatever else does not pass is a surprise.
    pub fn not_applicable(&self, summary: &Summary) -> Vec<String> {
        let surprise = |played: &super::Played| match (&played.outcome, self.0.contains_key(&played.id)) {
            (Outcome::Failed(_), _) | (Outcome::NotApplicable(_), false) => Some(played.to_string()),
            (Outcome::Passed, true) => Some(format!("{} passes: take it off the list", played.id)),
            _ => None,
        };
        let ids: Vec<String> = summary.played.iter().map(|played| played.id.clone()).collect();
        let unknown = self.unknown(&ids).into_iter().map(|id| format!("{id} is listed, but no case"));
        summary.played.iter().filter_map(surprise).chain(unknown).collect()
    }

    /// Listed ids that no case has.
    pub fn unknown<'a>(&'a self, ids: &[String]) -> Vec<&'a str> {
        self.0.keys().map(String::as_str).filter(|id| !ids.iter().any(|known| known == id)).collect()
    }

    /// The list that these outcomes make; what was listed before keeps its words.
    pub fn updated(&self, summary: &Summary) -> String {
        let mut text =
            "# Cases of ingress.json that fail today: id and reason. Written by `cargo xtask cases FILE \
            --update-expected PATH`;\n# a reason that somebody wrote by hand stays.\n"
                .to_owned();
        for played in &summary.played {
            let Outcome::Failed(reasons) = &played.outcome else { continue };
            let first = reasons.first().and_then(|reason| reason.lines().next()).unwrap_or_default();
            let reason = self.0.get(&played.id).map_or(first, String::as_str);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {}", played.id, reason);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::Played;
    use super::*;

    fn summary(outcomes: &[(&str, Outcome)]) -> Summary {
        let played = outcomes.iter().map(|(id, outcome)| Played {
            id: (*id).to_owned(),
            area: String::new(),
            title: String::new(),
            outcome: outcome.clone(),
        });
        Summary { played: played.collect() }
    }

    #[test]
    fn only_what_is_not_listed_is_a_surprise_and_so_is_what_passes() {
        let listed = ExpectedFailures::parse("# for readers\n\na broken\nb broken too\n").unwrap();
        let failed = || Outcome::failed("status");
        let as_listed = summary(&[("a", failed()), ("b", failed()), ("c", Outcome::Passed)]);
        assert_eq!(listed.surprises(&as_listed), [""; 0]);
        let other =
            summary(&[("a", Outcome::Passed), ("c", failed()), ("b", Outcome::NotApplicable(String::new()))]);
        assert_eq!(listed.surprises(&other).len(), 3);
        assert_eq!(listed.unknown(&["a".to_owned()]), ["b"]);
        assert!(ExpectedFailures::parse("a\n").is_err() && ExpectedFailures::parse("a x\na y\n").is_err());
    }

    #[test]
    fn an_update_keeps_the_words_of_before() {
        let listed = ExpectedFailures::parse("a by hand\nb gone\n").unwrap();
        let now =
            summary(&[("a", Outcome::failed("x")), ("b", Outcome::Passed), ("c", Outcome::failed("y\nz"))]);
        let updated = ExpectedFailures::parse(&listed.updated(&now)).unwrap();
        assert_eq!(updated, ExpectedFailures::parse("a by hand\nc y").unwrap());
    }
}
