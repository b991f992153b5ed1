//! `SecRule`: variables, an operator and actions.

use std::net::IpAddr;

use sluice_ir::waf::{
    Operator, Pattern, Rule, Selector, TEXT_OPERATORS, Target, Token, VARIABLES, WITHOUT_ARGUMENT,
    WafText,
};
use sluice_pattern::Subject;

use super::actions;
use super::words::Word;

/// Variables of one rule.
const MAX_TARGETS: usize = 50;
/// Variables that have no names: the whole of them is looked at.
const NO_SELECTOR: &[&str] = &["XML"];

pub(super) fn rule(words: &[Word]) -> Result<Rule, String> {
    let (variables, comparison, list) = match words {
        [variables, comparison] => (variables, comparison, None),
        [variables, comparison, list] => (variables, comparison, Some(list)),
        _ => return Err("expected variables, an operator and actions".to_owned()),
    };
    let text = comparison.text.trim();
    let (is_negated, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    Ok(Rule {
        targets: targets(&variables.text)?,
        is_negated,
        operator: operator(text)?,
        actions: list
            .map(|list| actions::list(&list.text))
            .transpose()?
            .unwrap_or_default(),
    })
}

/// Variables with `|` between them.
pub(super) fn targets(text: &str) -> Result<Vec<Target>, String> {
    let all: Vec<Target> = text.split('|').map(target).collect::<Result<_, _>>()?;
    match all.len() {
        1..=MAX_TARGETS => Ok(all),
        _ => Err(format!("expected up to {MAX_TARGETS} variables")),
    }
}

fn target(text: &str) -> Result<Target, String> {
    let text = text.trim();
    let (is_excluded, rest) = text
        .strip_prefix('!')
        .map_or((false, text), |rest| (true, rest));
    let (is_count, rest) = rest
        .strip_prefix('&')
        .map_or((false, rest), |rest| (true, rest));
    let (name, selector) = rest
        .split_once([':', '.'])
        .map_or((rest, None), |(name, selector)| (name, Some(selector)));
    let mut known = VARIABLES.iter().copied();
    let Some(variable) = known.find(|known| known.eq_ignore_ascii_case(name)) else {
        return Err(format!(
            "variable {:?} is not supported",
            crate::shortened(name)
        ));
    };
    let unknown = || format!("selector of {variable} is not supported");
    let selector = match selector {
        None => None,
        Some(_) if NO_SELECTOR.contains(&variable) => return Err(unknown()),
        Some(selector) => Some(self::selector(selector).ok_or_else(unknown)?),
    };
    Ok(Target {
        is_excluded,
        is_count,
        variable,
        selector,
    })
}

fn selector(text: &str) -> Option<Selector> {
    let Some(pattern) = text
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix('/'))
    else {
        let name = Token::new(text).filter(|name| !name.as_str().starts_with('/'));
        return name.map(Selector::Name);
    };
    // As it is written, not as it was: a slash may have come by number.
    let is_one_word = |pattern: &Pattern| {
        let written = pattern.to_string();
        !written.contains([' ', '\t', '=', '|', '\'', '/', ','])
    };
    let pattern = pattern_of(pattern).ok().filter(is_one_word);
    pattern.map(Selector::Pattern)
}

fn operator(text: &str) -> Result<Operator, String> {
    let Some(named) = text.strip_prefix('@') else {
        return pattern_of(text).map(Operator::Matches);
    };
    let (name, argument) = named.split_once(' ').unwrap_or((named, ""));
    let argument = argument.trim();
    let is = |known: &&&str| known.eq_ignore_ascii_case(name);
    if name.eq_ignore_ascii_case("rx") {
        return pattern_of(argument).map(Operator::Matches);
    }
    if let Some(known) = WITHOUT_ARGUMENT.iter().find(is) {
        return match argument {
            "" => Ok(Operator::Is(known)),
            _ => Err(format!("expected nothing behind @{known}")),
        };
    }
    let Some(known) = TEXT_OPERATORS.iter().find(is) else {
        return Err(format!(
            "operator {:?} is not supported",
            crate::shortened(named)
        ));
    };
    let text = WafText::in_double_quotes(argument).filter(|_| is_argument(known, argument));
    text.map(|text| Operator::Compares(known, text))
        .ok_or_else(|| format!("expected something else behind @{known}"))
}

/// False for an argument that the engine would refuse.
fn is_argument(operator: &str, text: &str) -> bool {
    let is_macro = text.starts_with("%{") && text.ends_with('}');
    match operator {
        "ipMatch" => text.split(',').all(|network| is_network(network.trim())),
        "eq" | "ge" | "gt" | "le" | "lt" => {
            is_macro || text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit())
        }
        "validateByteRange" => text.split(',').all(|range| {
            let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
            matches!((first.parse::<u8>(), last.parse::<u8>()), (Ok(first), Ok(last)) if first <= last)
        }),
        _ => true,
    }
}

fn is_network(text: &str) -> bool {
    let (address, prefix) = text
        .split_once('/')
        .map_or((text, None), |(a, p)| (a, Some(p)));
    let longest = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    prefix.is_none_or(|prefix| {
        let is_number = prefix.bytes().all(|byte| byte.is_ascii_digit());
        is_number && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= longest)
    })
}

/// A pattern of which is known what it costs.
fn pattern_of(text: &str) -> Result<Pattern, String> {
    let error =
        |reason: String| format!("expected a regular expression that RE2 and PCRE share: {reason}");
    let written = without_numbers(&text.replace("\\\"", "\""));
    let written = sluice_pattern::with_flags_in_groups(&written);
    sluice_pattern::check(&written, Subject::Text).map_err(error)?;
    Pattern::new(&written).ok_or_else(|| error("a control character".to_owned()))
}

/// A pattern in which no visible character is written by number: Sluice writes some so ([`Pattern`]), and rules often do (`\x3c`).
fn without_numbers(pattern: &str) -> String {
    let (mut written, mut rest) = (String::new(), pattern);
    while let Some((before, escape)) = rest.split_once('\\') {
        written.push_str(before);
        rest = if let Some((letter, behind)) = by_number(escape) {
            written.push_str(&sluice_pattern::escape(letter.encode_utf8(&mut [0; 4])));
            behind
        } else {
            let mut letters = escape.chars();
            written.push('\\');
            written.extend(letters.next());
            letters.as_str()
        };
    }
    written + rest
}

/// The character of `xHH`, and what is behind it. A blank stays a number: at an end, engines leave it out.
fn by_number(escape: &str) -> Option<(char, &str)> {
    let (digits, behind) = escape.strip_prefix('x')?.split_at_checked(2)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    (b'!'..=b'~')
        .contains(&byte)
        .then_some((char::from(byte), behind))
}
