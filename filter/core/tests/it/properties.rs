//! Properties for any endpoints, weights and policies.

use proptest::prelude::*;
use sluice_filter_config::{AffinityMode, Endpoint, LoadBalance};

use crate::site::{Client, Headers, Site, address, affinity, hash_by, outlier};

fn policy() -> impl Strategy<Value = LoadBalance> {
    let key = || hash_by("$http_x_user");
    prop_oneof![
        Just(LoadBalance::round_robin()),
        Just(LoadBalance::chash(key())),
        Just(LoadBalance::chash_subset(key(), 3.try_into().unwrap())),
        Just(LoadBalance::bounded_chash(key(), 125.try_into().unwrap())),
        Just(LoadBalance::named("ewma")),
        Just(LoadBalance::named("least_conn")),
        Just(LoadBalance::named("peak_ewma")),
    ]
}

/// Weight, zone, draining, backup and health of each endpoint.
fn endpoints() -> impl Strategy<Value = Vec<Endpoint>> {
    let one = (
        1u16..5,
        prop_oneof![Just(None), Just(Some("a")), Just(Some("b"))],
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let describe =
            |(n, (weight, zone, draining, backup, unhealthy)): (usize, Described)| Endpoint {
                weight: weight.try_into().unwrap(),
                zones: zone.map(str::to_owned).into_iter().collect(),
                draining,
                backup,
                unhealthy,
                ..Endpoint::at(address(n + 1))
            };
        all.into_iter().enumerate().map(describe).collect()
    })
}

type Described = (u16, Option<&'static str>, bool, bool, bool);

fn user(n: usize) -> Headers {
    Headers::default().with("x-user", &n.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_is_always_a_choice_and_retries_differ_as_long_as_they_can(
        load_balance in policy(),
        endpoints in endpoints(),
        attempts in 1u8..20,
        prefer_zone: bool,
        statuses in prop::collection::vec(prop_oneof![Just(200u16), Just(503)], 60),
    ) {
        let mut site = Site::new(1);
        site.tables.set_zone(Some("a".into()));
        site.shop.load_balance = load_balance;
        site.shop.endpoints = endpoints;
        site.shop.attempts = attempts.try_into().unwrap();
        site.shop.prefer_zone = prefer_zone;
        site.shop.outlier = outlier(2, 100, 0);
        site.publish();
        for (n, status) in statuses.into_iter().enumerate() {
            let sent = site.send(&user(n));
            let known = |address: &String| site.shop.endpoints.iter().any(|e| e.address == *address);
            prop_assert!(sent.candidates.iter().all(known));
            let mut different = sent.candidates.clone();
            different.sort();
            different.dedup();
            let wanted = usize::from(attempts).min(16);
            prop_assert!(sent.candidates.len() == wanted || different.len() == 1);
            let repeats = sent.candidates.len() - different.len();
            let first_round = sent.candidates.iter().take(different.len());
            prop_assert!(repeats == 0 || first_round.collect::<std::collections::BTreeSet<_>>().len() == different.len());
            let first = sent.first().to_owned();
            site.end(sent, &first, status, 1);
        }
    }

    #[test]
    fn shares_follow_weights_and_nobody_starves(
        load_balance in policy(),
        weights in prop::collection::vec(1u16..5, 2..12),
    ) {
        let groups = load_balance.algorithm == "chash_subset";
        let by_latency = ["ewma", "peak_ewma"].contains(&load_balance.algorithm.as_str());
        let mut site = Site::new(1);
        site.shop.load_balance = load_balance;
        site.shop.endpoints = weights.iter().enumerate().map(|(n, &weight)| Endpoint {
            weight: weight.try_into().unwrap(),
            ..Endpoint::at(address(n + 1))
        }).collect();
        site.publish();
        let mut hits = vec![0u32; weights.len()];
        for n in 0..4_000 {
            let sent = site.send(&user(n));
            hits[site.shop.endpoints.iter().position(|e| e.address == sent.first()).unwrap()] += 1;
            let first = sent.first().to_owned();
            site.end(sent, &first, 200, 1);
        }
        prop_assert!(by_latency || hits.iter().all(|hits| *hits > 0), "{hits:?}");
        let total: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
        for (hits, weight) in hits.iter().zip(&weights) {
            let fair = 4_000 * u32::from(*weight) / total;
            prop_assert!(groups || by_latency || (fair / 2..fair * 2).contains(hits), "{hits} of {fair}");
        }
    }

    #[test]
    fn a_hash_moves_no_key_between_endpoints_that_stay(
        count in 2usize..30,
        removed in 0usize..30,
        bounded: bool,
    ) {
        let key = hash_by("$http_x_user");
        let load_factor = 125.try_into().unwrap();
        let mut site = Site::like(count, |shop| shop.load_balance = match bounded {
            true => LoadBalance::bounded_chash(key, load_factor),
            false => LoadBalance::chash(key),
        });
        let homes = |site: &mut Site| (0..300).map(|n| {
            let sent = site.send(&user(n));
            let first = sent.first().to_owned();
            site.end(sent, &first, 200, 1);
            first
        }).collect::<Vec<_>>();
        let before = homes(&mut site);
        let gone = site.shop.endpoints.remove(removed % count);
        site.publish_shop();
        for (before, after) in before.iter().zip(homes(&mut site)) {
            prop_assert!(*before == after || *before == gone.address);
        }
    }

    #[test]
    fn sessions_outlive_any_change_of_the_other_endpoints(
        mode in prop_oneof![Just(AffinityMode::Balanced), Just(AffinityMode::Persistent)],
        count in 2usize..12,
        keep in prop::collection::vec(any::<bool>(), 12),
        added in 0usize..6,
    ) {
        let mut site = Site::like(count, |shop| shop.affinity = affinity(mode));
        let mut clients: Vec<Client> = vec![Client::default(); 30];
        let homes: Vec<String> = clients.iter_mut().map(|client| client.visit(&mut site).0).collect();
        let mut kept = keep.iter().cycle();
        site.shop.endpoints.retain(|_| *kept.next().unwrap());
        let new: Vec<String> = (0..added.max(1)).map(|n| address(100 + n)).collect();
        site.shop.endpoints.extend(new.iter().map(Endpoint::at));
        site.publish_shop();
        for (client, home) in clients.iter_mut().zip(homes) {
            let (now, _) = client.visit(&mut site);
            let stays = site.shop.endpoints.iter().any(|e| e.address == home);
            match mode {
                AffinityMode::Persistent => prop_assert_eq!(now == home, stays),
                AffinityMode::Balanced => prop_assert!(!stays || now == home || new.contains(&now)),
            }
        }
    }

    #[test]
    fn ejection_leaves_the_allowed_share_and_never_nobody(
        count in 1usize..30,
        max_ejected in 0u16..=100,
        failing in prop::collection::vec(any::<bool>(), 30),
    ) {
        let mut site = Site::like(count, |shop| shop.outlier = outlier(1, max_ejected, 0));
        for _ in 0..10 * count {
            let sent = site.send(&Headers::default());
            let first = sent.first().to_owned();
            let idx = site.shop.endpoints.iter().position(|e| e.address == first).unwrap();
            site.end(sent, &first, if failing[idx] { 500 } else { 200 }, 1);
        }
        let mut serving: Vec<_> = (0..count).map(|_| site.send(&Headers::default()).first().to_owned()).collect();
        serving.sort();
        serving.dedup();
        let most = (count * usize::from(max_ejected) / 100).max(1).min(count - 1);
        prop_assert!(count - serving.len() <= most);
    }
}
