//! Events of a source as what there is at their end.

use sluice_translate::{Object, Resources};

use crate::{Event, Problem};

/// Everything that a source has at one moment.
#[derive(Debug, Default)]
pub struct Collected {
    /// Its objects.
    pub resources: Resources,
    /// The Ingresses among them, in their order.
    pub ingresses: Vec<Object>,
    /// Problems with the rest, sorted.
    pub problems: Vec<Problem>,
}

impl FromIterator<Event> for Collected {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut all = Collected::default();
        for event in events {
            match event {
                Event::Apply(object) => {
                    if let Object::Ingress(_) = &object {
                        all.ingresses.push(object.clone());
                    }
                    all.resources.apply(object);
                }
                Event::Delete(kind, key) => drop(all.resources.delete(kind, &key)),
                Event::IngressClassesForbidden => all.resources.forbid_ingress_classes(),
                Event::Machines(addresses) => drop(all.resources.know_machines(addresses)),
                Event::Problem(problem) => all.problems.push(problem),
                Event::Ready => {}
            }
        }
        all.problems.sort();
        all
    }
}
