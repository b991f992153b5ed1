//! The paths of one host, and who has them.

use std::collections::BTreeMap;

use sluice_syntax::path::PathType;

use super::path_rule::PathRule;
use super::work;

/// Path rules in the order in which they were claimed, found by their path.
#[derive(Debug, Default)]
pub(super) struct Taken {
    rules: Vec<PathRule>,
    by_path: BTreeMap<String, Places>,
}

/// Positions of the rules of one path.
#[derive(Debug, Default)]
struct Places {
    exact: Option<usize>,
    prefix: Option<usize>,
}

impl Places {
    fn of(&mut self, kind: PathType) -> &mut Option<usize> {
        match kind {
            PathType::Exact => &mut self.exact,
            PathType::Prefix => &mut self.prefix,
        }
    }
}

impl Taken {
    fn place(&self, path: &str, kind: PathType) -> Option<usize> {
        let places = self.by_path.get(path)?;
        match kind {
            PathType::Exact => places.exact,
            PathType::Prefix => places.prefix,
        }
    }

    pub(super) fn rule(&self, path: &str, kind: PathType) -> Option<&PathRule> {
        let place = self.place(path, kind)?;
        work::step();
        self.rules.get(place)
    }

    pub(super) fn rule_mut(&mut self, path: &str, kind: PathType) -> Option<&mut PathRule> {
        let place = self.place(path, kind)?;
        work::step();
        self.rules.get_mut(place)
    }

    /// Of a path that nobody has.
    pub(super) fn push(&mut self, rule: PathRule) {
        work::step();
        let place = self.rules.len();
        match self.by_path.get_mut(&rule.path) {
            Some(places) => *places.of(rule.kind) = Some(place),
            None => {
                let mut places = Places::default();
                *places.of(rule.kind) = Some(place);
                self.by_path.insert(rule.path.clone(), places);
            }
        }
        self.rules.push(rule);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PathRule> {
        self.rules.iter()
    }

    /// Both rules of each path that has two: the exact one first.
    pub(super) fn twins(&self) -> impl Iterator<Item = (&PathRule, &PathRule)> {
        work::counted(self.by_path.values()).filter_map(|places| {
            Some((
                self.rules.get(places.exact?)?,
                self.rules.get(places.prefix?)?,
            ))
        })
    }

    pub(super) fn without(self, is_out: impl Fn(&PathRule) -> bool) -> Self {
        let mut kept = Taken::default();
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
