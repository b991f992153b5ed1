//! The grammar of `after`: the few sentences that cases use.
//!
//! | sentence | effect |
//! |---|---|
//! | `scale SERVICE to N`, `scale SERVICE A to B in steps` | that many pods |
//! | `set NAME=VALUE [on INGRESS]`, `set NAME=VALUE in the ConfigMap` | an annotation, `ingressClassName`, or a setting |
//! | `remove NAME`, `remove spec.tls`, `remove spec.defaultBackend` | the reverse |
//! | `replace annotation by NAME=VALUE`, `replace secret NAME by tls for HOST` | both at once |
//! | `delete KIND NAME`, `delete NAME`, `delete secret`, `delete auth service`, `delete it` | the object is gone |
//! | `create KIND NAME`, `create secret NAME tls for HOST` | it is there (again) |
//! | `wait N s` | time passes |
//!
//! Several are joined by `and then`, `then` or `;`.

use std::collections::BTreeSet;
use std::time::Duration;

use regex::Regex;

use super::schema::{Case, Secret};

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// So many pods of a service.
    Scale(String, u16),
    /// An annotation, a field or a setting, where `whose` says.
    Set {
        /// Its name.
        name: String,
        /// `None` removes it.
        value: Option<String>,
        /// The object.
        whose: Whose,
    },
    /// A Secret's words.
    Describe(String, Secret),
    /// The object is gone; without a name it is the only one of its kind.
    Delete(Option<Kind>, Option<String>),
    /// The object is there.
    Create(Kind, String),
    /// Deletes the object that was created or deleted last.
    DeleteIt,
    /// Time passes.
    Wait(Duration),
}

/// The object of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Wherever it belongs by its name.
    Unsaid,
    /// The controller's ConfigMap.
    ConfigMap,
    /// This Ingress.
    Ingress(String),
}

/// A kind of object that comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An Ingress.
    Ingress,
    /// A Service.
    Service,
    /// A Secret.
    Secret,
    /// A ConfigMap that is not the controller's.
    ConfigMap,
}

impl Kind {
    fn parse(word: &str) -> Option<Kind> {
        match word.to_ascii_lowercase().as_str() {
            "ingress" => Some(Kind::Ingress),
            "service" | "svc" => Some(Kind::Service),
            "secret" => Some(Kind::Secret),
            "configmap" => Some(Kind::ConfigMap),
            _ => None,
        }
    }
}

/// Objects that an action creates before any deletes them: they are not there at the beginning.
pub fn created_later(case: &Case) -> BTreeSet<(Kind, String)> {
    let (mut created, mut known) = (BTreeSet::new(), BTreeSet::new());
    for action in of(case) {
        match action {
            Action::Create(kind, name) if known.insert((kind, name.clone())) => {
                created.insert((kind, name));
            }
            Action::Delete(Some(kind), Some(name)) => drop(known.insert((kind, name))),
            _ => {}
        }
    }
    created
}

/// Returns `true` if the world of the case changes.
pub fn are_in(case: &Case) -> bool {
    case.checks
        .iter()
        .any(|check| !check.when.after.0.is_empty())
}

/// Returns `true` if an action changes the controller's ConfigMap, which then must exist from the beginning.
pub fn changes_settings(case: &Case) -> bool {
    case.checks
        .iter()
        .any(|check| check.then.checksum_changed.is_some())
        || of(case).any(|action| {
            matches!(
                action,
                Action::Set {
                    whose: Whose::ConfigMap,
                    ..
                }
            )
        })
}

fn of(case: &Case) -> impl Iterator<Item = Action> {
    let texts = case.checks.iter().flat_map(|check| &check.when.after.0);
    texts.filter_map(|text| parse(text).ok()).flatten()
}

/// Reads what `after` says.
///
/// # Errors
/// The sentence that is not understood.
pub fn parse(text: &str) -> Result<Vec<Action>, String> {
    let parts = text.replace(" and then ", ";").replace(" then ", ";");
    let sentences = parts
        .split(';')
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty());
    let mut actions = Vec::new();
    for sentence in sentences {
        actions.extend(
            Sentence(sentence)
                .read()
                .ok_or_else(|| format!("the action {sentence:?} is not understood"))?,
        );
    }
    Ok(actions)
}

struct Sentence<'a>(&'a str);

