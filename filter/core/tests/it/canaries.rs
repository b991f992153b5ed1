use sluice_filter_config::{
    AffinityMode, Canary, CanaryAffinity, Endpoint, HeaderMatch, HeaderRule, Share,
    Tables as Update,
};

use crate::site::{CANARY, Client, Headers, SHOP, Site, affinity};

fn by_header() -> Canary {
    let header = HeaderRule {
        name: "X-Canary".into(),
        values: HeaderMatch::Switch,
    };
    Canary {
        backend: CANARY.into(),
        header: Some(header),
        ..Canary::default()
    }
}

fn by_weight(weight: u32) -> Canary {
    Canary {
        backend: CANARY.into(),
        weight: Some(Share { weight, total: 100 }),
        ..Canary::default()
    }
}

fn with(canary: Canary) -> Site {
    let mut site = Site::new(3);
    site.route.canaries = vec![canary];
    site.publish();
    site
}

fn always() -> Headers {
    Headers::default().with("x-canary", "always")
}

fn backend(site: &mut Site, request: &Headers) -> String {
    site.send(request)
        .backend
        .expect("a route with canaries names the backend")
}

#[test]
fn a_route_with_canaries_names_the_backend_and_others_do_not() {
    let mut site = with(by_header());
    assert_eq!(backend(&mut site, &always()), CANARY);
    assert_eq!(site.send(&always()).first(), "10.9.0.1:80");
    assert_eq!(backend(&mut site, &Headers::default()), SHOP);
    assert_eq!(Site::new(3).send(&always()).backend, None);
}

#[test]
fn a_canary_without_endpoints_is_not_there_and_a_primary_without_endpoints_is_503() {
    let mut site = with(by_header());
    site.canary.endpoints.clear();
    site.publish();
    assert_eq!(backend(&mut site, &always()), SHOP);
    site.canary.endpoints.push(Endpoint::at("10.9.0.1:80"));
    site.shop.endpoints.clear();
    site.publish();
    let decision = format!(
        "{:?}",
        site.tables
            .decide(crate::site::ROUTE, &always(), site.now, &mut site.rng)
    );
    assert!(decision.contains("503"), "{decision}");
}

#[test]
fn the_canary_has_the_primarys_sessions_and_a_session_stays_on_its_side() {
    for mode in [AffinityMode::Balanced, AffinityMode::Persistent] {
        let mut site = with(by_weight(100));
        site.shop.affinity = affinity(mode);
        site.publish();
        let mut on_canary = Client::default();
        assert_eq!(
            on_canary.visit(&mut site),
            ("10.9.0.1:80".to_owned(), true),
            "{mode:?}"
        );
        site.route.canaries = vec![by_weight(0)];
        site.publish();
        let mut on_primary = Client::default();
        let (home, _) = on_primary.visit(&mut site);
        site.route.canaries = vec![by_weight(100)];
        site.publish();
        assert_eq!(
            on_primary.visit(&mut site),
            (home, false),
            "{mode:?}: the weight is not asked"
        );
        site.route.canaries = vec![by_weight(0)];
        site.publish();
        assert_eq!(
            on_canary.visit(&mut site),
            ("10.9.0.1:80".to_owned(), false),
            "{mode:?}"
        );
        let never = on_canary.headers().with("x-canary", "never");
        assert_eq!(
            backend(&mut site, &never),
            CANARY,
            "{mode:?}: a session comes before the rules"
        );
    }
}

#[test]
fn a_legacy_canary_knows_no_sessions_of_the_primary() {
    let mut site = with(Canary {
        affinity: CanaryAffinity::Legacy,
        ..by_weight(100)
    });
    site.shop.affinity = affinity(AffinityMode::Persistent);
    site.publish();
    assert_eq!(
        Client::default().visit(&mut site),
        ("10.9.0.1:80".to_owned(), false),
        "no session begins there"
    );
}

#[test]
fn a_service_that_is_canary_here_is_primary_there() {
    let mut site = with(by_weight(100));
    let there = sluice_filter_config::Route::to(CANARY);
    let delta = sluice_filter_config::Delta {
        routes: [("other.example/".to_owned(), there)].into(),
        ..sluice_filter_config::Delta::between(
            site.tables.version().unwrap(),
            sluice_filter_config::Version::new(1, 99),
        )
    };
    site.tables
        .apply(Update::Delta(delta), site.now, &mut site.rng)
        .unwrap();
    let there = format!(
        "{:?}",
        site.tables
            .decide("other.example/", &always(), site.now, &mut site.rng)
    );
    assert!(there.contains("10.9.0.1:80"), "{there}");
    assert_eq!(backend(&mut site, &Headers::default()), CANARY);
}

#[test]
fn several_canaries_divide_the_requests() {
    let mut site = with(by_weight(30));
    let second = Canary {
        backend: "ns/second/80".into(),
        ..by_weight(50)
    };
    site.route.canaries.push(second);
    site.publish();
    let mut hits = [0, 0];
    for _ in 0..2_000 {
        match backend(&mut site, &Headers::default()).as_str() {
            CANARY => hits[0] += 1,
            SHOP => hits[1] += 1,
            other => panic!("{other} has no backend"),
        }
    }
    assert!(
        (500..700).contains(&hits[0]),
        "{hits:?}: the share of the one that is not there is the primary's"
    );
}
