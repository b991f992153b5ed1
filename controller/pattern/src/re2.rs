//! Cost of a pattern in RE2: the number of instructions of its program. An estimate from above, for
//! texts of bytes and of UTF-8 alike; a test compares it with what Envoy itself counts.
//!
//! RE2 copies what is repeated as often as it is repeated. In UTF-8 a class that is negated takes all characters of two to
//! four bytes, too, and where case does not matter `k` and `s` are three letters each.

use regex_syntax::ast::{
    Ast, ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl, ClassPerlKind, ClassSet,
    ClassSetItem, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange,
};

/// The beginning and the end of every program.
const FRAME: u64 = 8;
/// All characters of more than one byte.
const BEYOND_ASCII: u64 = 8;
/// The same without the Kelvin sign (K) and the long s (ſ), which are other cases of letters of ASCII.
const BEYOND_ASCII_WITH_HOLES: u64 = 30;
/// A character of up to four bytes, whatever case it has.
const ONE_BEYOND_ASCII: u64 = 20;

/// Instructions of the program, or a few more.
pub(crate) fn instructions(ast: &Ast) -> u64 {
    FRAME + size(ast, &mut false)
}

/// Counted repetitions that are within each other, multiplied.
pub(crate) fn repetitions(ast: &Ast) -> u64 {
    let most = |asts: &[Ast]| asts.iter().map(repetitions).max().unwrap_or(1);
    match ast {
        Ast::Repetition(repetition) => {
            let times = match &repetition.op.kind {
                RepetitionKind::Range(range) => u64::from(bounds(range).1.max(1)),
                _ => 1,
            };
            times.saturating_mul(repetitions(&repetition.ast))
        }
        Ast::Group(group) => repetitions(&group.ast),
        Ast::Alternation(alternation) => most(&alternation.asts),
        Ast::Concat(concat) => most(&concat.asts),
        _ => 1,
    }
}

/// `any_case` is what holds where it begins; flags in it change that for what follows.
fn size(ast: &Ast, any_case: &mut bool) -> u64 {
    match ast {
        Ast::Flags(flags) => {
            *any_case = case(&flags.flags, *any_case);
            0
        }
        Ast::Empty(_) | Ast::Assertion(_) => 1,
        Ast::Literal(literal) => character(literal.c, *any_case),
        Ast::Dot(_) => 2 + BEYOND_ASCII,
        Ast::ClassPerl(class) => Set::of_perl(class).size(*any_case),
        // RE2 has no others that get here.
        Ast::ClassUnicode(_) => u64::MAX,
        Ast::ClassBracketed(class) => Set::of(class).size(*any_case),
        Ast::Repetition(repetition) => {
            let one = size(&repetition.ast, &mut any_case.clone());
            repeated(one, &repetition.op.kind)
        }
        Ast::Group(group) => {
            let (flags, frame) = match &group.kind {
                GroupKind::NonCapturing(flags) => (Some(flags), 0),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => (None, 2),
            };
            let mut inner = flags.map_or(*any_case, |flags| case(flags, *any_case));
            frame + size(&group.ast, &mut inner)
        }
        Ast::Alternation(alternation) => sum(&alternation.asts, any_case, 1),
        Ast::Concat(concat) => sum(&concat.asts, any_case, 0),
    }
}

fn sum(asts: &[Ast], any_case: &mut bool, each: u64) -> u64 {
    asts.iter().fold(0, |sum: u64, ast| {
        sum.saturating_add(size(ast, any_case)).saturating_add(each)
    })
}

fn case(flags: &Flags, before: bool) -> bool {
    flags.flag_state(Flag::CaseInsensitive).unwrap_or(before)
}

fn repeated(one: u64, kind: &RepetitionKind) -> u64 {
    let copies = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(range) => u64::from(bounds(range).1.max(1)),
    };
    // Each copy that need not be there has a way around it.
    one.saturating_add(1)
        .saturating_mul(copies)
        .saturating_add(2)
}

fn bounds(range: &RepetitionRange) -> (u32, u32) {
    match range {
        RepetitionRange::Exactly(count) => (*count, *count),
        // As often, and again and again.
        RepetitionRange::AtLeast(least) => (*least, *least),
        RepetitionRange::Bounded(least, most) => (*least, *most),
    }
}

fn character(letter: char, any_case: bool) -> u64 {
    match letter {
        'k' | 'K' | 's' | 'S' if any_case => 5,
        letter if letter.is_ascii() => 1,
        _ => ONE_BEYOND_ASCII,
    }
}

/// Characters of ASCII, and whether all others belong to them.
#[derive(Clone, Copy)]
struct Set {
    ascii: u128,
    others: bool,
}

impl Set {
    const NONE: Set = Set {
        ascii: 0,
        others: false,
    };

    fn of(class: &ClassBracketed) -> Set {
        let set = Set::of_items(&class.kind);
        if class.negated { set.negated() } else { set }
    }

    fn of_items(set: &ClassSet) -> Set {
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

    fn of_range(start: char, end: char) -> Set {
        Set {
            ascii: Set::matching(|letter| start <= letter && letter <= end),
            others: !end.is_ascii(),
        }
    }

    fn of_perl(class: &ClassPerl) -> Set {
        let ascii = Set::matching(|letter| match class.kind {
            ClassPerlKind::Digit => letter.is_ascii_digit(),
            ClassPerlKind::Space => matches!(letter, '\t' | '\n' | '\x0c' | '\r' | ' '),
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

    fn matching(has: impl Fn(char) -> bool) -> u128 {
        (0..128u8)
            .filter(|byte| has(char::from(*byte)))
            .fold(0, |set, byte| set | 1 << byte)
    }

    fn negated(self) -> Set {
        Set {
            ascii: !self.ascii,
            others: !self.others,
        }
    }

    fn has(self, letter: char) -> bool {
        letter.is_ascii() && self.ascii >> u32::from(letter) & 1 == 1
    }

    /// Ranges of bytes, each an instruction, and what leads to them. Case is looked at in both orders, because engines
    /// differ in whether they negate before or after.
    fn size(self, any_case: bool) -> u64 {
        if !any_case {
            return self.ranges() + if self.others { BEYOND_ASCII } else { 0 };
        }
        let both = |letter: char| {
            self.has(letter.to_ascii_lowercase()) || self.has(letter.to_ascii_uppercase())
        };
        let all = |letter: char| {
            self.has(letter.to_ascii_lowercase()) && self.has(letter.to_ascii_uppercase())
        };
        let widened = Set {
            ascii: Set::matching(both),
            ..self
        };
        let narrowed = Set {
            ascii: Set::matching(all),
            ..self
        };
        let others = if self.others {
            BEYOND_ASCII_WITH_HOLES
        } else {
            2 * character('k', true)
        };
        widened.ranges().max(narrowed.ranges()).max(self.ranges()) + others
    }

    /// Runs of characters that follow each other.
    fn ranges(self) -> u64 {
        u64::from((self.ascii & !(self.ascii << 1)).count_ones())
    }
}
