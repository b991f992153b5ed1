//! Lists of actions.

use sluice_ir::waf::{Action, Assignment, CONTROLS, FLAGS, TRANSFORMATIONS, Token, WafText};

use super::rule::targets;

/// Actions of one list.
const MAX_ACTIONS: usize = 200;
const TEXTS: &[&str] = &[
    "accuracy", "logdata", "maturity", "msg", "rev", "tag", "ver",
];
const SEVERITIES: &[&str] = &[
    "EMERGENCY",
    "ALERT",
    "CRITICAL",
    "ERROR",
    "WARNING",
    "NOTICE",
    "INFO",
    "DEBUG",
];

pub(super) fn list(text: &str) -> Result<Vec<Action>, String> {
    let items = split(text)?;
    if items.len() > MAX_ACTIONS {
        return Err(format!(
            "expected up to {MAX_ACTIONS} actions, got {}",
            items.len()
        ));
    }
    items.into_iter().map(action).collect()
}

/// Phase of default actions, which are those that the engine takes.
pub(super) fn default_phase(actions: &[Action]) -> Result<String, String> {
    let flags = [
        "deny",
        "drop",
        "pass",
        "log",
        "nolog",
        "auditlog",
        "noauditlog",
    ];
    let is_suitable = |action: &Action| match action {
        Action::Flag(name) => flags.contains(name),
        Action::Word("t", value) => value.as_str() != "none",
        Action::Word(name, _) => matches!(*name, "phase" | "status"),
        Action::Text(name, _) => *name == "tag",
        Action::Set(..) => true,
        Action::Control(..) | Action::ControlTarget(..) => false,
    };
    if let Some(action) = actions.iter().find(|action| !is_suitable(action)) {
        return Err(format!("{action} is no default action"));
    }
    let mut phases = actions.iter().filter_map(|action| action.word("phase"));
    match (phases.next(), phases.next()) {
        (Some(phase), None) if are_disruptive(actions) => Ok(phase.to_owned()),
        (Some(_), None) => Err("expected deny, drop or pass".to_owned()),
        _ => Err("expected one phase".to_owned()),
    }
}

/// True if one of them says what becomes of the request.
pub(super) fn are_disruptive(actions: &[Action]) -> bool {
    let flags = ["allow", "block", "deny", "drop", "pass"];
    actions
        .iter()
        .any(|action| flags.iter().any(|flag| action.is(flag)) || action.word("allow").is_some())
}

/// Ids in a list whose other actions may be any. `None`: something in the place of an id is none.
pub(super) fn ids(text: &str) -> Option<Vec<u32>> {
    let items = split(text).ok()?.into_iter();
    let ids = items.filter_map(|item| {
        let (name, value) = item.split_once(':')?;
        let is_id = name.trim().eq_ignore_ascii_case("id");
        is_id.then(|| id(inside_quotes(value.trim())))
    });
    ids.collect()
}

/// Commas inside of single quotes separate nothing, and a quote behind a backslash ends nothing.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut is_inside, mut is_escaped) = (false, false);
    let items: Vec<&str> = text
        .split(|letter: char| {
            is_inside ^= letter == '\'' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            letter == ',' && !is_inside
        })
        .map(str::trim)
        .collect();
    match is_inside {
        false => Ok(items),
        true => Err("expected a quote at the end of a text".to_owned()),
    }
}

fn action(text: &str) -> Result<Action, String> {
    let unknown = || format!("action {:?} is not supported", crate::shortened(text));
    let Some((name, value)) = text.split_once(':') else {
        return flag(text).ok_or_else(unknown);
    };
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let value_of =
        |texts: &'static [&'static str]| texts.iter().find(|known| **known == name).copied();
    if let Some(name) = value_of(TEXTS) {
        let text = WafText::new(inside_quotes(value)).map(|text| Action::Text(name, text));
        return text.ok_or_else(|| {
            format!("expected a text without quotes and backslashes behind {name}")
        });
    }
    match name.as_str() {
        "setvar" => set(inside_quotes(value)).ok_or_else(unknown),
        "ctl" => control(value).ok_or_else(unknown),
        _ => word(&name, inside_quotes(value)).ok_or_else(unknown),
    }
}

fn flag(text: &str) -> Option<Action> {
    let known = FLAGS
        .iter()
        .find(|known| known.eq_ignore_ascii_case(text))?;
    Some(Action::Flag(known))
}

