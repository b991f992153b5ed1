//! Searches among any items.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// A generator that needs no seed of its own.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Items at fault, and the number of candidates that were tried.
fn search(all: u64, is_accepted: impl Fn(&BTreeSet<u64>) -> bool) -> (BTreeSet<u64>, usize) {
    result(Search::among(suspects(0..all), "all"), is_accepted)
}

fn suspects(items: impl Iterator<Item = u64>) -> Vec<Suspect<u64>> {
    let suspect = |item| Suspect {
        item,
        namespace: None,
    };
    items.map(suspect).collect()
}

fn result(
    mut search: Search<u64>,
    is_accepted: impl Fn(&BTreeSet<u64>) -> bool,
) -> (BTreeSet<u64>, usize) {
    let mut tried = 0;
    while let Some(candidate) = search.candidate() {
        tried += 1;
        let candidate: BTreeSet<u64> = candidate.into_iter().collect();
        search.answer(if is_accepted(&candidate) {
            Ok(())
        } else {
            Err(format!("{candidate:?}"))
        });
    }
    (
        search
            .refused()
            .into_iter()
            .map(|(member, _)| member)
            .collect(),
        tried,
    )
}

#[test]
fn exactly_those_at_fault_are_found_with_few_candidates() {
    let mut random = Random(14);
    for _ in 0..200 {
        let all = 1 + random.below(500);
        let count = 1 + random.below(12.min(all));
        let at_fault: BTreeSet<u64> = (0..count).map(|_| random.below(all)).collect();
        let (found, tried) = search(all, |candidate| candidate.is_disjoint(&at_fault));
        assert_eq!(found, at_fault);
        let depth = usize::try_from(all.next_power_of_two().ilog2()).unwrap();
        assert!(
            tried <= 2 * at_fault.len() * depth + 1,
            "{tried} for {} of {all}",
            at_fault.len()
        );
    }
}

#[test]
fn one_that_is_refused_alone_needs_no_candidate() {
    assert_eq!(search(1, |_| false), ([0].into(), 0));
    assert!(search(1024, |candidate| !candidate.contains(&700)).1 <= 20);
}

#[test]
fn of_suspects_that_are_accepted_none_is_at_fault() {
    for all in [0, 1, 2, 100] {
        let among = || Search::among_suspects(suspects(0..all), "all");
        assert_eq!(result(among(), |_| true), (BTreeSet::new(), 1));
        let is_accepted = |candidate: &BTreeSet<u64>| !candidate.contains(&70);
        let expected = if all > 70 {
            [70].into()
        } else {
            BTreeSet::new()
        };
        assert_eq!(result(among(), is_accepted).0, expected);
    }
}

#[test]
fn when_all_are_at_fault_all_are_found() {
    let (found, tried) = search(64, BTreeSet::is_empty);
    assert_eq!(found.len(), 64);
    assert!(tried < 128, "{tried}");
}

#[test]
fn of_two_that_clash_the_second_is_at_fault() {
    let mut random = Random(4);
    for _ in 0..200 {
        let all = 2 + random.below(100);
        let (one, other) = (random.below(all), random.below(all));
        if one == other {
            continue;
        }
        let clash =
            |candidate: &BTreeSet<u64>| candidate.contains(&one) && candidate.contains(&other);
        assert_eq!(
            search(all, |candidate| !clash(candidate)).0,
            [one.max(other)].into()
        );
    }
}

#[test]
fn what_is_said_is_what_was_said_of_the_smallest_group() {
    let mut search = Search::among(suspects(0..2), "both");
    assert_eq!(search.candidate(), Some(vec![0]));
    search.answer(Err("0 alone".to_owned()));
    assert_eq!(search.candidate(), Some(vec![1]));
    search.answer(Ok(()));
    assert_eq!(search.candidate(), None);
    let refused = Reason::Refused("0 alone".to_owned());
    assert_eq!(search.refused(), [(0, refused)]);
}

