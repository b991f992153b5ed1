use std::collections::BTreeSet;

use sluice_filter_config as wire;

use super::*;
use crate::SplitMix64;
use crate::client::address;
use crate::shared::EXCHANGES;
use crate::testing::{Memory, Nothing};

const NOW: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);
const ALICE: &[u8] = b"192.0.2.1";
const BOB: &[u8] = b"192.0.2.2";

fn limit(most: u32) -> ConnectionLimit {
    of_zone("shop/web", most)
}

fn of_zone(zone: &str, most: u32) -> ConnectionLimit {
    let most = most.try_into().unwrap();
    let exempt = vec!["10.0.0.0/8".parse().unwrap()];
    wire::Connections {
        zone: zone.to_owned(),
        most,
        status: 429,
        exempt,
    }
    .into()
}

fn worker(seed: u64) -> Connections {
    Connections::new(&mut SplitMix64(seed))
}

fn enters(
    worker: &mut Connections,
    address: &[u8],
    now: Timestamp,
    memory: &Memory,
) -> Option<Client> {
    match worker.enter(&limit(3), address, now, memory).unwrap() {
        Entry::Counted(client) => Some(client),
        Entry::Refused => None,
        Entry::Exempt => panic!("nobody is exempt here"),
    }
}

#[test]
fn a_client_has_so_many_in_process_over_all_workers_and_then_no_more() {
    let (memory, mut workers) = (Memory::default(), [worker(1), worker(2), worker(3)]);
    let entered: Vec<Client> = workers
        .iter_mut()
        .map(|worker| enters(worker, ALICE, NOW, &memory).unwrap())
        .collect();
    for worker in &mut workers {
        assert_eq!(enters(worker, ALICE, NOW, &memory), None);
        assert!(
            enters(worker, BOB, NOW, &memory).is_some(),
            "another client is counted by itself"
        );
    }
    workers[1].leave(entered[1], &memory);
    assert!(enters(&mut workers[0], ALICE, NOW, &memory).is_some());
    assert_eq!(enters(&mut workers[2], ALICE, NOW, &memory), None);
}

#[test]
fn zones_are_counted_by_themselves() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    for zone in ["shop/web", "shop/api"] {
        for _ in 0..3 {
            let entry = worker
                .enter(&of_zone(zone, 3), ALICE, NOW, &memory)
                .unwrap();
            assert!(matches!(entry, Entry::Counted(_)));
        }
        assert_eq!(
            worker.enter(&of_zone(zone, 3), ALICE, NOW, &memory),
            Ok(Entry::Refused)
        );
    }
}

#[test]
fn who_is_exempt_costs_nothing_and_is_never_refused() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    for address in [&b"10.1.2.3"[..], b"::ffff:10.1.2.3"].repeat(5) {
        assert_eq!(
            worker.enter(&limit(1), address, NOW, &memory),
            Ok(Entry::Exempt)
        );
    }
    assert_eq!(memory.calls.get(), 0);
}

#[test]
fn an_exchange_that_was_lost_is_done_again_with_what_is_there_now() {
    let (memory, mut workers) = (Memory::default(), [worker(1), worker(2)]);
    let first = enters(&mut workers[0], ALICE, NOW, &memory).unwrap();
    memory.lose.set(7);
    assert!(enters(&mut workers[1], ALICE, NOW, &memory).is_some());
    assert!(enters(&mut workers[1], ALICE, NOW, &memory).is_some());
    assert_eq!(enters(&mut workers[1], ALICE, NOW, &memory), None);
    memory.lose.set(7);
    workers[0].leave(first, &memory);
    assert!(enters(&mut workers[1], ALICE, NOW, &memory).is_some());
}

#[test]
fn whoever_always_loses_is_refused_and_nothing_is_counted() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    enters(&mut worker, BOB, NOW, &memory).unwrap();
    memory.lose.set(EXCHANGES);
    assert_eq!(enters(&mut worker, ALICE, NOW, &memory), None);
    assert!((0..3).all(|_| enters(&mut worker, ALICE, NOW, &memory).is_some()));
}

#[test]
fn a_count_whose_end_got_lost_comes_right_with_the_next_request() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    let clients: Vec<Client> = (0..3)
        .map(|_| enters(&mut worker, ALICE, NOW, &memory).unwrap())
        .collect();
    memory.lose.set(EXCHANGES);
    worker.leave(clients[0], &memory);
    assert!(enters(&mut worker, ALICE, NOW, &memory).is_some());
    assert_eq!(enters(&mut worker, ALICE, NOW, &memory), None);
}

#[test]
fn the_counts_of_a_worker_that_is_gone_lapse_and_those_of_a_living_one_stay() {
    let memory = Memory::default();
    let (mut gone, mut lives, mut asks) = (worker(1), worker(2), worker(3));
    enters(&mut gone, ALICE, NOW, &memory).unwrap();
    enters(&mut lives, ALICE, NOW, &memory).unwrap();
    enters(&mut asks, ALICE, NOW, &memory).unwrap();
    let later = NOW.after(LAPSE);
    for seconds in 1..10 {
        lives.tick(|| NOW.after(Duration::from_secs(seconds)), &memory);
    }
    assert_eq!(
        enters(&mut asks, ALICE, NOW.after(LAPSE - BEAT), &memory),
        None,
        "not yet"
    );
    assert!(
        enters(&mut asks, ALICE, later, &memory).is_some(),
        "one has lapsed"
    );
    assert_eq!(
        enters(&mut asks, ALICE, later, &memory),
        None,
        "the others have not"
    );
}

