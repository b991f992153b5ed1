use sluice_filter_config::{AffinityMode, Endpoint};

use crate::site::{Client, Headers, Site, address, affinity, outlier};

const MODES: [AffinityMode; 2] = [AffinityMode::Balanced, AffinityMode::Persistent];

fn sticky(endpoints: usize, mode: AffinityMode) -> Site {
    Site::like(endpoints, |shop| shop.affinity = affinity(mode))
}

fn clients(site: &mut Site, count: usize) -> Vec<(Client, String)> {
    let begin = |_| {
        let mut client = Client::default();
        let (home, is_new) = client.visit(site);
        assert!(is_new);
        (client, home)
    };
    (0..count).map(begin).collect()
}

#[test]
fn a_session_stays_on_its_endpoint_and_its_cookie_is_set_once() {
    for mode in MODES {
        let mut site = sticky(5, mode);
        for (mut client, home) in clients(&mut site, 50) {
            assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
        }
    }
}

#[test]
fn sessions_are_spread() {
    for mode in MODES {
        let mut site = sticky(4, mode);
        let homes = clients(&mut site, 2_000);
        for n in 1..=4 {
            let count = homes.iter().filter(|(_, home)| *home == address(n)).count();
            assert!((350..650).contains(&count), "{mode:?}: {count} on {n}");
        }
    }
}

#[test]
fn a_cookie_of_ingress_nginx_is_valid() {
    let backend_key =
        String::from_utf8_lossy(&sluice_filter_core::affinity::backend_key("ns-shop-80"))
            .into_owned();
    for n in 1..=5 {
        let endpoint_key = sluice_filter_core::affinity::endpoint_key("ns-shop-80", &address(n));
        let cookie = format!(
            "route={}|{backend_key}",
            String::from_utf8_lossy(&endpoint_key)
        );
        let mut site = sticky(5, AffinityMode::Persistent);
        assert_eq!(
            Client::with_cookie(&cookie).visit(&mut site),
            (address(n), false)
        );
    }
    let mut site = Site::like(2, |shop| {
        shop.affinity = affinity(AffinityMode::Balanced);
        shop.endpoints = ["10.184.7.40:8080", "10.184.7.41:8080"]
            .map(Endpoint::at)
            .into();
    });
    let pick = Client::with_cookie("route=user-1").visit(&mut site);
    assert_eq!(
        pick,
        ("10.184.7.41:8080".to_owned(), false),
        "any text is a key"
    );
}

#[test]
fn an_unknown_key_begins_a_new_persistent_session() {
    let mut site = sticky(3, AffinityMode::Persistent);
    let mut client = Client::with_cookie("route=not-a-known-key|whatever");
    let (home, is_new) = client.visit(&mut site);
    assert!(is_new);
    assert_eq!(client.visit(&mut site), (home, false));
}

#[test]
fn scaling_up_moves_no_persistent_session_and_few_balanced_ones() {
    for (mode, most) in [(AffinityMode::Persistent, 0), (AffinityMode::Balanced, 120)] {
        let mut site = sticky(9, mode);
        let clients = clients(&mut site, 600);
        site.shop.endpoints.push(Endpoint::at(address(10)));
        site.publish_shop();
        let mut moved = 0;
        for (mut client, home) in clients {
            let (now, is_new) = client.visit(&mut site);
            assert!(
                !is_new && (now == home || now == address(10)),
                "{mode:?}: only to the new one"
            );
            moved += usize::from(now != home);
        }
        assert!(moved <= most, "{mode:?}: {moved} moved");
    }
}

#[test]
fn scaling_down_moves_only_the_sessions_of_what_is_gone() {
    for mode in MODES {
        let mut site = sticky(5, mode);
        let clients = clients(&mut site, 200);
        site.shop.endpoints.remove(2);
        site.publish_shop();
        for (mut client, home) in clients {
            let (now, _) = client.visit(&mut site);
            assert_eq!(now == home, home != address(3), "{mode:?}");
            assert_eq!(client.visit(&mut site), (now, false), "{mode:?}");
        }
    }
}

#[test]
fn no_cookie_is_set_where_the_route_is_not_listed() {
    for mode in MODES {
        let mut site = sticky(3, mode);
        site.route.session_path = None;
        site.publish();
        assert!(!Client::default().visit(&mut site).1, "{mode:?}");
    }
}

