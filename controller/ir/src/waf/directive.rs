//! Directives, one a line.

use std::fmt;

use serde::{Serialize, Serializer};

use super::action::{Action, quoted};
use super::operator::Operator;
use super::text::{SettingValue, Token, WafText};
use super::variable::{Target, joined};

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// A setting of the engine, with a value that its name allows.
    Setting(&'static str, SettingValue),
    /// `SecDefaultAction`
    DefaultAction(Vec<Action>),
    /// `SecAction`
    Action(Vec<Action>),
    /// `SecRule`
    Rule(Rule),
    /// `SecMarker`
    Marker(Token),
    /// `SecRuleRemoveById` and its like.
    Remove(RuleSelection),
    /// `SecRuleUpdateTargetById` and its like.
    UpdateTarget(RuleSelection, Vec<Target>),
}

/// `SecRule`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Variables.
    pub targets: Vec<Target>,
    /// `!`: it matches where the operator does not.
    pub is_negated: bool,
    /// Comparison.
    pub operator: Operator,
    /// Consequences.
    pub actions: Vec<Action>,
}

/// Rules that a directive changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSelection {
    /// By id.
    Ids(Vec<RuleIds>),
    /// By tag.
    Tag(WafText),
    /// By message.
    Message(WafText),
}

/// Ids from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub struct RuleIds {
    pub first: u32,
    pub last: u32,
}

impl Directive {
    /// Actions that it has.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        match self {
            Directive::DefaultAction(actions) | Directive::Action(actions) => actions,
            Directive::Rule(rule) => &rule.actions,
            Directive::Setting(..)
            | Directive::Marker(_)
            | Directive::Remove(_)
            | Directive::UpdateTarget(..) => &[],
        }
    }

    /// Value that it gives a setting.
    pub(super) fn setting(&self, wanted: &str) -> Option<&str> {
        match self {
            Directive::Setting(name, value) if *name == wanted => Some(value.as_str()),
            _ => None,
        }
    }

    /// True if it has the engine reject requests, false if it has it not; `None`: it says nothing of that.
    pub(super) fn engine_is_on(&self) -> Option<bool> {
        match self {
            Directive::Setting("SecRuleEngine", value) => Some(value.as_str() == "On"),
            _ => None,
        }
    }

    /// True if it has the engine reject requests that it matches.
    pub(super) fn switches_engine_on(&self) -> bool {
        self.actions().iter().any(Action::switches_engine_on)
    }
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The one value that may hold a sign that ends a word.
            Directive::Setting(name @ "SecAuditLogRelevantStatus", value) => {
                write!(f, "{name} \"{}\"", value.as_str())
            }
            Directive::Setting(name, value) => write!(f, "{name} {}", value.as_str()),
            Directive::DefaultAction(actions) => write!(f, "SecDefaultAction {}", quoted(actions)),
            Directive::Action(actions) => write!(f, "SecAction {}", quoted(actions)),
            Directive::Rule(rule) => {
                let sign = if rule.is_negated { "!" } else { "" };
                let targets = joined(&rule.targets);
                write!(f, "SecRule {targets} \"{sign}{}\"", rule.operator)?;
                if rule.actions.is_empty() {
                    return Ok(());
                }
                write!(f, " {}", quoted(&rule.actions))
            }
            Directive::Marker(name) => write!(f, "SecMarker {name}"),
            Directive::Remove(RuleSelection::Ids(ids)) => {
                f.write_str("SecRuleRemoveById")?;
                ids.iter().try_for_each(|ids| write!(f, " {ids}"))
            }
            Directive::Remove(RuleSelection::Tag(tag)) => {
                write!(f, "SecRuleRemoveByTag \"{tag}\"")
            }
            Directive::Remove(RuleSelection::Message(message)) => {
                write!(f, "SecRuleRemoveByMsg \"{message}\"")
            }
            Directive::UpdateTarget(RuleSelection::Ids(ids), targets) => {
                f.write_str("SecRuleUpdateTargetById")?;
                ids.iter().try_for_each(|ids| write!(f, " {ids}"))?;
                write!(f, " {}", joined(targets))
            }
            Directive::UpdateTarget(RuleSelection::Tag(tag), targets) => {
                write!(f, "SecRuleUpdateTargetByTag \"{tag}\" {}", joined(targets))
            }
            Directive::UpdateTarget(RuleSelection::Message(message), targets) => {
                let targets = joined(targets);
                write!(f, "SecRuleUpdateTargetByMsg \"{message}\" {targets}")
            }
        }
    }
}

impl fmt::Display for RuleIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleIds { first, last } if first == last => write!(f, "{first}"),
            RuleIds { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

/// As it is written.
impl Serialize for Directive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
