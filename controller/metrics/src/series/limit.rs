//! Room for the rows of series, and what becomes of those beyond it.

use crate::label::Label;
use crate::room::Room;

/// Room for rows that tenants make.
pub(crate) struct Limit<const N: usize> {
    namespace: fn(&[Label; N]) -> &Label,
    /// Tried one after the other.
    steps: Vec<Step<N>>,
    /// Labels of those that no step has room for. There are few such label sets: they take no room.
    rest: Fold<N>,
}

/// Rows that say as much as this.
struct Step<const N: usize> {
    fold: Fold<N>,
    room: Room,
}

/// The labels of less that is said.
type Fold<const N: usize> = fn(&[Label; N]) -> [Label; N];

impl Limit<2> {
    /// Namespaces and names of objects in so many bytes of the page, and one label set for the rest.
    pub(crate) fn by_namespace(most: usize) -> Self {
        Limit::new(most, |[namespace, _]| namespace, |_| Label::others())
    }
}

impl<const N: usize> Limit<N> {
    /// Label sets of their own in so many bytes of the page, and the rest.
    pub(crate) fn new(most: usize, namespace: fn(&[Label; N]) -> &Label, rest: Fold<N>) -> Self {
        let own = Step {
            fold: Clone::clone,
            room: Room::new(most),
        };
        Limit {
            namespace,
            steps: vec![own],
            rest,
        }
    }

    /// Label sets without room of their own are folded into these, which have a room of so many bytes, before they are the rest.
    pub(crate) fn or(mut self, most: usize, fold: Fold<N>) -> Self {
        let room = Room::new(most);
        self.steps.push(Step { fold, room });
        self
    }

    /// The labels under which these are counted, and the step whose room a new row takes.
    pub(super) fn admit(
        &mut self,
        labels: [Label; N],
        is_known: impl Fn(&[Label; N]) -> bool,
        cost: impl Fn(&[Label; N]) -> usize,
    ) -> ([Label; N], Option<usize>) {
        for (number, step) in self.steps.iter_mut().enumerate() {
            let folded = (step.fold)(&labels);
            if is_known(&folded) {
                return (folded, None);
            }
            if step.room.take((self.namespace)(&folded), cost(&folded)) {
                return (folded, Some(number));
            }
        }
        ((self.rest)(&labels), None)
    }

    pub(super) fn give_back(&mut self, step: usize, labels: &[Label; N], cost: usize) {
        if let Some(step) = self.steps.get_mut(step) {
            step.room.give_back((self.namespace)(labels), cost);
        }
    }

    /// Gives all of it back.
    pub(super) fn clear(&mut self) {
        self.steps.iter_mut().for_each(|step| step.room.clear());
    }

    /// Bytes of the page that are taken.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.steps.iter().map(|step| step.room.used()).sum()
    }
}
