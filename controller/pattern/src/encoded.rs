//! Characters of a canonical path, which has some of them encoded (`filter/core/src/path.rs`): what a path cannot have unencoded, in
//! capitals, and nothing else.

use std::collections::BTreeMap;

use crate::class_set::Set;

/// Characters of a canonical path. Not between the digits of one.
pub(crate) const ANY_PATH: &str = r"(?:[^?%]|%[0-9A-F]{2})*";

/// A path as it is when it is canonical.
#[must_use]
pub fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match char::from(byte) {
            letter if is_sent_as_it_is(letter) => encoded.push(letter),
            _ => encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
    encoded
}

/// Two digits for each character that is sent encoded; empty where none is. Those of others may be among them: no path has them.
pub(crate) fn encoded(set: Set) -> String {
    let is_sent_encoded = |byte: u8| !is_sent_as_it_is(char::from(byte));
    let has = |byte: u8| match byte.is_ascii() {
        true => set.has(char::from(byte)),
        false => set.others,
    };
    // Rows with the same columns are written together.
    let mut rows: BTreeMap<Set, Set> = BTreeMap::new();
    let mut free = Set::NONE;
    for row in 0..16 {
        let sent = (0..16).filter(|column| is_sent_encoded(row << 4 | column));
        let (taken, left): (Vec<u8>, Vec<u8>) = sent.partition(|column| has(row << 4 | column));
        let columns = match (taken.as_slice(), left.as_slice()) {
            ([], []) => {
                free = free.with(digit(row));
                continue;
            }
            ([], _) => continue,
            (_, []) => all(),
            (taken, _) => digits(taken),
        };
        let rows = rows.entry(columns).or_insert(Set::NONE);
        *rows = rows.with(digit(row));
    }
    if let Some(rows) = rows.get_mut(&all()) {
        *rows = rows.or(free);
    }
    let pairs = rows.iter();
    let pairs = pairs.map(|(columns, rows)| format!("{}{}", rows.written(), columns.written()));
    pairs.collect::<Vec<_>>().join("|")
}

fn digits(nibbles: &[u8]) -> Set {
    let digits = nibbles.iter().map(|nibble| digit(*nibble));
    digits.fold(Set::NONE, Set::with)
}

fn all() -> Set {
    let digits = (0..16).map(digit);
    digits.fold(Set::NONE, Set::with)
}

fn digit(nibble: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(nibble & 15)])
}

/// True of a character of ASCII that a canonical path has unencoded.
pub(crate) fn is_sent_as_it_is(letter: char) -> bool {
    letter.is_ascii_graphic() && !r##""#%<>?\^`{|}"##.contains(letter)
}
