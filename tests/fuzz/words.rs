//! The words of a configuration of nginx that stand outside of quotes.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Result, ensure};
use sluice_tests::artifacts;

/// Words, with numbers and hashes made alike.
#[derive(Debug, Default)]
pub(crate) struct Words(BTreeSet<String>);

impl Words {
    /// Those of all golden cases, which somebody has read.
    pub(crate) fn of_golden_cases() -> Result<Words> {
        let mut words = Words::default();
        for case in fs::read_dir(artifacts::repository().join("tests/golden"))? {
            words.add(&fs::read_to_string(case?.path().join("nginx.conf"))?);
        }
        ensure!(
            words.0.len() > 100,
            "golden cases have few words: {words:?}"
        );
        Ok(words)
    }

    pub(crate) fn add(&mut self, conf: &str) {
        self.0.extend(read(conf));
    }

    /// The words of this configuration that are none of these.
    pub(crate) fn foreign(&self, conf: &str) -> Vec<String> {
        read(conf).filter(|word| !self.0.contains(word)).collect()
    }
}

fn read(conf: &str) -> impl Iterator<Item = String> {
    unquoted(conf)
        .split_whitespace()
        .map(alike)
        .collect::<BTreeSet<_>>()
        .into_iter()
}

/// As nginx reads it: a `Q` for what is quoted, and nothing for comments.
fn unquoted(conf: &str) -> String {
    let mut left = String::new();
    let mut letters = conf.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                left.push('Q');
                loop {
                    match letters.next() {
                        Some('\\') => drop(letters.next()),
                        Some('"') => break,
                        Some(_) => {}
                        None => return left + " a quote is open ",
                    }
                }
            }
            '#' => drop(letters.by_ref().find(|letter| *letter == '\n')),
            other => left.push(other),
        }
    }
    left
}

/// `N` for a number, `H` for a hash: what is behind a name of ours.
fn alike(word: &str) -> String {
    let is_hex = |part: &str| part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = word
        .split_inclusive(|letter: char| !letter.is_ascii_alphanumeric())
        .map(|part| {
            let (core, end) =
                match part.strip_suffix(|letter: char| !letter.is_ascii_alphanumeric()) {
                    Some(core) => (core, &part[core.len()..]),
                    None => (part, ""),
                };
            if is_hex(core) {
                return format!("H{end}");
            }
            let plain: String = core
                .chars()
                .map(|letter| if letter.is_ascii_digit() { 'N' } else { letter })
                .collect();
            let mut short = plain;
            while short.contains("NN") {
                short = short.replace("NN", "N");
            }
            short + end
        });
    parts.collect()
}