#[test]
fn retries_stay_with_the_session_unless_it_changes_on_failure() {
    for mode in MODES {
        let mut site = sticky(3, mode);
        let (mut client, home) = clients(&mut site, 1).remove(0);
        assert_eq!(
            site.send(&client.headers()).candidates,
            [&*home; 3],
            "{mode:?}"
        );
        site.shop.affinity.as_mut().unwrap().change_on_failure = true;
        site.publish_shop();
        let sent = site.send(&client.headers());
        assert_eq!(sent.first(), home);
        assert!(
            sent.candidates[1] != home && sent.candidates[2] != home,
            "{sent:?}"
        );
        assert_eq!(
            site.respond(&sent, &home),
            None,
            "{mode:?}: it answered, so nothing begins"
        );
        let second = sent.candidates[1].clone();
        let cookie = site.respond(&sent, &second).expect("a renewed cookie");
        client = Client::with_cookie(cookie.split(';').next().unwrap());
        assert_eq!(client.visit(&mut site), (second, false), "{mode:?}");
    }
}

#[test]
fn a_new_session_belongs_to_the_endpoint_that_answered() {
    for mode in MODES {
        let mut site = sticky(4, mode);
        let sent = site.send(&Headers::default());
        let third = sent.candidates[2].clone();
        let cookie = site.respond(&sent, &third).unwrap();
        let mut client = Client::with_cookie(cookie.split(';').next().unwrap());
        assert_eq!(client.visit(&mut site), (third, false), "{mode:?}");
        assert_eq!(
            site.respond(&sent, "10.66.6.6:80"),
            None,
            "{mode:?}: nobody we know"
        );
    }
}

#[test]
fn a_draining_endpoint_keeps_its_sessions_and_gets_no_new_ones() {
    for mode in MODES {
        let mut site = sticky(3, mode);
        let old = clients(&mut site, 60);
        site.shop.endpoints[1].draining = true;
        site.publish_shop();
        assert!(
            clients(&mut site, 200)
                .iter()
                .all(|(_, home)| *home != address(2)),
            "{mode:?}"
        );
        for (mut client, home) in old {
            assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
        }
    }
}

#[test]
fn while_its_endpoint_is_ejected_a_session_is_served_by_one_other_and_then_returns() {
    for mode in MODES {
        let mut site = Site::like(4, |shop| {
            shop.affinity = affinity(mode);
            shop.outlier = outlier(1, 50, 0);
        });
        let (mut client, home) = clients(&mut site, 1).remove(0);
        let sent = site.send(&client.headers());
        site.end(sent, &home, 503, 1);
        let (other, is_new) = client.visit(&mut site);
        assert!(other != home && !is_new, "{mode:?}");
        assert_eq!(client.visit(&mut site), (other, false), "{mode:?}");
        site.pass(31);
        assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
    }
}

#[test]
fn zones_are_for_new_sessions_and_old_ones_stay_where_they_are() {
    for mode in MODES {
        let mut site = Site::new(4);
        site.tables.set_zone(Some("a".into()));
        site.shop.affinity = affinity(mode);
        site.shop.prefer_zone = true;
        site.publish();
        let old = clients(&mut site, 40);
        for (n, endpoint) in site.shop.endpoints.iter_mut().enumerate() {
            endpoint.zones = vec![if n < 2 { "a" } else { "b" }.into()];
        }
        site.publish();
        for (mut client, home) in old {
            assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
        }
        assert!(
            clients(&mut site, 100)
                .iter()
                .all(|(_, home)| *home < address(3)),
            "{mode:?}"
        );
    }
}

#[test]
fn new_sessions_come_slowly_to_a_new_endpoint_and_stay() {
    for mode in MODES {
        let mut site = Site::like(3, |shop| {
            shop.affinity = affinity(mode);
            shop.slow_start = Some(100.try_into().unwrap());
        });
        site.shop.endpoints.push(Endpoint::at(address(4)));
        site.publish_shop();
        let on_the_new = |clients: &[(Client, String)]| {
            clients
                .iter()
                .filter(|(_, home)| *home == address(4))
                .count()
        };
        let early = clients(&mut site, 1_000);
        site.pass(50);
        let later = clients(&mut site, 1_000);
        site.pass(60);
        let full = clients(&mut site, 1_000);
        let counts = [on_the_new(&early), on_the_new(&later), on_the_new(&full)];
        assert!(
            counts.is_sorted() && counts[0] < 70 && counts[2] > 180,
            "{mode:?}: {counts:?}"
        );
        for (mut client, home) in early.into_iter().chain(later) {
            assert_eq!(client.visit(&mut site), (home, false), "{mode:?}");
        }
    }
}
