//! Ways of requests through a snippet.

use std::collections::BTreeMap;

use sluice_ir::Condition;
use sluice_syntax::variables::{Segment, segments};

use super::conditions::literal;

/// Bytes of a variable.
const MAX_VALUE: usize = 100;
/// Requests that are treated alike so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) conditions: Vec<Condition>,
    pub(super) flags: BTreeMap<String, String>,
}

impl Branch {
    /// `set $flag "${flag}1"`: texts, and variables that the snippet has set on this branch.
    pub(super) fn set(mut self, name: &str, value: &str) -> Option<Branch> {
        let parts = segments(value).map(|segment| match segment {
            Segment::Text(text) => Some(text),
            Segment::Variable { name, .. } => {
                let set = self.flags.get(&name.to_ascii_lowercase());
                set.map(String::as_str)
            }
            Segment::Dollar => None,
        });
        let value: String = parts.collect::<Option<_>>()?;
        let value = literal(&value).filter(|value| value.len() <= MAX_VALUE)?;
        self.flags.insert(name.to_owned(), value);
        Some(self)
    }

    /// The branch without conditions that others say more than.
    pub(super) fn without(&self, less: &[Condition]) -> Branch {
        let mut branch = self.clone();
        branch.conditions.retain(|one| !less.contains(one));
        branch
    }

    /// The branch with more conditions; `None`: no request is on it.
    fn with(&self, more: &[Condition]) -> Option<Branch> {
        let is_opposite = |one: &Condition| {
            let mut others = self.conditions.iter();
            others.any(|other| other.test == one.test && other.negated != one.negated)
        };
        if more.iter().any(is_opposite) {
            return None;
        }
        let mut branch = self.clone();
        for condition in more {
            if !branch.conditions.contains(condition) {
                branch.conditions.push(condition.clone());
            }
        }
        Some(branch)
    }
}

/// Each branch with the conditions of each way.
pub(super) fn on_ways(branches: &[Branch], ways: &[Vec<Condition>]) -> Vec<Branch> {
    let of_way = |way: &Vec<Condition>| -> Vec<Branch> {
        let more = branches.iter().filter_map(|branch| branch.with(way));
        more.collect()
    };
    ways.iter().flat_map(of_way).collect()
}
