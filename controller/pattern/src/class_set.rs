//! Classes of characters as sets.

use regex_syntax::ast::{
    ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl, ClassPerlKind, ClassSet, ClassSetItem,
};

/// Characters of ASCII, and whether all others belong to them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Set {
    pub(crate) ascii: u128,
    pub(crate) others: bool,
}

impl Set {
    pub(crate) const NONE: Set = Set {
        ascii: 0,
        others: false,
    };

    pub(crate) fn of(class: &ClassBracketed) -> Set {
        let set = Set::of_items(&class.kind);
        if class.negated { set.negated() } else { set }
    }

    pub(crate) fn of_items(set: &ClassSet) -> Set {
        match set {
            ClassSet::Item(item) => Set::of_item(item),
            // Refused before.
            ClassSet::BinaryOp(_) => Set::NONE.negated(),
        }
    }

    fn of_item(item: &ClassSetItem) -> Set {
        match item {
            ClassSetItem::Empty(_) => Set::NONE,
            ClassSetItem::Literal(literal) => Set::of_range(literal.c, literal.c),
            ClassSetItem::Range(range) => Set::of_range(range.start.c, range.end.c),
            ClassSetItem::Ascii(class) => Set::of_ascii(class),
            ClassSetItem::Perl(class) => Set::of_perl(class),
            ClassSetItem::Union(union) => {
                union
                    .items
                    .iter()
                    .map(Set::of_item)
                    .fold(Set::NONE, |set, item| Set {
                        ascii: set.ascii | item.ascii,
                        others: set.others | item.others,
                    })
            }
            // Refused before.
            ClassSetItem::Unicode(_) | ClassSetItem::Bracketed(_) => Set::NONE.negated(),
        }
    }

    pub(crate) fn of_range(start: char, end: char) -> Set {
        Set {
            ascii: Set::matching(|letter| start <= letter && letter <= end),
            others: !end.is_ascii(),
        }
    }

    pub(crate) fn of_perl(class: &ClassPerl) -> Set {
        let ascii = Set::matching(|letter| match class.kind {
            ClassPerlKind::Digit => letter.is_ascii_digit(),
            // A vertical tab among them, as in PCRE.
            ClassPerlKind::Space => matches!(letter, '\t'..='\r' | ' '),
            ClassPerlKind::Word => letter.is_ascii_alphanumeric() || letter == '_',
        });
        let set = Set {
            ascii,
            others: false,
        };
        if class.negated { set.negated() } else { set }
    }

    fn of_ascii(class: &ClassAscii) -> Set {
        let ascii = Set::matching(|letter| match class.kind {
            ClassAsciiKind::Alnum => letter.is_ascii_alphanumeric(),
            ClassAsciiKind::Alpha => letter.is_ascii_alphabetic(),
            ClassAsciiKind::Ascii => true,
            ClassAsciiKind::Blank => matches!(letter, ' ' | '\t'),
            ClassAsciiKind::Cntrl => letter.is_ascii_control(),
            ClassAsciiKind::Digit => letter.is_ascii_digit(),
            ClassAsciiKind::Graph => letter.is_ascii_graphic(),
            ClassAsciiKind::Lower => letter.is_ascii_lowercase(),
            ClassAsciiKind::Print => letter == ' ' || letter.is_ascii_graphic(),
            ClassAsciiKind::Punct => letter.is_ascii_punctuation(),
            ClassAsciiKind::Space => letter.is_ascii_whitespace() || letter == '\x0b',
            ClassAsciiKind::Upper => letter.is_ascii_uppercase(),
            ClassAsciiKind::Word => letter.is_ascii_alphanumeric() || letter == '_',
            ClassAsciiKind::Xdigit => letter.is_ascii_hexdigit(),
        });
        let set = Set {
            ascii,
            others: false,
        };
        if class.negated { set.negated() } else { set }
    }

    pub(crate) fn matching(has: impl Fn(char) -> bool) -> u128 {
        (0..128u8)
            .filter(|byte| has(char::from(*byte)))
            .fold(0, |set, byte| set | 1 << byte)
    }

    pub(crate) fn negated(self) -> Set {
        Set {
            ascii: !self.ascii,
            others: !self.others,
        }
    }

    pub(crate) fn or(self, other: Set) -> Set {
        Set {
            ascii: self.ascii | other.ascii,
            others: self.others || other.others,
        }
    }

    /// True if they have no character in common, as far as is known.
    pub(crate) fn is_disjoint(self, other: Set) -> bool {
        self.ascii & other.ascii == 0 && !(self.others && other.others)
    }

    /// With the other cases of its letters. Beyond ASCII there are other cases of `k` and `s`.
    pub(crate) fn in_any_case(self) -> Set {
        let set = self.in_any_ascii_case();
        Set {
            others: set.others || set.has('k') || set.has('s'),
            ..set
        }
    }

    /// With the other cases of its letters, which in nginx are those of ASCII.
    pub(crate) fn in_any_ascii_case(self) -> Set {
        let has = |letter: char| {
            self.has(letter.to_ascii_lowercase()) || self.has(letter.to_ascii_uppercase())
        };
        Set {
            ascii: Set::matching(has),
            others: self.others,
        }
    }

    /// All characters that are one of these in lower case.
    pub(crate) fn lowered(self) -> Set {
        Set {
            ascii: Set::matching(|letter| self.has(letter.to_ascii_lowercase())),
            others: self.others,
        }
    }

    pub(crate) fn has(self, letter: char) -> bool {
        letter.is_ascii() && self.ascii >> u32::from(letter) & 1 == 1
    }

    /// `.`
    pub(crate) fn of_dot(breaks: bool) -> Set {
        let all = Set::NONE.negated();
        if breaks { all } else { all.without('\n') }
    }

    pub(crate) fn without(self, letter: char) -> Set {
        Set {
            ascii: self.ascii & !Set::matching(|other| other == letter),
            ..self
        }
    }

    pub(crate) fn with(self, letter: char) -> Set {
        Set {
            ascii: self.ascii | Set::matching(|other| other == letter),
            ..self
        }
    }

    /// As a class, whether characters are bytes or more.
    pub(crate) fn written(self) -> String {
        if self == Set::NONE {
            r"[^\s\S]".to_owned()
        } else if self.others {
            format!("[^{}]", self.negated().ascii_ranges())
        } else {
            format!("[{}]", self.ascii_ranges())
        }
    }

    /// As a class of all others. Where case does not matter, those are without the other cases of its letters. `None`: it has
    /// more than ASCII.
    pub(crate) fn written_negated(self) -> Option<String> {
        (!self.others).then(|| format!("[^{}]", self.ascii_ranges()))
    }

    fn ascii_ranges(self) -> String {
        let has = |byte: u8| self.ascii >> byte & 1 == 1;
        let mut class = String::new();
        let mut next = 0;
        while let Some(first) = (next..128).find(|byte| has(*byte)) {
            let end = (first..128).find(|byte| !has(*byte)).unwrap_or(128);
            class.push_str(&in_class(first));
            if end - first > 1 {
                class.push('-');
                class.push_str(&in_class(end - 1));
            }
            next = end;
        }
        class
    }

    /// Runs of characters that follow each other.
    pub(crate) fn ranges(self) -> u64 {
        u64::from((self.ascii & !(self.ascii << 1)).count_ones())
    }
}

fn in_class(byte: u8) -> String {
    match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!(r"\x{byte:02X}"),
    }
}
