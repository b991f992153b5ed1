//! Values of variables on branches: `set`, and directives that read them.

use sluice_ir::ResponseContent;

use super::{CLOSED, Responses};
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::rewrite::branch::{Branch, on_ways};
use crate::snippet::rewrite::conditions::VariableTest;
use crate::snippet::rewrite::set_variables::{self, VariableValue};
use crate::snippet::syntax::tree::Directive;

impl Responses<'_> {
    /// `set`: with groups of the host, the branches of each.
    pub(super) fn set(
        &self,
        name: &str,
        value: &str,
        branches: Vec<Branch>,
    ) -> Option<Vec<Branch>> {
        let Some(of_hosts) = self.groups_of_hosts(&[value]) else {
            let captures = self.captures.as_ref();
            let set = |branch: Branch| branch.set(name, value, captures);
            return branches.into_iter().map(set).collect();
        };
        let groups = self.host_groups.as_ref()?;
        let of_all = [groups.condition().clone()];
        let branches: Vec<_> = branches.iter().map(|it| it.without(&of_all)).collect();
        let mut all = Vec::new();
        for (host, words) in of_hosts {
            for branch in on_ways(&branches, &[vec![host]]) {
                all.push(branch.set(name, &words.concat(), None)?);
            }
        }
        // Another Ingress may give the host more names.
        for mut branch in on_ways(&branches, &[groups.others()]) {
            branch
                .variables
                .insert(name.to_owned(), VariableValue::Unknown);
            all.push(branch);
        }
        Some(all)
    }

    /// The branches with a value of a variable on each: one without is empty to nginx, where its operator or another snippet has not
    /// set it.
    pub(super) fn with_value(
        &mut self,
        name: &str,
        mut branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetError> {
        let Some(line) = self.set_variables.get(name) else {
            return Ok(branches);
        };
        for branch in &mut branches {
            if branch.variables.contains_key(name) {
                continue;
            }
            if !self.reads_unset {
                let reason = format!(
                    "variable ${name} is not always set here; begin with `set ${name} \"\";`"
                );
                return Err(SnippetError::new(*line, reason));
            }
            self.unset.insert(name.to_owned());
            let empty = VariableValue::Text(String::new());
            branch.variables.insert(name.to_owned(), empty);
        }
        Ok(branches)
    }

    /// The same of all variables in words.
    pub(super) fn with_values(
        &mut self,
        words: &[&str],
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetError> {
        let read = set_variables::read_by(words, |name| self.set_variables.contains_key(name));
        let mut names = read.iter();
        names.try_fold(branches, |branches, name| self.with_value(name, branches))
    }

    /// The branches on which a variable passes a test, and the others. Nobody goes on where it is not known.
    pub(super) fn partition(
        &mut self,
        name: &str,
        test: &VariableTest,
        directive: &Directive,
        branches: Vec<Branch>,
    ) -> Result<(Vec<Branch>, Vec<Branch>), SnippetErrors> {
        let (mut within, mut beside) = (Vec::new(), Vec::new());
        for branch in branches {
            match branch.variables.get(name) {
                Some(VariableValue::Text(value)) if test.holds(value) => within.push(branch),
                Some(VariableValue::Text(_)) | None => beside.push(branch),
                Some(VariableValue::Groups(..)) => return Err(directive.unsupported().into()),
                Some(VariableValue::Unknown) => {
                    self.respond(directive, &[branch], CLOSED, &ResponseContent::Page)?;
                }
            }
        }
        Ok((within, beside))
    }
}
