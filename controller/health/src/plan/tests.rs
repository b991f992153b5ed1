use std::collections::VecDeque;

use sluice_ir::HealthCheck;

use super::*;
use crate::targets::Tls;

const INTERVAL: Duration = Duration::from_secs(10);

fn id(name: &str) -> BackendId {
    BackendId::new(format!("{name}/80"))
}

fn address(n: usize) -> SocketAddr {
    let [.., a, b] = n.to_be_bytes();
    SocketAddr::from(([10, 0, a, b], 80))
}

fn targets(namespace: &str, endpoints: impl IntoIterator<Item = usize>) -> Targets {
    Targets {
        namespace: namespace.to_owned(),
        check: HealthCheck {
            interval: 10_000.try_into().unwrap(),
            unhealthy_threshold: 2.try_into().unwrap(),
            ..HealthCheck::at("/".to_owned())
        },
        tls: Tls::Never,
        endpoints: endpoints.into_iter().map(address).collect(),
    }
}

/// Half of a time.
fn half(most: Duration) -> Duration {
    most / 2
}

/// A plan, and its time.
struct Fixture {
    plan: Plan,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Fixture {
            plan: Plan::default(),
            now: Instant::now(),
        }
    }

    fn follow(&mut self, id: &BackendId, targets: Option<Targets>) -> Vec<Update> {
        self.plan.follow(id, targets, self.now, half)
    }

    /// Lets the next check begin.
    fn begin_next(&mut self) -> Vec<Turn> {
        self.now = self.plan.next_due().unwrap().max(self.now);
        self.plan.begin(self.now)
    }

    fn finish(&mut self, turn: &Turn, passed: bool) -> Option<Update> {
        self.plan.finish(turn, passed, self.now, half)
    }

    /// Lets all that are due be checked; those that `fail` do.
    fn round(&mut self, fail: &[usize]) -> Vec<Update> {
        let fails = |turn: &Turn| fail.iter().any(|n| address(*n) == turn.target.endpoint);
        let turns = self.begin_next();
        let results = turns.iter().map(|turn| (turn, !fails(turn)));
        let updates =
            results.filter_map(|(turn, passed)| self.plan.finish(turn, passed, self.now, half));
        updates.collect()
    }
}

fn unhealthy(of: &[usize]) -> EndpointHealth {
    EndpointHealth {
        unhealthy: of.iter().map(|n| address(*n)).collect(),
        unchecked: 0,
    }
}

#[test]
fn an_endpoint_is_checked_soon_and_then_at_each_interval() {
    let mut fixture = Fixture::new();
    let began = fixture.now;
    assert_eq!(fixture.follow(&id("a/web"), Some(targets("a", [1]))), []);
    assert_eq!(fixture.plan.next_due(), Some(began + FIRST / 2));
    assert!(fixture.plan.begin(began).is_empty(), "not yet");
    for _ in 0..3 {
        let turn = fixture.begin_next().remove(0);
        assert_eq!(fixture.plan.next_due(), None, "one check at a time");
        assert_eq!(fixture.finish(&turn, true), None);
        assert_eq!(fixture.plan.next_due(), Some(fixture.now + INTERVAL));
    }
}

#[test]
fn only_what_is_another_health_is_told() {
    let (mut fixture, web) = (Fixture::new(), id("a/web"));
    fixture.follow(&web, Some(targets("a", [1, 2])));
    let told = |health| vec![(web.clone(), health)];
    assert_eq!(
        fixture.round(&[1]),
        told(unhealthy(&[1])),
        "the first check"
    );
    assert_eq!(fixture.round(&[1]), []);
    assert_eq!(fixture.round(&[1, 2]), [], "one is not enough");
    assert_eq!(fixture.round(&[1, 2]), told(unhealthy(&[1, 2])));
    assert_eq!(fixture.round(&[2]), told(unhealthy(&[2])));
}

#[test]
fn what_is_known_of_an_endpoint_stays_when_others_come_and_go() {
    let (mut fixture, web) = (Fixture::new(), id("a/web"));
    fixture.follow(&web, Some(targets("a", [1, 2])));
    fixture.round(&[1]);
    let due = fixture.plan.next_due();
    assert_eq!(fixture.follow(&web, Some(targets("a", [1, 2, 3]))), []);
    let after = fixture.plan.due.iter().map(|(at, ..)| *at);
    assert_eq!(
        after.max(),
        due,
        "those that were known are checked as planned"
    );
    let gone = fixture.follow(&web, Some(targets("a", [2, 3])));
    assert_eq!(gone, [(web.clone(), unhealthy(&[]))]);
    // It comes back as a new one.
    assert_eq!(fixture.follow(&web, Some(targets("a", [1, 2, 3]))), []);
    assert_eq!(fixture.follow(&web, None), []);
    assert_eq!(fixture.plan.next_due(), None);
}

#[test]
fn another_check_does_not_bring_back_what_fails() {
    let (mut fixture, web) = (Fixture::new(), id("a/web"));
    fixture.follow(&web, Some(targets("a", [1])));
    fixture.round(&[1]);
    let mut other = targets("a", [1]);
    other.check.path = "/other".to_owned();
    assert_eq!(fixture.follow(&web, Some(other)), []);
    assert_eq!(fixture.round(&[]), [(web, unhealthy(&[]))]);
}

