//! Backups get requests when no primary may be chosen, whatever chooses.

use std::collections::BTreeSet;

use sluice_filter_config::{AffinityMode, Endpoint, LoadBalance};

use crate::site::{Client, Headers, Site, address, affinity, hash_by, outlier};

const MODES: [AffinityMode; 2] = [AffinityMode::Balanced, AffinityMode::Persistent];
const PRIMARIES: [usize; 3] = [2, 3, 5];
const BACKUPS: [usize; 2] = [1, 4];

fn algorithms() -> Vec<LoadBalance> {
    let key = || hash_by("$http_x_user");
    let named = ["ewma", "least_conn", "peak_ewma"].map(LoadBalance::named);
    let mut all = vec![
        LoadBalance::round_robin(),
        LoadBalance::chash(key()),
        LoadBalance::chash_subset(key(), 2.try_into().unwrap()),
        LoadBalance::bounded_chash(key(), 125.try_into().unwrap()),
    ];
    all.extend(named);
    all
}

/// Five endpoints, of which two are backups. Those are heavy, and one is in another zone.
fn with_backups(change: impl FnOnce(&mut sluice_filter_config::Backend)) -> Site {
    Site::like(5, |shop| {
        for n in BACKUPS {
            shop.endpoints[n - 1].backup = true;
            shop.endpoints[n - 1].weight = 1000.try_into().unwrap();
        }
        shop.endpoints[3].zones = vec!["b".into()];
        shop.attempts = 5.try_into().unwrap();
        change(shop);
    })
}

fn addresses(of: &[usize]) -> BTreeSet<String> {
    of.iter().map(|&n| address(n)).collect()
}

/// The endpoints of all first attempts.
fn firsts(site: &mut Site) -> BTreeSet<String> {
    let first = |n: usize| {
        let sent = site.send(&Headers::default().with("x-user", &n.to_string()));
        let first = sent.first().to_owned();
        site.end(sent, &first, 200, 1);
        first
    };
    (0..300).map(first).collect()
}

fn is_backup(endpoint: &Endpoint) -> bool {
    endpoint.backup
}

#[test]
fn every_algorithm_leaves_backups_alone_and_takes_them_when_there_is_no_primary() {
    for load_balance in algorithms() {
        let name = load_balance.algorithm.clone();
        let mut site = with_backups(|shop| shop.load_balance = load_balance);
        assert_eq!(firsts(&mut site), addresses(&PRIMARIES), "{name}");
        site.shop.endpoints.retain(is_backup);
        site.publish_shop();
        assert_eq!(firsts(&mut site), addresses(&BACKUPS), "{name}");
    }
}

#[test]
fn retries_take_backups_after_every_primary() {
    for load_balance in algorithms() {
        let name = load_balance.algorithm.clone();
        let mut site = with_backups(|shop| shop.load_balance = load_balance);
        for n in 0..50 {
            let sent = site.send(&Headers::default().with("x-user", &n.to_string()));
            let (primaries, backups) = sent.candidates.split_at(PRIMARIES.len());
            assert_eq!(
                primaries.iter().cloned().collect::<BTreeSet<_>>(),
                addresses(&PRIMARIES)
            );
            assert_eq!(
                backups.iter().cloned().collect::<BTreeSet<_>>(),
                addresses(&BACKUPS),
                "{name}"
            );
        }
    }
}

#[test]
fn heavy_backups_do_not_change_the_shares_of_primaries() {
    let mut site = with_backups(|shop| {
        shop.endpoints[1].weight = 2.try_into().unwrap();
    });
    assert_eq!(site.hits(400), [0, 200, 100, 0, 100]);
}

#[test]
fn backups_serve_while_all_primaries_are_ejected() {
    for load_balance in algorithms() {
        let name = load_balance.algorithm.clone();
        let mut site = with_backups(|shop| {
            shop.load_balance = load_balance;
            shop.outlier = outlier(1, 100, 0);
        });
        for n in PRIMARIES {
            let sent = site.send(&Headers::default());
            site.end(sent, &address(n), 500, 1);
        }
        assert_eq!(firsts(&mut site), addresses(&BACKUPS), "{name}");
        site.pass(31);
        assert_eq!(firsts(&mut site), addresses(&PRIMARIES), "{name}");
    }
}

fn begin(site: &mut Site) -> (Client, String) {
    let mut client = Client::default();
    let (home, is_new) = client.visit(site);
    assert!(is_new);
    (client, home)
}

#[test]
fn sessions_begin_on_backups_only_when_there_is_no_primary() {
    for mode in MODES {
        let mut site = with_backups(|shop| shop.affinity = affinity(mode));
        let clients: Vec<_> = (0..100).map(|_| begin(&mut site)).collect();
        let homes: BTreeSet<_> = clients.iter().map(|(_, home)| home.clone()).collect();
        assert_eq!(homes, addresses(&PRIMARIES), "{mode:?}");
        let primaries: Vec<_> = site.shop.endpoints.clone();
        site.shop.endpoints.retain(is_backup);
        site.publish_shop();
        for (mut client, _) in clients {
            let (now, _) = client.visit(&mut site);
            assert!(addresses(&BACKUPS).contains(&now), "{mode:?}: {now}");
            assert_eq!(client.visit(&mut site), (now.clone(), false), "{mode:?}");
            site.shop.endpoints.clone_from(&primaries);
            site.publish_shop();
            let (back, _) = client.visit(&mut site);
            let stays = mode == AffinityMode::Persistent;
            assert_eq!(back == now, stays, "{mode:?}: {back}");
            assert!(stays || addresses(&PRIMARIES).contains(&back));
            let (_, new) = begin(&mut site);
            assert!(addresses(&PRIMARIES).contains(&new), "{mode:?}: {new}");
            site.shop.endpoints.retain(is_backup);
            site.publish_shop();
        }
    }
}

#[test]
fn a_session_of_an_ejected_primary_is_served_by_one_backup_and_returns() {
    for mode in MODES {
        let mut site = with_backups(|shop| {
            shop.affinity = affinity(mode);
            shop.outlier = outlier(1, 100, 0);
        });
        let (mut client, home) = begin(&mut site);
        for n in PRIMARIES {
            let sent = site.send(&Headers::default());
            site.end(sent, &address(n), 500, 1);
        }
        let (away, _) = client.visit(&mut site);
        assert!(addresses(&BACKUPS).contains(&away), "{mode:?}: {away}");
        assert_eq!(client.visit(&mut site), (away, false), "{mode:?}");
        site.pass(31);
        assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
    }
}
