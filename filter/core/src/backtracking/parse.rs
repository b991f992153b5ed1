//! A pattern as a tree. What is not surely PCRE's, in all of its versions, is refused by name.

use super::Refusal;
use super::class::{self, ByteSet, escaped, of_escape};
use super::cursor::Cursor;

/// Bytes of a pattern.
const MOST_BYTES: usize = 1000;
/// Groups within groups.
const DEEPEST: u32 = 20;
/// As often as anything may be repeated.
const MOST_REPETITIONS: u32 = 1000;

/// A pattern, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// One byte.
    Set(ByteSet),
    Place(Place),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Capture(u8, Box<Node>),
    Repeat(Box<Node>, Count),
    Look {
        node: Box<Node>,
        is_behind: bool,
        is_negative: bool,
    },
    Atomic(Box<Node>),
    Backreference {
        group: u8,
        any_case: bool,
    },
}

/// A condition between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Begin,
    /// Also in front of a last line break.
    End,
    VeryEnd,
    Word,
    NotWord,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) least: u32,
    pub(super) most: Option<u32>,
    pub(super) is_lazy: bool,
}

/// A pattern that takes a backtracking engine.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    pub(super) groups: u8,
}

pub(super) fn parse(pattern: &str, any_case: bool) -> Result<Parsed, Refusal> {
    let mut parser = Parser {
        text: Cursor(pattern.as_bytes()),
        flags: Flags {
            any_case,
            takes_breaks: false,
        },
        groups: 0,
        furthest: 0,
        depth: 0,
        steps_back: false,
    };
    let parsed = parser.whole();
    match (parsed, parser.steps_back) {
        (_, false) => Err(Refusal::NotNeeded),
        (Ok(node), true) => Ok(Parsed {
            node,
            groups: parser.groups,
        }),
        (Err(wrong), true) => Err(Refusal::Wrong(wrong)),
    }
}

#[derive(Clone, Copy)]
struct Flags {
    any_case: bool,
    /// `.` does.
    takes_breaks: bool,
}

