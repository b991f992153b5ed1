//! Exceptions: rules that are removed, and variables that rules do not look at. Markers.

use sluice_ir::waf::{Directive, RuleIds, RuleSelection, Token, WafText};

use super::plain;
use super::rule::targets;
use super::words::Word;

/// Ids of one directive.
const MAX_IDS: usize = 200;

/// `None`: it is another directive.
pub(super) fn directive(name: &str, words: &[Word]) -> Option<Result<Directive, String>> {
    let words = plain(words);
    Some(match name.to_ascii_lowercase().as_str() {
        "secmarker" => match words.as_slice() {
            [name] => token(name).map(Directive::Marker),
            _ => Err("expected one name".to_owned()),
        },
        "secruleremovebyid" => ids(&words).map(RuleSelection::Ids).map(Directive::Remove),
        "secruleremovebytag" => one(&words).map(RuleSelection::Tag).map(Directive::Remove),
        "secruleremovebymsg" => one(&words)
            .map(RuleSelection::Message)
            .map(Directive::Remove),
        "secruleupdatetargetbyid" => update(&words, |id| Ok(RuleSelection::Ids(one_id(id)?))),
        "secruleupdatetargetbytag" => update(&words, |tag| Ok(RuleSelection::Tag(text(tag)?))),
        "secruleupdatetargetbymsg" => update(&words, |msg| Ok(RuleSelection::Message(text(msg)?))),
        _ => return None,
    })
}

fn update(
    words: &[&str],
    rules: impl Fn(&str) -> Result<RuleSelection, String>,
) -> Result<Directive, String> {
    match words {
        [selected, variables] => {
            // Both signs stand between variables here.
            let variables = targets(&variables.replace(',', "|"))?;
            Ok(Directive::UpdateTarget(rules(selected)?, variables))
        }
        _ => Err("expected rules and variables".to_owned()),
    }
}

/// `941100`, `942100-942999`, several of them in one word or in several.
fn ids(words: &[&str]) -> Result<Vec<RuleIds>, String> {
    let all: Option<Vec<RuleIds>> = words
        .iter()
        .flat_map(|word| word.split([' ', ',']))
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (first, last) = (id(first)?, id(last)?);
            (first <= last).then_some(RuleIds { first, last })
        })
        .collect();
    all.filter(|all| (1..=MAX_IDS).contains(&all.len()))
        .ok_or_else(|| format!("expected up to {MAX_IDS} ids of rules"))
}

/// The engine would take the first of several.
fn one_id(text: &str) -> Result<Vec<RuleIds>, String> {
    let all = ids(&[text])?;
    match all.as_slice() {
        [one] if one.first == one.last => Ok(all),
        _ => Err("expected one id".to_owned()),
    }
}

/// Without a sign, which Rust's integers may have.
fn id(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|id| is_number && *id <= i32::MAX as u32)
}

fn one(words: &[&str]) -> Result<WafText, String> {
    match words {
        [one] => text(one),
        _ => Err("expected one text".to_owned()),
    }
}

/// Without signs that the engine does not read here.
fn text(text: &str) -> Result<WafText, String> {
    let is_plain = !text.contains(['|', '%', ',']);
    let text = WafText::new(text).filter(|_| is_plain);
    text.ok_or_else(|| "expected a text without quotes and | , % \\".to_owned())
}

fn token(text: &str) -> Result<Token, String> {
    Token::new(text).ok_or_else(|| "expected a name of letters, digits and - _".to_owned())
}
