//! A program at work. What it changes is written down, so that it can be taken back.

use super::class::is_word;
use super::compile::Op;
use super::parse::Place;
use super::{Groups, Program};

/// A slot that remembers nothing.
const NOTHING: usize = usize::MAX;

/// There are no steps left: whether the pattern is there is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// A change that can be taken back.
enum Change {
    /// Here another way was open.
    Branch { op: usize, at: usize },
    /// This slot had another value.
    Slot { slot: usize, before: usize },
}

/// The next operation, or the end.
enum Next {
    Op(usize),
    Back,
    Found,
}

struct Run<'p, 't> {
    program: &'p Program,
    text: &'t [u8],
    at: usize,
    slots: Vec<usize>,
    changes: Vec<Change>,
    /// Steps that are left.
    left: usize,
}

impl Program {
    /// Looks for the pattern in a text; each step takes one of those that are left.
    pub(crate) fn find<'t>(
        &self,
        text: &'t [u8],
        steps: &mut usize,
    ) -> Result<Option<Groups<'t>>, Exhausted> {
        let last = if self.is_anchored { 0 } else { text.len() };
        let mut run = Run {
            program: self,
            text,
            at: 0,
            slots: vec![NOTHING; self.slots],
            changes: Vec::new(),
            left: *steps,
        };
        let found = run.find(last);
        *steps = run.left;
        Ok(found?.then(|| Groups(run.groups())))
    }
}

impl<'t> Run<'_, 't> {
    /// True if the pattern begins at one of the places up to the last.
    fn find(&mut self, last: usize) -> Result<bool, Exhausted> {
        for begin in 0..=last {
            self.at = begin;
            if self.matches()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if the pattern begins where it is. If not, all is as it was before.
    fn matches(&mut self) -> Result<bool, Exhausted> {
        let mut op = 0;
        loop {
            self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
            let next = match self.program.ops.get(op) {
                Some(one) => self.step(op + 1, *one),
                None => Next::Back,
            };
            op = match next {
                Next::Op(op) => op,
                Next::Found => return Ok(true),
                Next::Back => match self.take_back(0) {
                    Some(op) => op,
                    None => return Ok(false),
                },
            };
        }
    }

    fn step(&mut self, next: usize, op: Op) -> Next {
        let holds = match op {
            Op::Byte(byte) => self.take(|other| other == byte),
            Op::Set(set) => {
                let set = self.program.sets.get(set).copied().unwrap_or_default();
                self.take(|byte| set.has(byte))
            }
            Op::Place(place) => self.is_at(place),
            Op::Backreference { group, any_case } => self.take_again(group, any_case),
            Op::Back(bytes) => {
                let at = self.at.checked_sub(bytes);
                at.map(|at| self.at = at).is_some()
            }
            Op::Split { first, other } => {
                self.changes.push(Change::Branch {
                    op: other,
                    at: self.at,
                });
                return Next::Op(first);
            }
            Op::Jump(to) => return Next::Op(to),
            Op::JumpIfStill { slot, to } if self.slot(slot) == self.at => return Next::Op(to),
            Op::JumpIfStill { .. } => true,
            Op::Return(slot) => {
                self.at = self.slot(slot);
                true
            }
            Op::Fail(mark) => {
                self.take_all_back(self.slot(mark));
                false
            }
            Op::Found => return Next::Found,
            op => {
                self.note(op);
                true
            }
        };
        if holds { Next::Op(next) } else { Next::Back }
    }

    /// Operations that always hold.
    fn note(&mut self, op: Op) {
        match op {
            Op::Remember(slot) => self.set(slot, self.at),
            Op::Close { group, slot } => {
                let begin = self.slot(slot);
                self.set(2 * group - 2, begin);
                self.set(2 * group - 1, self.at);
            }
            Op::Mark(slot) => self.set(slot, self.changes.len() + 1),
            Op::Cut(mark) => {
                // Slots are set back all the same when a step before is taken back.
                let mark = self.slot(mark).min(self.changes.len());
                let since = self.changes.split_off(mark);
                let slots = since.into_iter();
                self.changes
                    .extend(slots.filter(|change| matches!(change, Change::Slot { .. })));
            }
            _ => {}
        }
    }

    fn slot(&self, slot: usize) -> usize {
        self.slots.get(slot).copied().unwrap_or(NOTHING)
    }

    fn set(&mut self, slot: usize, value: usize) {
        if let Some(known) = self.slots.get_mut(slot) {
            let before = std::mem::replace(known, value);
            self.changes.push(Change::Slot { slot, before });
        }
    }

    /// The last way that was open, if there is one above so many changes.
    fn take_back(&mut self, above: usize) -> Option<usize> {
        while self.changes.len() > above {
            match self.changes.pop()? {
                Change::Branch { op, at } => {
                    self.at = at;
                    return Some(op);
                }
                Change::Slot { slot, before } => {
                    if let Some(known) = self.slots.get_mut(slot) {
                        *known = before;
                    }
                }
            }
        }
        None
    }

    fn take_all_back(&mut self, above: usize) {
        while self.take_back(above).is_some() {}
    }

    fn take(&mut self, test: impl Fn(u8) -> bool) -> bool {
        let is_taken = self.text.get(self.at).is_some_and(|byte| test(*byte));
        self.at += usize::from(is_taken);
        is_taken
    }

    /// A group that has taken no part is nowhere.
    fn take_again(&mut self, group: usize, any_case: bool) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(found) = self.group(group) else {
            return false;
        };
        let is_taken = rest.get(..found.len()).is_some_and(|text| match any_case {
            true => text.eq_ignore_ascii_case(found),
            false => text == found,
        });
        if is_taken {
            self.at += found.len();
        }
        // It may be long.
        self.left = self.left.saturating_sub(found.len());
        is_taken
    }

    fn is_at(&self, place: Place) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_word_at = |at: Option<usize>| {
            let byte = at.and_then(|at| self.text.get(at));
            byte.is_some_and(|byte| is_word(*byte))
        };
        let is_boundary = is_word_at(self.at.checked_sub(1)) != is_word_at(Some(self.at));
        match place {
            Place::Begin => self.at == 0,
            Place::End => matches!(rest, [] | [b'\n']),
            Place::VeryEnd => rest.is_empty(),
            Place::Word => is_boundary,
            Place::NotWord => !is_boundary,
        }
    }

    fn group(&self, group: usize) -> Option<&'t [u8]> {
        let end = (2 * group).checked_sub(1)?;
        self.text.get(self.slot(end - 1)..self.slot(end))
    }

    fn groups(&self) -> Vec<Option<&'t [u8]>> {
        let all = 1..=usize::from(self.program.groups);
        all.map(|group| self.group(group)).collect()
    }
}