fn word(name: &str, value: &str) -> Option<Action> {
    let lower = value.to_ascii_lowercase();
    let number = || number(value);
    let (name, value) = match name {
        "id" => ("id", id(value)?.to_string()),
        "phase" => match lower.as_str() {
            "request" | "2" => ("phase", "2".to_owned()),
            "response" | "4" => ("phase", "4".to_owned()),
            "logging" | "5" => ("phase", "5".to_owned()),
            "1" | "3" => ("phase", lower),
            _ => return None,
        },
        // Others are no rejections.
        "status" => (
            "status",
            number()
                .filter(|status| (400..600).contains(status))?
                .to_string(),
        ),
        "severity" => {
            let named = SEVERITIES
                .iter()
                .find(|known| known.eq_ignore_ascii_case(value));
            let numbered = || {
                number()
                    .filter(|severity| *severity < 8)
                    .map(|severity| severity.to_string())
            };
            (
                "severity",
                named.map(|known| (*known).to_owned()).or_else(numbered)?,
            )
        }
        "t" => {
            let known = TRANSFORMATIONS
                .iter()
                .find(|known| known.eq_ignore_ascii_case(value))?;
            ("t", (*known).to_owned())
        }
        "allow" if matches!(lower.as_str(), "request" | "phase") => ("allow", lower),
        "skipafter" => ("skipAfter", value.to_owned()),
        _ => return None,
    };
    Some(Action::Word(name, Token::new(&value)?))
}

fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The engine keeps ids in 32 bits.
fn id(text: &str) -> Option<u32> {
    number(text).filter(|id| (1..=i32::MAX as u32).contains(id))
}

/// `tx.name=value`, `tx.name=+1`, `!tx.name`.
fn set(text: &str) -> Option<Action> {
    let (is_removed, text) = text
        .strip_prefix('!')
        .map_or((false, text), |rest| (true, rest));
    let prefix = text.get(..3)?;
    let rest = text.get(3..)?;
    let is_tx = matches!(prefix.to_ascii_lowercase().as_str(), "tx." | "tx:");
    let (name, value) = rest
        .split_once('=')
        .map_or((rest, None), |(n, v)| (n, Some(v)));
    let name = Token::new(name).filter(|name| is_tx && !name.as_str().starts_with('/'))?;
    let of = |value: &str| WafText::of_variable(value);
    let assignment = match (is_removed, value) {
        (true, None) => Assignment::Remove,
        (true, Some(_)) => return None,
        (false, None) => Assignment::One,
        (false, Some(value)) => match value.split_at_checked(1)? {
            ("+", rest) => Assignment::Add(of(rest)?),
            ("-", rest) => Assignment::Subtract(of(rest)?),
            _ => Assignment::Value(of(value)?),
        },
    };
    Some(Action::Set(name, assignment))
}

fn control(text: &str) -> Option<Action> {
    let (name, value) = text.split_once('=')?;
    let known = CONTROLS
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name.trim()))?;
    let value = value.trim();
    let one_of = |values: &[&'static str]| {
        let mut values = values.iter().copied();
        values.find(|known| known.eq_ignore_ascii_case(value))
    };
    let value = match *known {
        "ruleEngine" => one_of(&["On", "Off", "DetectionOnly"])?,
        "auditEngine" => one_of(&["On", "Off", "RelevantOnly"])?,
        "requestBodyAccess" | "forceRequestBodyVariable" => one_of(&["On", "Off"])?,
        "requestBodyProcessor" => one_of(&["JSON", "URLENCODED", "XML"])?,
        "ruleRemoveTargetById" | "ruleRemoveTargetByTag" => {
            let (rules, target) = value.split_once(';')?;
            let is_id = *known == "ruleRemoveTargetByTag" || is_id(rules);
            targets(target).ok().filter(|_| is_id)?;
            return Some(Action::ControlTarget(
                known,
                Token::new(rules)?,
                Token::new(target)?,
            ));
        }
        "ruleRemoveById" if value.split('-').all(is_id) && value.split('-').count() <= 2 => value,
        "ruleRemoveByTag" => value,
        "auditLogParts" => return audit_parts(known, value),
        _ => return None,
    };
    Some(Action::Control(known, Token::new(value)?))
}

/// `+E`, `-C`: the engine knows no others.
fn audit_parts(name: &'static str, value: &str) -> Option<Action> {
    let parts = value.strip_prefix('-')?;
    let are_parts =
        !parts.is_empty() && parts.chars().all(|letter| "ABCDEFGHIJKZ".contains(letter));
    Some(Action::Control(
        name,
        Token::new(value).filter(|_| are_parts)?,
    ))
}

fn is_id(text: &str) -> bool {
    (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn inside_quotes(text: &str) -> &str {
    let inner = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    inner.unwrap_or(text)
}
