//! Reasons that say more than that a directive is not supported.

use sluice_syntax::excerpt;

use super::Responses;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::headers::block_headers;
use crate::snippet::rewrite::branch::Branch;
use crate::snippet::rewrite::set_variables::VariableValue;
use crate::snippet::rewrite::wrong_pattern;
use crate::snippet::syntax::substitution::has_group;
use crate::snippet::syntax::tree::Directive;

impl Responses<'_> {
    /// `set` of a variable that is not the snippet's own. What reads it is looked at as if it were.
    pub(super) fn refuse_name(
        &mut self,
        name: String,
        directive: &Directive,
        mut branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetErrors> {
        let shown = excerpt(&name);
        let reason = format!(
            "`${shown}` is a variable of nginx or ingress-nginx, which set cannot change; use another name"
        );
        self.errors.take(Err::<(), _>(directive.because(reason)))?;
        for branch in &mut branches {
            branch
                .variables
                .insert(name.clone(), VariableValue::Unknown);
        }
        self.set_variables.entry(name).or_insert(directive.line);
        Ok(branches)
    }

    /// `if` with a condition that is not supported. Of its block only that is named which no condition would make right.
    pub(super) fn refuse_condition(
        &mut self,
        directive: &Directive,
        block: &[Directive],
    ) -> Result<(), SnippetErrors> {
        let words = directive.words();
        let wrong = wrong_pattern::wrong_pattern(words.get(1..).unwrap_or_default());
        let error = match wrong {
            Some(wrong) => directive.unsupported_for(&wrong),
            None => directive.unsupported(),
        };
        self.errors.take(Err::<(), _>(error))?;
        self.look_at(block)
    }

    fn look_at(&mut self, block: &[Directive]) -> Result<(), SnippetErrors> {
        for directive in block {
            match (directive.words().as_slice(), &directive.block) {
                (["set", variable, _], None) => {
                    if let Some(name) = variable_name(variable) {
                        self.set_variables.entry(name).or_insert(directive.line);
                    }
                }
                (["return" | "rewrite", ..], None) => {}
                (["if", ..], Some(block)) => self.look_at(block)?,
                _ if block_headers::is_one(directive) => {}
                _ => {
                    self.errors.take(Err::<(), _>(directive.unsupported()))?;
                }
            }
        }
        Ok(())
    }

    /// Words that cannot be served: perhaps because of their groups.
    pub(super) fn without_groups(&self, words: &[&str], directive: &Directive) -> SnippetError {
        if !self.lacks_hosts || !words.iter().any(|word| has_group(word)) {
            return directive.unsupported();
        }
        let reason = "groups of $host (`$1`) are supported only in snippets of an Ingress whose hosts are all known; use one if for \
                      each host";
        SnippetError {
            directive: None,
            ..directive.because(reason)
        }
    }
}

/// Name of a variable. nginx does not look at the case of its letters.
pub(super) fn variable_name(variable: &str) -> Option<String> {
    variable.strip_prefix('$').map(str::to_ascii_lowercase)
}
