//! A tree as operations, one after the other.

use sluice_filter_config::LARGEST_PATTERN;

use super::Program;
use super::class::ByteSet;
use super::parse::{Count, Node, Parsed, Place};

/// Bytes of an operation and of a set, as [`LARGEST_PATTERN`] counts, on every machine alike.
const OP_BYTES: usize = 16;
const SET_BYTES: usize = 32;

/// An operation. Where nothing is said, the next one follows if it holds, and otherwise the last step is taken back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// The next byte is this one.
    Byte(u8),
    /// The next byte is in this set.
    Set(usize),
    Place(Place),
    /// `first` follows, and `other` if that does not do.
    Split {
        first: usize,
        other: usize,
    },
    Jump(usize),
    /// A slot remembers the place.
    Remember(usize),
    /// Jumps where the place is still the one that a slot remembers.
    JumpIfStill {
        slot: usize,
        to: usize,
    },
    /// The place is again the one that a slot remembers.
    Return(usize),
    /// A group ends that began where a slot remembers.
    Close {
        group: usize,
        slot: usize,
    },
    Backreference {
        group: usize,
        any_case: bool,
    },
    /// So many bytes to the left.
    Back(usize),
    /// A slot remembers how many steps can be taken back.
    Mark(usize),
    /// No step since a mark is taken back any more.
    Cut(usize),
    /// All steps since a mark are taken back, and the one before as well.
    Fail(usize),
    Found,
}

pub(super) fn program(parsed: &Parsed) -> Result<Program, String> {
    let mut compiler = Compiler {
        ops: Vec::new(),
        sets: Vec::new(),
        slots: 2 * usize::from(parsed.groups),
    };
    compiler.node(&parsed.node)?;
    compiler.push(Op::Found)?;
    let Compiler { ops, sets, slots } = compiler;
    Ok(Program {
        ops,
        sets,
        slots,
        groups: parsed.groups,
        alternatives: matches!(parsed.node, Node::Either(_)),
        is_anchored: is_anchored(&parsed.node),
    })
}

/// True if it can begin at the beginning only.
fn is_anchored(node: &Node) -> bool {
    match node {
        Node::Place(place) => *place == Place::Begin,
        Node::Concat(all) => all.first().is_some_and(is_anchored),
        Node::Either(all) => all.iter().all(is_anchored),
        Node::Capture(_, node) | Node::Atomic(node) => is_anchored(node),
        Node::Set(_) | Node::Repeat(..) | Node::Look { .. } | Node::Backreference { .. } => false,
    }
}

/// True if it may take no byte.
fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Set(_) => false,
        Node::Place(_) | Node::Look { .. } | Node::Backreference { .. } => true,
        Node::Concat(all) => all.iter().all(may_be_empty),
        Node::Either(all) => all.iter().any(may_be_empty),
        Node::Capture(_, node) | Node::Atomic(node) => may_be_empty(node),
        Node::Repeat(node, count) => count.least == 0 || may_be_empty(node),
    }
}

/// Bytes that it takes, where that is always the same.
fn length(node: &Node) -> Option<usize> {
    match node {
        Node::Set(_) => Some(1),
        Node::Place(_) | Node::Look { .. } => Some(0),
        Node::Concat(all) => all.iter().map(length).sum(),
        Node::Either(all) => {
            let mut lengths = all.iter().map(length);
            let first = lengths.next()??;
            lengths.all(|length| length == Some(first)).then_some(first)
        }
        Node::Capture(_, node) | Node::Atomic(node) => length(node),
        Node::Repeat(node, count) => {
            let times = count.most.filter(|most| *most == count.least)?;
            length(node)?.checked_mul(usize::try_from(times).ok()?)
        }
        Node::Backreference { .. } => None,
    }
}

struct Compiler {
    ops: Vec<Op>,
    sets: Vec<ByteSet>,
    slots: usize,
}

impl Compiler {
    /// Gives the place of the operation.
    fn push(&mut self, op: Op) -> Result<usize, String> {
        self.ops.push(op);
        if OP_BYTES * self.ops.len() + SET_BYTES * self.sets.len() > LARGEST_PATTERN {
            return Err(format!(
                "one that compiles to more than {LARGEST_PATTERN} bytes"
            ));
        }
        Ok(self.ops.len() - 1)
    }

    fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// A way that need not be taken: `skip` tells it where it ends.
    fn branch(&mut self, is_lazy: bool) -> Result<usize, String> {
        let next = self.ops.len() + 1;
        // Whichever is not the next one is not known yet.
        self.push(match is_lazy {
            true => Op::Split {
                first: 0,
                other: next,
            },
            false => Op::Split {
                first: next,
                other: 0,
            },
        })
    }