/// Items of namespaces, of which some have any number of items at fault, anywhere.
#[test]
fn candidates_are_bounded_by_namespaces_at_fault_and_others_are_accepted() {
    let mut random = Random(3);
    for round in 0..2000 {
        let (all, namespaces) = (1 + random.below(400), 1 + random.below(20));
        let mut owners: Vec<u64> = (0..all).map(|_| random.below(namespaces)).collect();
        if round % 2 == 0 {
            owners.sort_unstable();
        }
        let guilty: BTreeSet<u64> = (0..1 + random.below(4))
            .map(|_| random.below(namespaces))
            .collect();
        let share = 1 + random.below(10);
        let owned: Vec<(u64, u64)> = (0..all).zip(owners).collect();
        let at_fault: BTreeMap<u64, u64> = owned
            .iter()
            .filter(|(_, owner)| guilty.contains(owner) && random.below(10) < share)
            .copied()
            .collect();
        let suspect = |(item, owner): &(u64, u64)| Suspect {
            item: *item,
            namespace: Some(owner.to_string().into()),
        };
        let members = owned.iter().map(suspect).collect();
        let mut search = Search::among_suspects(members, "all");
        let mut tried = 0;
        while let Some(candidate) = search.candidate() {
            tried += 1;
            let is_bad = candidate.iter().any(|item| at_fault.contains_key(item));
            search.answer(if is_bad { Err("no".to_owned()) } else { Ok(()) });
        }
        let at_once = usize::try_from(all.next_power_of_two().ilog2()).unwrap();
        let of_fault = at_fault.values().collect::<BTreeSet<_>>().len();
        let bound = of_fault * (2 * FEW * at_once + 1) + 1;
        assert!(
            tried <= bound,
            "{tried} > {bound}: {all} {namespaces} {at_fault:?}"
        );
        check(search, &owned, &at_fault);
    }
}

fn check(search: Search<u64>, owned: &[(u64, u64)], at_fault: &BTreeMap<u64, u64>) {
    let accepted: BTreeSet<u64> = search.accepted.iter().copied().collect();
    let mut refused: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    for (item, reason) in search.refused() {
        let namespace = match reason {
            Reason::Refused(_) => None,
            Reason::Namespace(namespace) => Some(namespace.parse().unwrap()),
        };
        assert_eq!(refused.insert(item, namespace), None);
    }
    for (item, owner) in owned {
        match refused.get(item) {
            None => assert!(accepted.contains(item) && !at_fault.contains_key(item)),
            Some(None) => assert!(at_fault.contains_key(item)),
            Some(Some(of)) => {
                let found = |it: &&u64| refused.get(*it) == Some(&None);
                let of_it = at_fault.iter().filter(|(_, other)| *other == owner);
                let count = of_it.map(|(item, _)| item).filter(found).count();
                assert_eq!((of, count), (owner, FEW));
            }
        }
    }
    assert_eq!(accepted.len() + refused.len(), owned.len());
}

#[test]
fn each_is_decided_where_none_is_set_aside() {
    let suspect = |item| Suspect {
        item,
        namespace: Some("one".into()),
    };
    let mut search = Search::of_each((0..100).map(suspect).collect());
    let (mut accepted, mut refused) = (BTreeSet::new(), BTreeSet::new());
    while let Some(candidate) = search.candidate() {
        let is_bad = candidate.iter().any(|item| item % 3 == 0);
        search.answer(if is_bad { Err("no".to_owned()) } else { Ok(()) });
        let (good, bad) = search.take_decided();
        assert!(good.into_iter().all(|item| accepted.insert(item)));
        refused.extend(bad.into_iter().map(|(item, _)| item));
    }
    refused.extend(search.refused().into_iter().map(|(item, _)| item));
    assert!(refused.iter().all(|item| item % 3 == 0));
    assert_eq!((accepted.len(), refused.len()), (66, 34));
}
