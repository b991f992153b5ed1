//! Events that are to be written: of each object the worst reports, with one Event that says how many more there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_translate::{ObjectKey, ObjectRef, Report, Severity};
use tokio::time::Instant;

use super::due_queue::DueQueue;

/// Reports of one object that have Events of their own.
pub(super) const MOST_OF_OBJECT: usize = 5;

/// An Event that is to be written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Report(Arc<Report>),
    /// There are more reports on this object.
    More(ObjectRef),
    /// Of an Ingress that was created or changed.
    Sync(ObjectKey),
}

impl Item {
    fn namespace(&self) -> &Arc<str> {
        match self {
            Item::Report(report) => &report.object.key.namespace,
            Item::More(object) => &object.key.namespace,
            Item::Sync(key) => &key.namespace,
        }
    }
}

/// Reports of an object, the worst first.
type Reports = BTreeSet<(Reverse<Severity>, Arc<Report>)>;

#[derive(Debug, Default)]
pub(super) struct Pending {
    reports: BTreeMap<ObjectRef, Reports>,
    queue: DueQueue<Item>,
}

impl Pending {
    pub(super) fn add(&mut self, report: Report, now: Instant) {
        let (object, report) = (report.object.clone(), Arc::new(report));
        let reports = self.reports.entry(object.clone()).or_default();
        reports.insert((Reverse(report.severity), Arc::clone(&report)));
        // Said again, if it was said before.
        self.dequeue(&Item::Report(report));
        self.fold(&object, now);
    }

    pub(super) fn remove(&mut self, report: Report, now: Instant) {
        let (object, report) = (report.object.clone(), Arc::new(report));
        if let Some(reports) = self.reports.get_mut(&object) {
            reports.remove(&(Reverse(report.severity), Arc::clone(&report)));
        }
        self.dequeue(&Item::Report(report));
        self.fold(&object, now);
    }

    pub(super) fn add_sync(&mut self, key: &ObjectKey, now: Instant) {
        let item = Item::Sync(key.clone());
        // One that changes again keeps its place.
        if !self.queue.contains(item.namespace(), &item) {
            self.enqueue(item, now);
        }
    }

    pub(super) fn remove_sync(&mut self, key: &ObjectKey) {
        self.dequeue(&Item::Sync(key.clone()));
    }

    /// The next one, and when it is due.
    pub(super) fn next(&mut self, at: Instant) -> Option<(Instant, Item)> {
        let next = self.queue.next(at);
        next.map(|(due, item)| (due, item.clone()))
    }

    /// It was this one's turn; it is due again then.
    pub(super) fn had_turn(&mut self, item: &Item, again: Option<Instant>) {
        self.queue.had_turn(item.namespace(), item, again);
    }

    /// How many reports on an object have no Event of their own, as a report; `None`: all have.
    pub(super) fn more(&self, object: &ObjectRef) -> Option<Report> {
        let reports = self.reports.get(object)?;
        let mut rest = reports.iter().skip(MOST_OF_OBJECT);
        let (_, worst) = rest.next()?;
        Some(Report::new(
            object.clone(),
            worst.code,
            worst.severity,
            format!("and {} more", reports.len() - MOST_OF_OBJECT),
            format!("at most {MOST_OF_OBJECT} reports on an object have Events"),
            "`sluice dbg reports` has all",
        ))
    }

    /// Queues what has an Event now, and nothing else of an object. Costs the same however many reports there are.
    fn fold(&mut self, object: &ObjectRef, now: Instant) {
        let Some(reports) = self.reports.get(object) else {
            return;
        };
        let first = reports.iter().take(MOST_OF_OBJECT + 1);
        let mut first: Vec<Arc<Report>> = first.map(|(_, report)| Arc::clone(report)).collect();
        if reports.is_empty() {
            self.reports.remove(object);
        }
        let more = Item::More(object.clone());
        if first.len() > MOST_OF_OBJECT {
            // At most one that had an Event has made room for a worse one.
            let beyond = first.pop();
            beyond
                .map(Item::Report)
                .iter()
                .for_each(|it| self.dequeue(it));
            self.enqueue(more, now);
        } else {
            self.dequeue(&more);
        }
        for report in first {
            let item = Item::Report(report);
            if !self.queue.contains(item.namespace(), &item) {
                self.enqueue(item, now);
            }
        }
    }

