//! Outcomes of cases, and their summary.

use std::fmt;

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was as expected.
    Passed,
    /// Differences from the expectation; never empty.
    Failed(Vec<String>),
    /// Why the case cannot be played here.
    NotApplicable(String),
}

impl Outcome {
    /// Passed when there is no reason against it.
    pub fn of(reasons: Vec<String>) -> Outcome {
        if reasons.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed(reasons)
        }
    }

    /// The outcome of a case that cannot be played any further: differences so far keep it failed.
    pub fn cut_short(mut reasons: Vec<String>, cannot: String) -> Outcome {
        if reasons.is_empty() {
            return Outcome::NotApplicable(cannot);
        }
        reasons.push(format!("the rest cannot be played: {cannot}"));
        Outcome::Failed(reasons)
    }

    /// A failure with one reason.
    pub fn failed(reason: impl Into<String>) -> Outcome {
        Outcome::Failed(vec![reason.into()])
    }
}

/// A case that has been played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The case.
    pub id: String,
    /// Its area.
    pub area: String,
    /// Its title.
    pub title: String,
    /// The outcome.
    pub outcome: Outcome,
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Played {
            id, title, outcome, ..
        } = self;
        match outcome {
            Outcome::Passed => write!(f, "passed          {id}  {title}"),
            Outcome::NotApplicable(reason) => write!(f, "not applicable  {id}  {title}: {reason}"),
            Outcome::Failed(reasons) => {
                write!(f, "FAILED          {id}  {title}")?;
                reasons
                    .iter()
                    .try_for_each(|reason| write!(f, "\n    {}", reason.replace('\n', "\n    ")))
            }
        }
    }
}

/// All that has been played.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// In the order of the file.
    pub played: Vec<Played>,
}

impl Summary {
    /// Cases that passed.
    pub fn passed(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Passed)
    }

    /// Cases that failed.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// Cases that cannot be played.
    pub fn not_applicable(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::NotApplicable(_)))
    }

    fn count(&self, of: impl Fn(&Outcome) -> bool) -> usize {
        self.played
            .iter()
            .filter(|played| of(&played.outcome))
            .count()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed) = (self.passed(), self.failed());
        write!(
            f,
            "passed {passed} / failed {failed} / not applicable {}",
            self.not_applicable()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_failed_is_never_not_applicable() {
        let cannot = || "check 2: paint echo blue".to_owned();
        assert_eq!(
            Outcome::cut_short(Vec::new(), cannot()),
            Outcome::NotApplicable(cannot())
        );
        let Outcome::Failed(reasons) =
            Outcome::cut_short(vec!["check 1: status".to_owned()], cannot())
        else {
            panic!("it has failed");
        };
        assert_eq!(reasons[0], "check 1: status");
        assert!(reasons[1].contains(&cannot()), "{reasons:?}");
    }
}
