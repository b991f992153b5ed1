//! Contexts: their ids and lifetimes.

use std::collections::BTreeMap;

/// Id of a context in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u32);

/// A context of the guest, held by its creator until `Vm::on_delete` takes it back.
///
/// It cannot be cloned: as long as one exists, its id is not given to another context. One that outlives its
/// instance (see [`Vm::restart`](crate::Vm::restart)) is stale: calls for it do nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Context {
    pub(crate) id: ContextId,
    pub(crate) generation: u32,
}

impl Context {
    /// The id, which [`Env::enter`](crate::Env::enter) receives.
    #[must_use]
    pub fn id(&self) -> ContextId {
        self.id
    }
}

/// The live contexts of an instance, and those of earlier instances until they are deleted.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// The generation of each context by its id.
    live: BTreeMap<u32, u32>,
    last: u32,
}

impl Contexts {
    /// Opens a context with the next free id. There always is one: memory is exhausted long before 2^32 ids are.
    /// 0 is not an id, it stands for "no parent".
    pub(crate) fn open(&mut self, generation: u32) -> Context {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.live.contains_key(&self.last) {
                self.live.insert(self.last, generation);
                return Context {
                    id: ContextId(self.last),
                    generation,
                };
            }
        }
    }

    /// Frees the id, unless the context belongs to another VM.
    pub(crate) fn close(&mut self, context: &Context) {
        if self.is_live(context.id, context.generation) {
            self.live.remove(&context.id.0);
        }
    }

    pub(crate) fn is_live(&self, id: ContextId, generation: u32) -> bool {
        self.live.get(&id.0) == Some(&generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_wrap_around_live_ones_and_skip_zero() {
        let mut contexts = Contexts {
            live: BTreeMap::from([(u32::MAX, 1), (1, 1), (2, 1)]),
            last: u32::MAX - 1,
        };
        assert_eq!(contexts.open(1).id, ContextId(3));
        let four = contexts.open(1);
        contexts.close(&four);
        assert_eq!(contexts.open(1).id, ContextId(5));
    }

    #[test]
    fn context_of_an_older_generation_keeps_its_id_but_is_not_live() {
        let mut contexts = Contexts::default();
        let old = contexts.open(1);
        assert!(contexts.is_live(old.id, 1));
        assert!(!contexts.is_live(old.id, 2));
        contexts.last = 0;
        assert_ne!(contexts.open(2).id, old.id);
    }

    #[test]
    fn context_of_another_vm_frees_nothing() {
        let (mut ours, mut theirs) = (Contexts::default(), Contexts::default());
        let (our, their) = (ours.open(1), theirs.open(2));
        assert_eq!(our.id, their.id);
        ours.close(&their);
        assert!(ours.is_live(our.id, 1));
    }
}