#[test]
fn a_worker_that_was_taken_for_dead_counts_again_and_takes_nothing_of_others_away() {
    let memory = Memory::default();
    let (mut stalls, mut asks) = (worker(1), worker(2));
    let client = enters(&mut stalls, ALICE, NOW, &memory).unwrap();
    enters(&mut stalls, ALICE, NOW, &memory).unwrap();
    let later = NOW.after(LAPSE * 2);
    assert!((0..3).all(|_| enters(&mut asks, ALICE, later, &memory).is_some()));
    stalls.leave(client, &memory);
    stalls.tick(|| later, &memory);
    assert_eq!(enters(&mut stalls, ALICE, later, &memory), None);
    assert_eq!(enters(&mut asks, ALICE, later, &memory), None);
}

#[test]
fn a_clock_that_was_set_back_makes_no_count_immortal() {
    let memory = Memory::default();
    let (mut gone, mut asks) = (worker(1), worker(2));
    let ahead = NOW.after(Duration::from_secs(3600));
    assert!((0..3).all(|_| enters(&mut gone, ALICE, ahead, &memory).is_some()));
    assert!(enters(&mut asks, ALICE, NOW, &memory).is_some());
}

#[test]
fn a_worker_with_nothing_in_process_says_nothing() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    worker.tick(|| panic!("nobody asks for the time"), &memory);
    let client = enters(&mut worker, ALICE, NOW, &memory).unwrap();
    worker.leave(client, &memory);
    let before = memory.calls.get();
    worker.tick(|| panic!("nobody asks for the time"), &memory);
    assert_eq!(memory.calls.get(), before);
}

#[test]
fn what_is_over_leaves_no_bytes() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    let client = enters(&mut worker, ALICE, NOW, &memory).unwrap();
    worker.leave(client, &memory);
    assert!(memory.values.borrow()[&slot_of(client)].0.is_empty());
}

#[test]
fn the_memory_is_bounded_and_whoever_has_no_room_is_refused() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    let address = |n: usize| format!("192.0.{}.{}", n / 250, n % 250).into_bytes();
    let seed = worker.seed.read(SEED, &memory).unwrap();
    let one_slot = |client: &Client| client.0 % SLOTS == 7;
    let clients = (0..50_000 * Slot::MOST).map(address).filter(|address| {
        let client = worker.client(&limit(3), address, &memory).unwrap();
        one_slot(&client)
    });
    let crowd: BTreeSet<Vec<u8>> = clients.take(Slot::MOST + 1).collect();
    let entries: Vec<bool> = crowd
        .iter()
        .map(|address| enters(&mut worker, address, NOW, &memory).is_some())
        .collect();
    assert_eq!(
        entries.iter().filter(|entered| **entered).count(),
        Slot::MOST,
        "seed {seed}"
    );
    assert!(
        memory
            .values
            .borrow()
            .values()
            .all(|(value, _)| value.len() <= 1024)
    );
}

#[test]
fn all_workers_hash_alike_and_data_planes_do_not() {
    let (memory, other) = (Memory::default(), Memory::default());
    let client = |seed, memory| worker(seed).client(&limit(3), ALICE, memory).unwrap();
    assert_eq!(client(1, &memory), client(2, &memory));
    assert_ne!(client(1, &memory), client(2, &other));
}

#[test]
fn a_host_that_shares_nothing_says_so() {
    assert_eq!(
        worker(1).enter(&limit(3), ALICE, NOW, &Nothing),
        Err(Unavailable)
    );
}

#[test]
fn what_others_left_in_the_memory_cannot_harm() {
    let (memory, mut worker) = (Memory::default(), worker(1));
    let client = worker.client(&limit(3), ALICE, &memory).unwrap();
    for junk in [vec![0xff; 15], vec![0xff; 17], vec![0; 4096]] {
        memory
            .values
            .borrow_mut()
            .insert(slot_of(client), (junk.clone(), 1));
        memory.values.borrow_mut().insert(workers_key(), (junk, 1));
        let counted = enters(&mut worker, ALICE, NOW, &memory).unwrap();
        worker.leave(counted, &memory);
    }
}

#[test]
fn an_address_is_what_comes_before_the_port() {
    let of = |peer: &str| String::from_utf8(address(peer.as_bytes())).unwrap();
    assert_eq!(of("192.0.2.1:4711"), "192.0.2.1");
    assert_eq!(of("[2001:db8::1]:4711"), "2001:db8::1");
    assert_eq!(of("[::ffff:192.0.2.1]:4711"), "192.0.2.1");
    assert_eq!(of("/run/front.sock"), "/run/front.sock");
}
