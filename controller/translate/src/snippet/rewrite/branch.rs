//! Ways of requests through a snippet.

use sluice_ir::Condition;

use super::captures::Captures;
use super::conditions::literal;
use super::set_variables::{self, Expanded, SetVariables, VariableValue};
use crate::snippet::syntax::substitution::{group_number, has_group};

/// Bytes of a variable.
const MAX_VALUE: usize = 100;

/// Requests that are treated alike so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    pub(in crate::snippet) conditions: Vec<Condition>,
    pub(in crate::snippet) variables: SetVariables,
}

impl Branch {
    /// `set $a "${a}1"`: texts, and variables that the snippet has set on this branch. `captures`: those of the block, for `$1`.
    pub(in crate::snippet) fn set(
        mut self,
        name: &str,
        value: &str,
        captures: Option<&Captures>,
    ) -> Option<Branch> {
        let value = match set_variables::expanded(&[value], &self.variables, captures)? {
            Expanded::Unknown => VariableValue::Unknown,
            Expanded::Words(words, None) if !has_group(value) => {
                let value = literal(&words.concat()).filter(|value| value.len() <= MAX_VALUE)?;
                VariableValue::Text(value)
            }
            Expanded::Words(words, of) => {
                let of = of.or_else(|| captures.cloned().map(Box::new))?;
                let value = Some(words.concat()).filter(|value| value.len() <= MAX_VALUE)?;
                let mut rest = value.split('$').skip(1);
                let are_groups = rest.all(|it| group_number(it).is_some());
                let is_plain = !value.chars().any(char::is_control);
                (are_groups && is_plain).then_some(VariableValue::Groups(value, of))?
            }
        };
        self.variables.insert(name.to_owned(), value);
        Some(self)
    }

    /// The branch without conditions that others say more than.
    pub(in crate::snippet) fn without(&self, less: &[Condition]) -> Branch {
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
