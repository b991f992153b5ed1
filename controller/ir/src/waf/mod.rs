//! Web application firewall: directives of ModSecurity's language as values. They are written as `Display` says, so that
//! nothing in them can be read as anything else.

mod action;
mod directive;
mod operator;
mod text;
mod variable;

use serde::Serialize;

pub use action::{Action, Assignment, CONTROLS, FLAGS, TRANSFORMATIONS};
pub use directive::{Directive, Rule, RuleIds, RuleSelection};
pub use operator::{Operator, Pattern, TEXT_OPERATORS, WITHOUT_ARGUMENT};
pub use text::{SettingValue, Token, WafText};
pub use variable::{Selector, Target, VARIABLES};

use crate::{Expression, is_default};

/// Rules of a route, or of all routes. Those of a route are added to those of all, before which they are evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waf {
    /// ModSecurity's recommended settings, which only detect.
    #[serde(skip_serializing_if = "is_default")]
    pub recommended: bool,
    /// Rules of its own, evaluated before [`Waf::core_rules`].
    #[serde(skip_serializing_if = "is_default")]
    pub rules: Vec<Directive>,
    /// The OWASP Core Rule Set.
    #[serde(skip_serializing_if = "is_default")]
    pub core_rules: bool,
    /// Id of a request in logs.
    #[serde(skip_serializing_if = "is_default")]
    pub transaction_id: Option<Expression>,
}

impl Waf {
    /// True if it may reject requests, beside the rules of all routes.
    #[must_use]
    pub fn may_block(&self, all: Option<&Waf>) -> bool {
        let own = &self.rules;
        let everywhere = all.map_or(&[][..], |all| &all.rules);
        let switches_on = own
            .iter()
            .chain(everywhere)
            .any(Directive::switches_engine_on);
        let engine = |rules: &[Directive]| rules.iter().rev().find_map(Directive::engine_is_on);
        switches_on || engine(own).or_else(|| engine(everywhere)).unwrap_or(false)
    }

    /// Value of a setting: its own, else that of all routes. `None`: neither says it.
    #[must_use]
    pub fn setting<'a>(&'a self, all: Option<&'a Waf>, name: &str) -> Option<&'a str> {
        let last = |waf: &'a Waf| waf.rules.iter().rev().find_map(|rule| rule.setting(name));
        last(self).or_else(|| last(all?))
    }

    /// True if a rule of its own, or of all routes, changes a setting so for some requests.
    #[must_use]
    pub fn controls(&self, all: Option<&Waf>, name: &str, value: &str) -> bool {
        let everywhere = all.map_or(&[][..], |all| &all.rules);
        let actions = self
            .rules
            .iter()
            .chain(everywhere)
            .flat_map(Directive::actions);
        actions
            .into_iter()
            .any(|action| action.controls(name, value))
    }
}
