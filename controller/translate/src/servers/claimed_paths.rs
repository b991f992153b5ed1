//! The paths of one host, and who has them.

use std::collections::BTreeMap;

use sluice_syntax::path::PathType;

use super::path_rule::PathRule;
use super::step_counter;

/// Path rules in the order in which they were claimed, found by their path.
#[derive(Debug, Default)]
pub(super) struct ClaimedPaths {
    rules: Vec<PathRule>,
    by_path: BTreeMap<String, Positions>,
}

/// Positions of the rules of one path.
#[derive(Debug, Default)]
struct Positions {
    exact: Option<usize>,
    prefix: Option<usize>,
}

impl Positions {
    fn slot(&mut self, kind: PathType) -> &mut Option<usize> {
        match kind {
            PathType::Exact => &mut self.exact,
            PathType::Prefix => &mut self.prefix,
        }
    }
}

impl ClaimedPaths {
    fn position(&self, path: &str, kind: PathType) -> Option<usize> {
        let positions = self.by_path.get(path)?;
        match kind {
            PathType::Exact => positions.exact,
            PathType::Prefix => positions.prefix,
        }
    }

    pub(super) fn rule(&self, path: &str, kind: PathType) -> Option<&PathRule> {
        let position = self.position(path, kind)?;
        step_counter::step();
        self.rules.get(position)
    }

    pub(super) fn rule_mut(&mut self, path: &str, kind: PathType) -> Option<&mut PathRule> {
        let position = self.position(path, kind)?;
        step_counter::step();
        self.rules.get_mut(position)
    }

    /// Of a path that is not claimed.
    pub(super) fn push(&mut self, rule: PathRule) {
        step_counter::step();
        let position = self.rules.len();
        match self.by_path.get_mut(&rule.path) {
            Some(positions) => *positions.slot(rule.kind) = Some(position),
            None => {
                let mut positions = Positions::default();
                *positions.slot(rule.kind) = Some(position);
                self.by_path.insert(rule.path.clone(), positions);
            }
        }
        self.rules.push(rule);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PathRule> {
        self.rules.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PathRule> {
        self.rules.iter_mut()
    }

    /// Both rules of each path that has two: the exact one first.
    pub(super) fn twins(&self) -> impl Iterator<Item = (&PathRule, &PathRule)> {
        step_counter::counted(self.by_path.values()).filter_map(|positions| {
            Some((
                self.rules.get(positions.exact?)?,
                self.rules.get(positions.prefix?)?,
            ))
        })
    }

    pub(super) fn without(self, is_out: impl Fn(&PathRule) -> bool) -> Self {
        let mut kept = ClaimedPaths::default();
        self.rules
            .into_iter()
            .filter(|rule| !is_out(rule))
            .for_each(|rule| kept.push(rule));
        kept
    }

    pub(super) fn into_rules(self) -> Vec<PathRule> {
        self.rules
    }
}