impl Sentence<'_> {
    fn read(&self) -> Option<Vec<Action>> {
        let (verb, _) = self.0.split_once(' ')?;
        match verb.to_ascii_lowercase().as_str() {
            "scale" => self.scale(),
            "set" | "add" if self.0.contains('=') => self.set(),
            "create" | "add" | "apply" => self.create(),
            "replace" | "update" | "renew" | "change" => self.replace(),
            "delete" => self.delete(),
            "remove" | "unset" => self.remove().or_else(|| self.delete()),
            "wait" | "sleep" => self.wait(),
            _ => None,
        }
    }

    /// The groups of a pattern that the whole sentence matches; empty for those that took no part.
    fn groups<const N: usize>(&self, pattern: &str) -> Option<[String; N]> {
        let regex = Regex::new(&format!("^(?i:{pattern})$")).ok()?;
        let found = regex.captures(self.0)?;
        Some(std::array::from_fn(|n| {
            found
                .get(n + 1)
                .map_or("", |group| group.as_str())
                .trim()
                .to_owned()
        }))
    }

    fn scale(&self) -> Option<Vec<Action>> {
        let [service, from, to, steps] = self.groups(
            r"scale (?:service |deployment )?(\S+?)(?: from)?(?: (\d+))? to (\d+)( in steps)?(?: pods?)?",
        )?;
        let to: u16 = to.parse().ok()?;
        let from: u16 = if from.is_empty() {
            to
        } else {
            from.parse().ok()?
        };
        let counts: Vec<u16> = match (steps.is_empty(), from <= to) {
            (true, _) => vec![to],
            (false, true) => (from + 1..=to).collect(),
            (false, false) => (to..from).rev().collect(),
        };
        Some(
            counts
                .into_iter()
                .map(|count| Action::Scale(service.clone(), count))
                .collect(),
        )
    }

    fn set(&self) -> Option<Vec<Action>> {
        let [before, name, value, behind] = self.groups(
            r"\w+ ((?:the )?(?:annotation |configmap |field |flag )?)([\w./-]+)\s*=\s*(.*?)((?: (?:in|on|of) (?:the )?(?:configmap|ingress [\w.-]+|[\w.-]+))?)",
        )?;
        Some(vec![Action::Set {
            name,
            value: Some(value),
            whose: whose(&before, &behind),
        }])
    }

    fn remove(&self) -> Option<Vec<Action>> {
        let [before, name, behind] = self.groups(
            r"\w+ ((?:the )?(?:annotation |configmap key |setting |field )?)([\w./-]+)((?: (?:from|in|of) (?:the )?(?:configmap|ingress [\w.-]+|[\w.-]+))?)(?: section)?",
        )?;
        if Kind::parse(&name).is_some() || name.eq_ignore_ascii_case("it") {
            return None;
        }
        let before = before
            .replace("configmap key", "configmap")
            .replace("setting", "configmap");
        Some(vec![Action::Set {
            name,
            value: None,
            whose: whose(&before, &behind),
        }])
    }

    fn replace(&self) -> Option<Vec<Action>> {
        let pattern = r"\w+ (?:the )?annotation(?: ([\w./-]+))? (?:by|with) (?:the )?(?:field )?([\w./-]+)\s*=\s*(.*)";
        if let Some([old, name, value]) = self.groups(pattern) {
            let old = if old.is_empty() {
                "kubernetes.io/ingress.class".to_owned()
            } else {
                old
            };
            let removed = Action::Set {
                name: old,
                value: None,
                whose: Whose::Unsaid,
            };
            return Some(vec![
                removed,
                Action::Set {
                    name,
                    value: Some(value),
                    whose: Whose::Unsaid,
                },
            ]);
        }
        let pattern = r"\w+ (?:the )?ingressClassName (?:by|with) (?:the )?annotation(?: [\w./-]+\s*=)?\s*(.*)";
        if let Some([value]) = self.groups(pattern) {
            let name = "kubernetes.io/ingress.class".to_owned();
            let removed = Action::Set {
                name: "ingressClassName".to_owned(),
                value: None,
                whose: Whose::Unsaid,
            };
            return Some(vec![
                removed,
                Action::Set {
                    name,
                    value: Some(value),
                    whose: Whose::Unsaid,
                },
            ]);
        }
        let pattern = r"\w+ (?:the )?secret(?: ([\w./-]+))? (?:by|with|to) (?:a )?((?:new )?(?:tls for|ca).*)";
        let [name, words] = self.groups(pattern)?;
        Some(vec![Action::Describe(name, Secret::Words(words))])
    }

    fn create(&self) -> Option<Vec<Action>> {
        let pattern = r"\w+ (?:the |an? )?(?:ExternalName |TLS |canary )?(\w+) ([\w./-]+)(?: (?:with )?(tls for .*|ca.*))?";
        let [kind, name, words] = self.groups(pattern)?;
        let kind = Kind::parse(&kind)?;
        let words =
            (!words.is_empty()).then(|| Action::Describe(name.clone(), Secret::Words(words)));
        Some(
            words
                .into_iter()
                .chain([Action::Create(kind, name)])
                .collect(),
        )
    }

    fn delete(&self) -> Option<Vec<Action>> {
        let [what] = self.groups(r"\w+ (?:the )?(.+)")?;
        if what.eq_ignore_ascii_case("it") {
            return Some(vec![Action::DeleteIt]);
        }
        let words: Vec<&str> = what.split_whitespace().collect();
        let action = match words.as_slice() {
            [one] => match Kind::parse(one) {
                Some(kind) => Action::Delete(Some(kind), None),
                None => Action::Delete(None, Some((*one).to_owned())),
            },
            ["ExternalName" | "tls" | "TLS", kind, name] => {
                Action::Delete(Some(Kind::parse(kind)?), Some((*name).to_owned()))
            }
            [first, second] => match (Kind::parse(first), Kind::parse(second)) {
                (Some(kind), _) => Action::Delete(Some(kind), Some((*second).to_owned())),
                (None, Some(kind)) => Action::Delete(Some(kind), Some((*first).to_owned())),
                (None, None) => return None,
            },
            _ => return None,
        };
        Some(vec![action])
    }

    fn wait(&self) -> Option<Vec<Action>> {
        let [number, unit] =
            self.groups(r"\w+ (?:for )?([\d.]+) ?(ms|milliseconds|s|seconds?)?")?;
        let number: f64 = number.parse().ok()?;
        let seconds = if unit.starts_with('m') {
            number / 1000.0
        } else {
            number
        };
        Some(vec![Action::Wait(
            Duration::try_from_secs_f64(seconds).ok()?,
        )])
    }
}

fn whose(before: &str, behind: &str) -> Whose {
    let is_settings = |text: &str| text.to_ascii_lowercase().contains("configmap");
    if is_settings(before) || is_settings(behind) {
        return Whose::ConfigMap;
    }
    behind
        .split_whitespace()
        .last()
        .map_or(Whose::Unsaid, |name| Whose::Ingress(name.to_owned()))
}

#[cfg(test)]
mod tests;
