//! Variables of a snippet's own: what is in them on a branch, and texts that have them.

use std::collections::{BTreeMap, BTreeSet};

use sluice_syntax::variables::variable_name;

use super::captures::Captures;
use crate::snippet::syntax::substitution::{Substitution, group_number, has_group};
use crate::snippet::syntax::tree::readable_directives;

/// Value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum VariableValue {
    Text(String),
    /// A text with groups of a condition on the path: `$1`.
    Groups(String, Box<Captures>),
    /// Groups of a host that another Ingress has given a name of its own.
    Unknown,
}

/// Variables by name, in lower case.
pub(super) type SetVariables = BTreeMap<String, VariableValue>;

/// Words with texts in place of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum Expanded {
    /// The groups that they have, if variables brought any.
    Words(Vec<String>, Option<Box<Captures>>),
    Unknown,
}

/// Words in which each variable that a snippet has set is what it is. `own`: groups that the words have anyway. `None`: they have groups
/// of several conditions.
pub(super) fn expanded(
    words: &[&str],
    variables: &SetVariables,
    own: Option<&Captures>,
) -> Option<Expanded> {
    let mut groups: Option<Box<Captures>> = None;
    let mut all = Vec::new();
    for word in words {
        let mut text = Substitution::default();
        let mut pieces = word.split('$');
        text.push(pieces.next().unwrap_or_default());
        for piece in pieces {
            let is_group = group_number(piece).is_some();
            let variable = variable_name(piece).filter(|_| !is_group);
            let value = variable.and_then(|(name, _)| variables.get(&name.to_ascii_lowercase()));
            let (Some((_, behind)), Some(value)) = (variable, value) else {
                text.push_behind_dollar(piece);
                continue;
            };
            match value {
                VariableValue::Text(value) => text.push(value),
                VariableValue::Groups(value, of) => {
                    if groups.as_ref().is_some_and(|known| known != of) {
                        return None;
                    }
                    groups = Some(of.clone());
                    text.push(value);
                }
                VariableValue::Unknown => return Some(Expanded::Unknown),
            }
            text.push(behind);
        }
        all.push(text.finish());
    }
    let has_own = words.iter().any(|word| has_group(word));
    let is_one = groups.is_none() || !has_own || groups.as_deref() == own;
    is_one.then_some(Expanded::Words(all, groups))
}

/// Names of the variables in words, in lower case, that `is_set_variable` holds for.
pub(in crate::snippet) fn read_by(
    words: &[&str],
    is_set_variable: impl Fn(&str) -> bool,
) -> Vec<String> {
    let pieces = words.iter().flat_map(|word| word.split('$').skip(1));
    let names = pieces.filter_map(|piece| Some(variable_name(piece)?.0.to_ascii_lowercase()));
    names.filter(|name| is_set_variable(name)).collect()
}

/// Names of all variables in a text, in lower case.
pub(crate) fn variables_in(text: &str) -> BTreeSet<String> {
    let all = readable_directives(text);
    let words: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    read_by(&words, |_| true).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_variable_does_not_get_into_its_name() {
        let text = |value: &str| VariableValue::Text(value.to_owned());
        let variables: SetVariables = [
            ("a", text("x")),
            ("empty", text("")),
            ("url", text("https://a.test")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (word, expected) in [
            ("/$a", "/x"),
            ("/${A}b", "/xb"),
            ("$url$request_uri", "https://a.test$request_uri"),
            ("$host$a", "${host}x"),
            ("$host$empty$a", "${host}x"),
            ("$host$empty-$a", "$host-x"),
            ("${host}$a", "${host}x"),
            ("$host${empty}b", "${host}b"),
            ("/$1$a", "/$1x"),
            ("/$b$$", "/$b$$"),
        ] {
            let expanded = expanded(&[word], &variables, None);
            assert_eq!(
                expanded,
                Some(Expanded::Words(vec![expected.to_owned()], None)),
                "{word}"
            );
        }
    }
}