struct Parser<'p> {
    text: Cursor<'p>,
    flags: Flags,
    groups: u8,
    /// The last group that is referred to.
    furthest: u8,
    depth: u32,
    /// There is something in it that takes a backtracking engine.
    steps_back: bool,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Node, String> {
        let bytes = self.text.0.len();
        let node = self.alternatives()?;
        if bytes > MOST_BYTES {
            return Err(format!("{bytes} bytes, more than {MOST_BYTES}"));
        }
        if self.text.peek().is_some() {
            return Err("a parenthesis that nothing opens".to_owned());
        }
        if self.furthest > self.groups {
            return Err("a backreference to a group that is not there".to_owned());
        }
        Ok(node)
    }

    /// Up to the end of the group.
    fn alternatives(&mut self) -> Result<Node, String> {
        let mut all = vec![self.sequence()?];
        while self.text.take("|") {
            all.push(self.sequence()?);
        }
        Ok(match all.len() {
            1 => all.pop().unwrap_or(Node::Concat(Vec::new())),
            _ => Node::Either(all),
        })
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut all = Vec::new();
        while !matches!(self.text.peek(), None | Some(b'|' | b')')) {
            if let Some(node) = self.atom()? {
                all.push(self.repeated(node)?);
            }
        }
        Ok(Node::Concat(all))
    }

    /// `None`: flags for what follows.
    fn atom(&mut self) -> Result<Option<Node>, String> {
        let node = match self.text.next().ok_or("nothing")? {
            b'(' => return self.group(),
            b'[' => Node::Set(class::parse(&mut self.text, self.flags.any_case)?),
            b'.' if self.flags.takes_breaks => Node::Set(ByteSet::of(|_| true)),
            b'.' => Node::Set(ByteSet::of(|byte| byte != b'\n')),
            b'^' => Node::Place(Place::Begin),
            b'$' => Node::Place(Place::End),
            b'\\' => self.escape()?,
            b'*' | b'+' | b'?' | b'{' => {
                return Err("a repetition of nothing that can be repeated".to_owned());
            }
            byte => self.byte(byte),
        };
        Ok(Some(node))
    }

    fn byte(&self, byte: u8) -> Node {
        let set = ByteSet::of(|other| other == byte);
        Node::Set(match self.flags.any_case {
            true => set.in_any_case(),
            false => set,
        })
    }

    fn escape(&mut self) -> Result<Node, String> {
        let letter = self.text.next().ok_or("a backslash at the end")?;
        let node = match letter {
            b'A' => Node::Place(Place::Begin),
            b'Z' => Node::Place(Place::End),
            b'z' => Node::Place(Place::VeryEnd),
            b'b' => Node::Place(Place::Word),
            b'B' => Node::Place(Place::NotWord),
            b'1'..=b'9' => {
                self.steps_back = true;
                // Of two digits it depends on the number of groups what they are.
                if self.text.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    return Err("a backreference of two digits".to_owned());
                }
                let group = letter - b'0';
                self.furthest = self.furthest.max(group);
                let any_case = self.flags.any_case;
                Node::Backreference { group, any_case }
            }
            letter => match of_escape(letter) {
                Some(set) => Node::Set(set),
                None => self.byte(escaped(letter)?),
            },
        };
        Ok(node)
    }

    /// Behind its parenthesis.
    fn group(&mut self) -> Result<Option<Node>, String> {
        const LOOKS: [(&str, bool, bool); 4] = [
            ("?=", false, false),
            ("?!", false, true),
            ("?<=", true, false),
            ("?<!", true, true),
        ];
        let flags = self.flags;
        let looks = LOOKS.into_iter().find(|(text, ..)| self.text.take(text));
        if let Some((_, is_behind, is_negative)) = looks {
            self.steps_back = true;
            let node = Box::new(self.body(flags)?);
            return Ok(Some(Node::Look {
                node,
                is_behind,
                is_negative,
            }));
        }
        if self.text.take("?>") {
            self.steps_back = true;
            return Ok(Some(Node::Atomic(Box::new(self.body(flags)?))));
        }
        if self.text.take("?") {
            let inner = self.read_flags()?;
            if self.text.take(")") {
                self.flags = inner;
                return Ok(None);
            }
            self.text.take(":").then_some(()).ok_or(OTHER_GROUP)?;
            self.flags = inner;
            return self.body(flags).map(Some);
        }
        if self.text.peek() == Some(b'*') {
            return Err(OTHER_GROUP.to_owned());
        }
        self.groups = self.groups.checked_add(1).ok_or("more than 255 groups")?;
        let group = self.groups;
        Ok(Some(Node::Capture(group, Box::new(self.body(flags)?))))
    }

    /// Up to its parenthesis; then `flags` hold again.
    fn body(&mut self, flags: Flags) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} groups in each other"));
        }
        let node = self.alternatives()?;
        self.depth -= 1;
        self.flags = flags;
        match self.text.take(")") {
            true => Ok(node),
            false => Err("a group that is not closed".to_owned()),
        }
    }

    /// In front of what ends them. There is one at least where they are for what follows.
    fn read_flags(&mut self) -> Result<Flags, String> {
        let (mut flags, mut is_on, mut last) = (self.flags, true, None);
        while let Some(letter @ (b'i' | b's' | b'-')) = self.text.peek() {
            match letter {
                b'i' => flags.any_case = is_on,
                b's' => flags.takes_breaks = is_on,
                _ if !is_on => return Err(OTHER_GROUP.to_owned()),
                _ => is_on = false,
            }
            last = self.text.next();
        }
        match (last, self.text.peek()) {
            (Some(b'-'), _) | (None, Some(b')')) => Err(OTHER_GROUP.to_owned()),
            _ => Ok(flags),
        }
    }

    fn repeated(&mut self, node: Node) -> Result<Node, String> {
        let Some((least, most)) = self.count()? else {
            return Ok(node);
        };
        if matches!(node, Node::Place(_) | Node::Look { .. }) {
            return Err("a repetition of an assertion such as ^*".to_owned());
        }
        let is_lazy = self.text.take("?");
        let is_possessive = !is_lazy && self.text.take("+");
        self.steps_back |= is_possessive;
        let count = Count {
            least,
            most,
            is_lazy,
        };
        if matches!(self.text.peek(), Some(b'*' | b'+' | b'?' | b'{')) {
            return Err("a repetition of a repetition".to_owned());
        }
        let repeat = Node::Repeat(Box::new(node), count);
        Ok(match is_possessive {
            true => Node::Atomic(Box::new(repeat)),
            false => repeat,
        })
    }

    fn count(&mut self) -> Result<Option<(u32, Option<u32>)>, String> {
        let count = match self.text.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => {
                self.text.next();
                return self.braces().map(Some);
            }
            _ => return Ok(None),
        };
        self.text.next();
        Ok(Some(count))
    }

    /// `{2}`, `{2,}` and `{2,5}`; anything else is a text to some.
    fn braces(&mut self) -> Result<(u32, Option<u32>), String> {
        const WRONG: &str = "a brace that is no repetition such as {2,5}";
        let least = self.text.number(MOST_REPETITIONS)?.ok_or(WRONG)?;
        let most = match self.text.take(",") {
            true => self.text.number(MOST_REPETITIONS)?,
            false => Some(least),
        };
        let is_ordered = most.is_none_or(|most| least <= most);
        (self.text.take("}") && is_ordered)
            .then_some(())
            .ok_or(WRONG)?;
        Ok((least, most))
    }
}

const OTHER_GROUP: &str = "an unsupported kind of group, such as (?<name>...)";
