//! Block lists: clients that get 403 on all hosts.

use std::collections::BTreeSet;
use std::net::IpAddr;

use askama::Template;
use sluice_ir::{Blocked, Cidr, TextMatch};
use sluice_pattern::Subject;

use crate::conf::{Word, word};

/// The maps that say who is blocked; empty where no client is.
#[derive(Template)]
#[template(path = "http/blocked.conf")]
pub(crate) struct BlockedConf<'a> {
    addresses: &'a [Cidr],
    user_agents: Vec<Word>,
    referers: Vec<Word>,
    /// A request without the header is blocked as well.
    blocks_no_agent: bool,
    blocks_no_referer: bool,
}

impl<'a> BlockedConf<'a> {
    /// `None` where no client is blocked.
    pub(crate) fn new(blocked: &'a Blocked) -> Option<Self> {
        let Blocked {
            addresses,
            user_agents,
            referers,
        } = blocked;
        let no_text =
            |texts: &[TextMatch]| texts.contains(&TextMatch::ExactIgnoreCase(String::new()));
        let conf = BlockedConf {
            addresses,
            user_agents: keys(user_agents),
            referers: keys(referers),
            blocks_no_agent: no_text(user_agents),
            blocks_no_referer: no_text(referers),
        };
        (*blocked != Blocked::default()).then_some(conf)
    }
}

/// nginx refuses a text that is there twice, whatever case its letters have.
fn keys(texts: &[TextMatch]) -> Vec<Word> {
    let mut known = BTreeSet::new();
    let new = |text: &&TextMatch| match text {
        TextMatch::ExactIgnoreCase(text) => known.insert(text.to_lowercase()),
        TextMatch::Regex(_) | TextMatch::RegexIgnoreCase(_) => true,
    };
    texts.iter().filter(new).map(key).collect()
}

/// The texts that nginx cannot read, by the key of the ConfigMap that has them.
pub(crate) fn too_long(blocked: &Blocked) -> impl Iterator<Item = (&'static str, usize)> {
    [
        ("block-user-agents", &blocked.user_agents),
        ("block-referers", &blocked.referers),
    ]
    .map(|(key, texts)| (key, texts.iter().filter(|text| !is_readable(text)).count()))
    .into_iter()
    .filter(|(_, count)| *count > 0)
}

/// Every request gets 403.
pub(crate) fn everybody() -> Blocked {
    let any = [IpAddr::from([0u8; 4]), IpAddr::from([0u8; 16])];
    Blocked {
        addresses: any
            .into_iter()
            .filter_map(|any| Cidr::new(any, 0))
            .collect(),
        ..Blocked::default()
    }
}

fn is_readable(text: &TextMatch) -> bool {
    key(text).0.fits()
}

/// nginx looks texts up in a hash, whose buckets (`map_hash_bucket_size`) hold no longer ones.
const LONGEST_TEXT: usize = 400;

/// A key of nginx's `map`.
fn key(text: &TextMatch) -> Word {
    match text {
        TextMatch::ExactIgnoreCase(text) if text.len() > LONGEST_TEXT => {
            word(format!("~*^{}$", literal(text)))
        }
        TextMatch::ExactIgnoreCase(text) if text.is_empty() => word(text),
        // The backslash goes; without it `default` would not be a text.
        TextMatch::ExactIgnoreCase(text) => word(format!("\\{text}")),
        TextMatch::Regex(pattern) => found(pattern, Subject::Text),
        TextMatch::RegexIgnoreCase(pattern) => found(pattern, Subject::TextInAnyCase),
    }
}

fn found(pattern: &str, subject: Subject) -> Word {
    word(format!(
        "~{}",
        sluice_pattern::pcre(pattern, subject, false)
    ))
}

/// A pattern that finds this text.
fn literal(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || !c.is_ascii();
    text.chars()
        .map(|c| {
            if plain(c) {
                c.to_string()
            } else {
                format!("\\{c}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_no_bucket_holds_is_a_pattern() {
        let key = key(&TextMatch::ExactIgnoreCase(format!(
            "a.b{}",
            "c".repeat(500)
        )))
        .0
        .to_string();
        assert!(
            key.starts_with(r#""~*^a\\.bccc"#) && key.ends_with("cc$\""),
            "{key}"
        );
        assert!(is_readable(&TextMatch::ExactIgnoreCase("a".repeat(3000))));
        assert!(!is_readable(&TextMatch::ExactIgnoreCase("a".repeat(5000))));
    }

    #[test]
    fn a_text_is_no_word_of_nginx() {
        let key = |text| key(&text).0.to_string();
        assert_eq!(
            key(TextMatch::ExactIgnoreCase("default".into())),
            r#""\\default""#
        );
        assert_eq!(key(TextMatch::ExactIgnoreCase(String::new())), r#""""#);
        assert_eq!(
            key(TextMatch::RegexIgnoreCase("bad".into())),
            r#""~^(?s:.*?)(?i:bad)""#
        );
    }

    #[test]
    fn a_text_that_is_there_twice_is_written_once() {
        let texts = ["Bad", "bad", "worse"].map(|text| TextMatch::ExactIgnoreCase(text.to_owned()));
        assert_eq!(keys(&texts).len(), 2);
    }
}