    /// Leads an operation, of which that was not known yet, behind all that there are.
    fn skip(&mut self, at: usize) {
        let end = self.ops.len();
        if let Some(op) = self.ops.get_mut(at) {
            match op {
                Op::Split { first: to, .. } if *to == 0 => *to = end,
                Op::Split { other: to, .. } | Op::Jump(to) | Op::JumpIfStill { to, .. } => {
                    *to = end;
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, node: &Node) -> Result<(), String> {
        match node {
            Node::Set(set) => self.set(set).map(drop),
            Node::Place(place) => self.push(Op::Place(*place)).map(drop),
            Node::Concat(all) => all.iter().try_for_each(|node| self.node(node)),
            Node::Either(all) => self.either(all, Self::node),
            Node::Capture(group, node) => {
                let (group, slot) = (usize::from(*group), self.new_slot());
                self.push(Op::Remember(slot))?;
                self.node(node)?;
                self.push(Op::Close { group, slot }).map(drop)
            }
            Node::Repeat(node, count) => self.repeat(node, *count),
            Node::Look {
                node,
                is_behind,
                is_negative,
            } => self.look(node, *is_behind, *is_negative),
            Node::Atomic(node) => {
                let mark = self.new_slot();
                self.push(Op::Mark(mark))?;
                self.node(node)?;
                self.push(Op::Cut(mark)).map(drop)
            }
            Node::Backreference { group, any_case } => {
                let (group, any_case) = (usize::from(*group), *any_case);
                self.push(Op::Backreference { group, any_case }).map(drop)
            }
        }
    }

    fn set(&mut self, set: &ByteSet) -> Result<usize, String> {
        if let Some(byte) = set.only() {
            return self.push(Op::Byte(byte));
        }
        let known = self.sets.iter().position(|known| known == set);
        let number = known.unwrap_or_else(|| {
            self.sets.push(*set);
            self.sets.len() - 1
        });
        self.push(Op::Set(number))
    }

    fn either(
        &mut self,
        all: &[Node],
        each: impl Fn(&mut Self, &Node) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some((last, before)) = all.split_last() else {
            return Ok(());
        };
        let mut ends = Vec::new();
        for node in before {
            let branch = self.branch(false)?;
            each(self, node)?;
            ends.push(self.push(Op::Jump(0))?);
            self.skip(branch);
        }
        each(self, last)?;
        ends.into_iter().for_each(|end| self.skip(end));
        Ok(())
    }

    fn repeat(&mut self, node: &Node, count: Count) -> Result<(), String> {
        let Count {
            least,
            most,
            is_lazy,
        } = count;
        let Some(most) = most else {
            return self.without_end(node, least, is_lazy);
        };
        (0..least).try_for_each(|_| self.node(node))?;
        let mut branches = Vec::new();
        for _ in least..most {
            branches.push(self.branch(is_lazy)?);
            self.node(node)?;
        }
        branches.into_iter().for_each(|branch| self.skip(branch));
        Ok(())
    }

    /// As PCRE does, it ends where it has taken nothing for once.
    fn without_end(&mut self, node: &Node, least: u32, is_lazy: bool) -> Result<(), String> {
        (1..least).try_for_each(|_| self.node(node))?;
        let begin = self.ops.len();
        let around = match least {
            0 => Some(self.branch(is_lazy)?),
            _ => None,
        };
        let mut still = None;
        if may_be_empty(node) {
            let slot = self.new_slot();
            self.push(Op::Remember(slot))?;
            self.node(node)?;
            still = Some(self.push(Op::JumpIfStill { slot, to: 0 })?);
        } else {
            self.node(node)?;
        }
        match around {
            Some(around) => {
                self.push(Op::Jump(begin))?;
                self.skip(around);
            }
            None => {
                let end = self.ops.len() + 1;
                let (first, other) = if is_lazy { (end, begin) } else { (begin, end) };
                self.push(Op::Split { first, other })?;
            }
        }
        still.into_iter().for_each(|still| self.skip(still));
        Ok(())
    }

    fn look(&mut self, node: &Node, is_behind: bool, is_negative: bool) -> Result<(), String> {
        let (place, mark) = (self.new_slot(), self.new_slot());
        self.push(Op::Remember(place))?;
        self.push(Op::Mark(mark))?;
        let around = match is_negative {
            true => Some(self.branch(false)?),
            false => None,
        };
        match (is_behind, node) {
            (false, node) => self.node(node)?,
            (true, Node::Either(all)) => self.either(all, Self::behind)?,
            (true, node) => self.behind(node)?,
        }
        match around {
            Some(around) => {
                self.push(Op::Fail(mark))?;
                self.skip(around);
            }
            None => {
                self.push(Op::Cut(mark))?;
                self.push(Op::Return(place))?;
            }
        }
        Ok(())
    }

    /// PCRE goes back by as many bytes as it will take.
    fn behind(&mut self, node: &Node) -> Result<(), String> {
        let length = length(node).ok_or("lookbehind of no fixed length")?;
        self.push(Op::Back(length))?;
        self.node(node)
    }
}