    fn enqueue(&mut self, item: Item, due: Instant) {
        let namespace = Arc::clone(item.namespace());
        self.queue.set(&namespace, item, due);
    }

    fn dequeue(&mut self, item: &Item) {
        self.queue.remove(item.namespace(), item);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::tests::{report, report_of};

    /// Everything in the order in which it goes out, once.
    fn all(pending: &mut Pending, now: Instant) -> Vec<Item> {
        let again = now + Duration::from_secs(60);
        let next = || {
            let (due, item) = pending.next(now)?;
            pending.had_turn(&item, Some(again));
            (due <= now).then_some(item)
        };
        std::iter::from_fn(next).collect()
    }

    /// From every set of reports to every other.
    #[test]
    fn the_worst_reports_of_an_object_have_events_and_the_rest_is_counted() {
        let reports: Vec<Report> = (0..8)
            .map(|number| {
                let severity = [Severity::Warning, Severity::Error][number % 2];
                Report {
                    severity,
                    ..report(&format!("field {number}"), "expected one")
                }
            })
            .collect();
        let now = Instant::now();
        let chosen = |bits: usize| {
            let all = reports.iter().enumerate();
            all.filter(move |(number, _)| bits & (1 << number) != 0)
                .map(|(_, report)| report.clone())
        };
        for (before, after) in
            (0..256).flat_map(|one| (0..256).step_by(7).map(move |two| (one, two)))
        {
            let mut pending = Pending::default();
            chosen(before).for_each(|report| pending.add(report, now));
            chosen(before & !after).for_each(|report| pending.remove(report, now));
            chosen(after & !before).for_each(|report| pending.add(report, now));
            let mut worst: Vec<Report> = chosen(after).collect();
            worst.sort_by_key(|report| (Reverse(report.severity), report.clone()));
            let rest = worst.split_off(worst.len().min(MOST_OF_OBJECT));
            let mut expected: Vec<Item> =
                worst.into_iter().map(Arc::new).map(Item::Report).collect();
            let object = &reports[0].object;
            expected.extend((!rest.is_empty()).then(|| Item::More(object.clone())));
            let mut said = all(&mut pending, now);
            said.sort();
            expected.sort();
            assert_eq!(said, expected);
            let more = pending.more(object).map(|report| report.field);
            let count = (!rest.is_empty()).then(|| format!("and {} more", rest.len()));
            assert_eq!(more, count);
        }
    }

    /// 60,000 reports of one namespace, beside one of another and an Ingress that was changed.
    #[test]
    fn what_others_have_to_say_waits_for_one_event_of_a_crowd() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        for ingress in 0..60 {
            for path in 0..1000 {
                let report = report_of("crowd", &format!("i{ingress}"), &format!("path {path}"));
                pending.add(report, now);
            }
        }
        pending.add(report_of("shop", "a", "annotation auth-type"), now);
        pending.add_sync(&ObjectKey::new("other", "b"), now);
        let said = all(&mut pending, now);
        let place = |namespace: &str| {
            said.iter()
                .position(|item| &**item.namespace() == namespace)
        };
        assert!(place("shop") <= Some(2) && place("other") <= Some(2));
        assert_eq!(said.len(), 60 * (MOST_OF_OBJECT + 1) + 2);
    }

    #[test]
    fn an_ingress_that_changes_again_keeps_its_place() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        let [a, b] = ["a", "b"].map(|name| ObjectKey::new("n", name));
        pending.add_sync(&b, now);
        for second in [1, 2, 3] {
            pending.add_sync(&a, now + Duration::from_secs(second));
            pending.add_sync(&b, now + Duration::from_secs(second));
        }
        let later = now + Duration::from_secs(9);
        let next = all(&mut pending, later);
        assert_eq!(next, [Item::Sync(b), Item::Sync(a)]);
    }
}
