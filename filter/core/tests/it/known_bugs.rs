//! Bugs of ingress-nginx (its issues, and sections 3 and 14 of our reading of it), each fixed here.

use std::time::Duration;

use sluice_filter_config::{AffinityMode, Canary, Endpoint, LoadBalance, Share};
use sluice_filter_core::Outcome;

use crate::site::{CANARY, Client, Headers, SHOP, Site, address, affinity, hash_by};

fn user(name: &str) -> Headers {
    Headers::default()
        .with("x-user", name)
        .with("x-tenant", "one")
}

fn homes(site: &mut Site) -> Vec<String> {
    (0..60)
        .map(|n| site.send(&user(&n.to_string())).first().to_owned())
        .collect()
}

#[test]
fn a_change_of_the_hash_expression_is_picked_up() {
    let mut site = Site::like(5, |shop| {
        shop.load_balance = LoadBalance::chash(hash_by("$http_x_tenant"));
    });
    assert!(homes(&mut site).windows(2).all(|pair| pair[0] == pair[1]));
    site.shop.load_balance = LoadBalance::chash(hash_by("$http_x_user"));
    site.publish_shop();
    assert!(homes(&mut site).windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn a_change_of_the_subset_size_or_expression_is_picked_up_without_a_change_of_endpoints() {
    let subset =
        |key: &str, size: u16| LoadBalance::chash_subset(hash_by(key), size.try_into().unwrap());
    let used = |site: &mut Site| {
        let mut used: Vec<_> = (0..300)
            .map(|_| site.send(&user("bob")).first().to_owned())
            .collect();
        used.sort();
        used.dedup();
        used.len()
    };
    let mut site = Site::like(12, |shop| shop.load_balance = subset("$http_x_user", 2));
    assert_eq!(used(&mut site), 2);
    site.shop.load_balance = subset("$http_x_user", 6);
    site.publish_shop();
    assert_eq!(used(&mut site), 6);
}

#[test]
fn a_canary_policy_is_picked_up_whatever_the_algorithm_of_its_backends() {
    for load_balance in [
        LoadBalance::chash(hash_by("$http_x_user")),
        LoadBalance::chash_subset(hash_by("$http_x_user"), 3.try_into().unwrap()),
    ] {
        let mut site = Site::like(5, |shop| shop.load_balance = load_balance.clone());
        site.canary.load_balance = load_balance;
        for (weight, expected) in [(0, SHOP), (100, CANARY), (0, SHOP)] {
            let share = Some(Share { weight, total: 100 });
            site.route.canaries = vec![Canary {
                backend: CANARY.into(),
                weight: share,
                ..Canary::default()
            }];
            site.publish();
            assert_eq!(site.send(&user("bob")).backend.as_deref(), Some(expected));
        }
    }
}

#[test]
fn two_changes_within_a_second_are_both_seen() {
    let mut site = Site::new(1);
    for n in [2, 3] {
        site.shop.endpoints = vec![Endpoint::at(address(n))];
        site.publish_shop();
        assert_eq!(site.serve(200), address(n));
    }
}

#[test]
fn a_retry_of_a_hash_does_not_go_to_the_dead_peer_again() {
    let mut site = Site::like(3, |shop| {
        shop.load_balance = LoadBalance::chash(hash_by("$http_x_user"));
    });
    for n in 0..50 {
        let mut candidates = site.send(&user(&n.to_string())).candidates;
        candidates.sort();
        candidates.dedup();
        assert_eq!(candidates.len(), 3);
    }
}

#[test]
fn two_services_with_one_endpoint_do_not_mix_their_response_times() {
    let mut site = Site::like(2, |shop| shop.load_balance = LoadBalance::named("ewma"));
    site.canary.load_balance = LoadBalance::named("ewma");
    site.canary.endpoints = site.shop.endpoints.clone();
    let share = Some(Share {
        weight: 50,
        total: 100,
    });
    site.route.canaries = vec![Canary {
        backend: CANARY.into(),
        weight: share,
        ..Canary::default()
    }];
    site.publish();
    // The first endpoint is slow as the shop's, the second as the canary's.
    for _ in 0..200 {
        let sent = site.send(&Headers::default());
        let first = sent.first().to_owned();
        let slow = (sent.backend.as_deref() == Some(SHOP)) == (first == address(1));
        let response_time = Some(Duration::from_millis(if slow { 900 } else { 1 }));
        let outcome = Outcome {
            endpoint: Some(&first),
            status: Some(200),
            response_time,
            attempts: 1,
        };
        site.tables
            .complete(sent.token.unwrap(), Some(&outcome), site.now);
    }
    for _ in 0..50 {
        let sent = site.send(&Headers::default());
        let expected = address(if sent.backend.as_deref() == Some(SHOP) {
            2
        } else {
            1
        });
        assert_eq!(sent.first(), expected);
        site.tables.complete(sent.token.unwrap(), None, site.now);
    }
}

#[test]
fn a_session_that_finds_no_other_endpoint_for_a_retry_is_not_502() {
    for mode in [AffinityMode::Balanced, AffinityMode::Persistent] {
        let mut site = Site::like(2, |shop| {
            shop.affinity = affinity(mode);
            shop.attempts = 5.try_into().unwrap();
            shop.affinity.as_mut().unwrap().change_on_failure = true;
        });
        let mut client = Client::default();
        client.visit(&mut site);
        assert_eq!(site.send(&client.headers()).candidates.len(), 5, "{mode:?}");
    }
}

#[test]
fn of_two_cookies_with_the_name_the_one_of_this_backend_is_the_session() {
    let mut site = Site::like(5, |shop| shop.affinity = affinity(AffinityMode::Persistent));
    let mut client = Client::default();
    let (home, _) = client.visit(&mut site);
    let own = client.headers().0.remove(0).1;
    let mut client = Client::with_cookie(&format!("{own}; route=0123|4567"));
    assert_eq!(
        client.visit(&mut site),
        (home, false),
        "the original takes the last and begins anew each time"
    );
}

#[test]
fn the_same_endpoints_in_another_order_are_no_change() {
    let mut site = Site::new(3);
    let before = site.serve(200);
    site.shop.endpoints.reverse();
    site.publish_shop();
    let mut round: Vec<_> = vec![before, site.serve(200), site.serve(200)];
    round.sort();
    assert_eq!(
        round,
        [address(1), address(2), address(3)],
        "the cycle goes on"
    );
}
