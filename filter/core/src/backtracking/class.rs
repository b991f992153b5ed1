//! Sets of bytes: classes, and what one letter stands for.

use super::cursor::Cursor;

/// Bytes, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u32; 8]);

impl ByteSet {
    pub(super) fn of(test: impl Fn(u8) -> bool) -> Self {
        let mut set = ByteSet::default();
        (0..=u8::MAX)
            .filter(|byte| test(*byte))
            .for_each(|byte| set.add(byte));
        set
    }

    pub(super) fn add(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 5)) {
            *word |= 1 << (byte & 31);
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        let word = self.0.get(usize::from(byte >> 5));
        word.is_some_and(|word| word >> (byte & 31) & 1 == 1)
    }

    pub(super) fn complement(self) -> Self {
        ByteSet(self.0.map(|word| !word))
    }

    /// With the other case of its letters.
    pub(super) fn in_any_case(self) -> Self {
        ByteSet::of(|byte| {
            self.has(byte.to_ascii_lowercase()) || self.has(byte.to_ascii_uppercase())
        })
    }

    /// The one byte that is in it.
    pub(super) fn only(&self) -> Option<u8> {
        let mut all = (0..=u8::MAX).filter(|byte| self.has(*byte));
        all.next().filter(|_| all.next().is_none())
    }
}

/// `[A-Za-z0-9_]`
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Of an escape such as `\d`.
pub(super) fn of_escape(letter: u8) -> Option<ByteSet> {
    let set = match letter.to_ascii_lowercase() {
        b'd' => ByteSet::of(|byte| byte.is_ascii_digit()),
        b'w' => ByteSet::of(is_word),
        b's' => ByteSet::of(is_space),
        _ => return None,
    };
    Some(match letter.is_ascii_uppercase() {
        true => set.complement(),
        false => set,
    })
}

/// Of a name such as that of `[:alpha:]`.
pub(super) fn of_name(name: &[u8]) -> Option<ByteSet> {
    let (name, is_negative) = match name.strip_prefix(b"^") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let test: fn(u8) -> bool = match name {
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"ascii" => |byte| byte.is_ascii(),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"digit" => |byte| byte.is_ascii_digit(),
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"space" => is_space,
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"word" => is_word,
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    };
    let set = ByteSet::of(test);
    Some(if is_negative { set.complement() } else { set })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The byte that a letter behind a backslash stands for.
pub(super) fn escaped(letter: u8) -> Result<u8, String> {
    match letter {
        b'n' => Ok(b'\n'),
        b'r' => Ok(b'\r'),
        b't' => Ok(b'\t'),
        b'f' => Ok(0x0c),
        letter if letter.is_ascii_punctuation() => Ok(letter),
        letter => Err(format!("an unusual escape, \\{}", letter.escape_ascii())),
    }
}

/// A part of a class.
enum Item {
    Byte(u8),
    Set(ByteSet),
}

/// A class, from behind its bracket on. One that is the first is one of its characters.
pub(super) fn parse(text: &mut Cursor<'_>, any_case: bool) -> Result<ByteSet, String> {
    let begin = *text;
    let is_negative = text.take("^");
    let mut set = ByteSet::default();
    let mut is_first = true;
    while is_first || text.peek() != Some(b']') {
        is_first = false;
        set.join(items(text)?);
    }
    let length = begin.0.len() - text.0.len();
    refuse_name(begin.0.get(..length).unwrap_or_default())?;
    text.next();
    if any_case {
        set = set.in_any_case();
    }
    Ok(if is_negative { set.complement() } else { set })
}

/// PCRE takes `[:a:]` for the name of a class without its own brackets, and refuses it.
fn refuse_name(written: &[u8]) -> Result<(), String> {
    match written {
        [begin @ (b':' | b'.' | b'='), .., end] if begin == end => Err(format!(
            "a class that is written [{}]",
            written.escape_ascii()
        )),
        _ => Ok(()),
    }
}

/// A byte, a range or a class in a class.
fn items(text: &mut Cursor<'_>) -> Result<ByteSet, String> {
    // A hyphen in front of the end is a character.
    let is_range = |text: &Cursor<'_>| text.0.starts_with(b"-") && !text.0.starts_with(b"-]");
    let wrong = || "a range of anything but two characters in their order".to_owned();
    match (item(text)?, is_range(text)) {
        (Item::Set(set), false) => Ok(set),
        (Item::Byte(byte), false) => Ok(ByteSet::of(|other| other == byte)),
        (Item::Set(_), true) => Err(wrong()),
        (Item::Byte(begin), true) => {
            text.next();
            match item(text)? {
                Item::Byte(end) if begin <= end => {
                    Ok(ByteSet::of(|byte| (begin..=end).contains(&byte)))
                }
                _ => Err(wrong()),
            }
        }
    }
}

fn item(text: &mut Cursor<'_>) -> Result<Item, String> {
    const OPEN: &str = "a class that is not closed";
    match text.next().ok_or(OPEN)? {
        b'\\' => {
            let letter = text.next().ok_or(OPEN)?;
            match of_escape(letter) {
                Some(set) => Ok(Item::Set(set)),
                None => escaped(letter).map(Item::Byte),
            }
        }
        b'[' => named(text).map(Item::Set),
        byte => Ok(Item::Byte(byte)),
    }
}

fn named(text: &mut Cursor<'_>) -> Result<ByteSet, String> {
    let wrong = "a bracket in a class that is not written \\[";
    text.take(":").then_some(()).ok_or(wrong)?;
    let end = text.0.windows(2).position(|two| two == b":]");
    let (name, rest) = end
        .and_then(|end| text.0.split_at_checked(end))
        .ok_or(wrong)?;
    let set = of_name(name).ok_or("a class of a name that is not known")?;
    text.0 = rest.get(2..).unwrap_or_default();
    Ok(set)
}