#[test]
fn results_of_checks_that_are_no_longer_asked_for_count_for_nothing() {
    let (mut fixture, web) = (Fixture::new(), id("a/web"));
    fixture.follow(&web, Some(targets("a", [1])));
    let turn = fixture.begin_next().remove(0);
    fixture.follow(&web, None);
    fixture.follow(&web, Some(targets("a", [1])));
    assert_eq!(fixture.finish(&turn, false), None);
    assert_eq!(fixture.round(&[]), []);
    // The turn was given back.
    assert_eq!(fixture.plan.turns.waiting(), 0);
    assert_eq!(fixture.begin_next().len(), 1);
}

#[test]
fn slow_endpoints_of_one_namespace_keep_nobody_else_waiting() {
    let mut fixture = Fixture::new();
    fixture.follow(&id("crowd/web"), Some(targets("crowd", 0..MOST)));
    let held = fixture.begin_next();
    assert_eq!(held.len(), TURNS / 4);
    fixture.follow(&id("a/web"), Some(targets("a", [1])));
    let turn = fixture.begin_next().remove(0);
    assert_eq!(turn.namespace, "a");
    // The others of the crowd come when a turn is free.
    fixture.finish(&held[0], true);
    let next = fixture.plan.begin(fixture.now);
    assert_eq!((next.len(), &*next[0].namespace), (1, "crowd"));
}

#[test]
fn a_namespace_has_so_many_endpoints_and_room_goes_to_those_that_have_none() {
    let (mut fixture, one, two) = (Fixture::new(), id("a/one"), id("a/two"));
    assert_eq!(fixture.follow(&one, Some(targets("a", 0..MOST - 1))), []);
    let unchecked = |unchecked| EndpointHealth {
        unchecked,
        ..EndpointHealth::default()
    };
    let told = |unchecked_of_two| vec![(two.clone(), unchecked(unchecked_of_two))];
    assert_eq!(
        fixture.follow(&two, Some(targets("a", 2000..2003))),
        told(2)
    );
    assert_eq!(fixture.follow(&id("b/web"), Some(targets("b", 0..10))), []);
    assert_eq!(
        fixture.follow(&one, Some(targets("a", 0..MOST - 2))),
        told(1)
    );
    assert_eq!(fixture.follow(&one, None), told(0));
    assert!(fixture.plan.crowded.is_empty());
    fixture.follow(&two, None);
    fixture.follow(&id("b/web"), None);
    assert!(fixture.plan.checked.is_empty() && fixture.plan.due.is_empty());
}

/// A crowd costs what there is room for, not what it is.
#[test]
fn a_crowd_is_looked_at_only_where_there_is_room() {
    let (mut fixture, first) = (Fixture::new(), id("a/0"));
    fixture.follow(&first, Some(targets("a", 0..MOST)));
    for n in 0..20 {
        let one = Some(targets("a", [2000 + n]));
        let told = fixture.follow(&id(&format!("a/web-{n:02}")), one);
        assert_eq!(told.len(), 1, "itself");
        assert_eq!(fixture.plan.with_room("a"), None);
    }
    let told = fixture.follow(&first, Some(targets("a", 3..MOST)));
    let told: Vec<BackendId> = told.into_iter().map(|(id, _)| id).collect();
    assert_eq!(told, ["a/web-00", "a/web-01", "a/web-02"].map(id));
    assert_eq!(fixture.plan.with_room("a"), None);
    fixture.plan.checked.insert("a".to_owned(), MOST - 1);
    assert_eq!(fixture.plan.with_room("a"), Some(id("a/web-03")));
}

/// Whatever comes and goes, each endpoint that is followed is due, waits for a turn, or is being checked.
#[test]
fn no_endpoint_is_forgotten() {
    let (mut fixture, mut running) = (Fixture::new(), VecDeque::new());
    let names = ["a/one", "a/two", "b/one"].map(id);
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..3_000 {
        let name = &names[random(3) as usize];
        match random(6) {
            0 => drop(fixture.follow(name, None)),
            1 => {
                let namespace = &name.as_str()[..1];
                let first = random(20) as usize;
                let count = random(30) as usize;
                fixture.follow(name, Some(targets(namespace, first..first + count)));
            }
            2..4 => {
                fixture.now += Duration::from_millis(random(20_000));
                running.extend(fixture.plan.begin(fixture.now));
            }
            _ => {
                if let Some(turn) = running.pop_front() {
                    fixture.finish(&turn, random(2) == 0);
                }
            }
        }
        for (id, followed) in &fixture.plan.backends {
            assert_eq!(followed.health().unchecked, 0);
            for (address, endpoint) in &followed.endpoints {
                let is_due = endpoint
                    .due
                    .is_some_and(|at| fixture.plan.due.contains(&(at, id.clone(), *address)));
                let runs = running
                    .iter()
                    .any(|turn: &Turn| turn.serial == endpoint.serial);
                assert!(is_due || runs || fixture.plan.turns.waiting() > 0);
            }
        }
    }
    let due: usize = fixture.plan.due.len();
    let followed: usize = fixture
        .plan
        .backends
        .values()
        .map(|of| of.endpoints.len())
        .sum();
    assert!(due <= followed, "{due} of {followed}");
}
