use std::time::Duration;

use super::*;
use crate::SplitMix64;
use crate::testing::{Memory, Nothing};

const NOW: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);
const ALICE: &[u8] = b"192.0.2.1";

fn of_zone(zone: &str, limits: &[(u32, u32, u32)]) -> RateLimit {
    let limits = limits.iter().map(|&(requests, seconds, burst)| wire::Rate {
        requests: requests.try_into().unwrap(),
        seconds: seconds.try_into().unwrap(),
        burst,
    });
    RateLimit::from(wire::Rates {
        zone: zone.to_owned(),
        limits: limits.collect(),
        status: 429,
        exempt: vec!["10.0.0.0/8".parse().unwrap()],
    })
}

fn worker(seed: u64) -> Rates {
    Rates::new(&mut SplitMix64(seed))
}

fn millis(millis: u64) -> Timestamp {
    NOW.after(Duration::from_millis(millis))
}

/// How many of so many requests at once are served.
fn served(limit: &RateLimit, address: &[u8], now: Timestamp, memory: &Memory, tries: u32) -> u32 {
    let mut workers = [worker(1), worker(2)];
    let admitted = (0..tries).filter(|at| {
        let worker = &mut workers[*at as usize % 2];
        worker.admit(limit, address, now, memory).unwrap()
    });
    u32::try_from(admitted.count()).unwrap()
}

#[test]
fn a_client_has_one_request_and_its_burst_over_all_workers_and_then_its_rate() {
    let (memory, limit) = (Memory::default(), of_zone("n/i", &[(2, 1, 4)]));
    assert_eq!(served(&limit, ALICE, NOW, &memory, 20), 5);
    assert_eq!(served(&limit, ALICE, millis(499), &memory, 5), 0);
    assert_eq!(served(&limit, ALICE, millis(500), &memory, 5), 1);
    assert_eq!(served(&limit, ALICE, millis(2000), &memory, 20), 3);
    assert_eq!(served(&limit, ALICE, millis(60_000), &memory, 20), 5);
}

#[test]
fn zones_and_clients_are_counted_by_themselves_and_who_is_exempt_is_not() {
    let memory = Memory::default();
    let limit = of_zone("n/i", &[(1, 60, 0)]);
    assert_eq!(served(&limit, ALICE, NOW, &memory, 9), 1);
    assert_eq!(served(&limit, b"192.0.2.2", NOW, &memory, 9), 1);
    assert_eq!(
        served(&of_zone("n/j", &[(1, 60, 0)]), ALICE, NOW, &memory, 9),
        1
    );
    assert_eq!(served(&limit, b"10.1.2.3", NOW, &memory, 9), 9);
}

#[test]
fn what_one_limit_refuses_does_not_count_for_the_other() {
    let (memory, limit) = (Memory::default(), of_zone("n/i", &[(1, 1, 0), (3, 60, 2)]));
    assert_eq!(served(&limit, ALICE, NOW, &memory, 9), 1);
    assert_eq!(served(&limit, ALICE, millis(1000), &memory, 9), 1);
    assert_eq!(served(&limit, ALICE, millis(2000), &memory, 9), 1);
    assert_eq!(
        served(&limit, ALICE, millis(3000), &memory, 9),
        0,
        "three a minute"
    );
}

#[test]
fn a_smaller_limit_and_a_clock_that_was_set_back_find_a_used_burst_and_nothing_worse() {
    let memory = Memory::default();
    served(
        &of_zone("n/i", &[(1, 1, 1000)]),
        ALICE,
        millis(50_000),
        &memory,
        900,
    );
    let limit = of_zone("n/i", &[(1, 1, 5)]);
    assert_eq!(served(&limit, ALICE, NOW, &memory, 9), 1);
    assert_eq!(served(&limit, ALICE, millis(1000), &memory, 9), 1);
    assert_eq!(served(&limit, ALICE, millis(60_000), &memory, 9), 6);
}

#[test]
fn a_flood_of_addresses_is_bounded_and_displaces_no_client_that_used_its_burst() {
    let limit = of_zone("n/i", &[(1, 60, 5)]);
    let mut slot = Slot::default();
    for _ in 0..6 {
        assert!(slot.admit(0, &limit.buckets, NOW));
    }
    for client in 1..10_000 {
        assert!(slot.admit(client << 12, &limit.buckets, NOW));
        slot = Slot::read(&slot.write(), NOW);
    }
    assert_eq!(slot.write().len(), 1280);
    assert!(!slot.admit(0, &limit.buckets, NOW));
}

#[test]
fn there_are_so_many_slots_and_no_more() {
    let (memory, limit) = (Memory::default(), of_zone("n/i", &[(1, 60, 5)]));
    let mut worker = worker(3);
    for address in 0..20_000 {
        let address = format!("2001:db8::{address:x}");
        worker
            .admit(&limit, address.as_bytes(), NOW, &memory)
            .unwrap();
    }
    let keys = u64::try_from(memory.values.borrow().len()).unwrap();
    assert!((SLOTS / 2..=SLOTS + 1).contains(&keys), "{keys}");
}

#[test]
fn what_is_over_leaves_the_memory_with_the_next_that_comes_there() {
    let (memory, limit) = (Memory::default(), of_zone("n/i", &[(1000, 1, 0)]));
    for minute in 0..200 {
        served(&limit, ALICE, millis(minute * 60_000), &memory, 1);
    }
    let values = memory.values.borrow();
    let largest = values.values().map(|(bytes, _)| bytes.len()).max().unwrap();
    assert_eq!(largest, 20);
}

#[test]
fn an_exchange_that_was_lost_is_done_again_and_whoever_always_loses_is_refused() {
    let (memory, limit) = (Memory::default(), of_zone("n/i", &[(1, 60, 0)]));
    let mut worker = worker(1);
    worker.admit(&limit, b"192.0.2.9", NOW, &memory).unwrap();
    memory.lose.set(3);
    assert!(worker.admit(&limit, ALICE, NOW, &memory).unwrap());
    memory.lose.set(usize::MAX);
    assert!(!worker.admit(&limit, b"192.0.2.3", NOW, &memory).unwrap());
}

#[test]
fn a_host_that_shares_nothing_says_so_and_foreign_bytes_do_no_harm() {
    let limit = of_zone("n/i", &[(1, 60, 0)]);
    assert!(worker(1).admit(&limit, ALICE, NOW, &Nothing).is_err());
    let memory = Memory::default();
    served(&limit, ALICE, NOW, &memory, 1);
    let mut values = memory.values.borrow_mut();
    for (key, (bytes, _)) in values.iter_mut().filter(|(key, _)| !key.ends_with("seed")) {
        *bytes = key.bytes().chain([0xff; 30]).collect();
    }
    drop(values);
    assert!(served(&limit, ALICE, NOW, &memory, 1) <= 1);
}
