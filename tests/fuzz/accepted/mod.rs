//! Whatever tenants and the operator write, what comes of it is something that the data planes take: each world is given to a
//! real Envoy, which has all of the last one, to a real `nginx -t`, and to the filter's tables. Nothing is ever refused.
//!
//! Each data plane plays for some seconds, always the same worlds, so that who changes something hears of that and of nothing else.
//! `SLUICE_ACCEPTED_SECONDS=36000 cargo xtask test accepted` plays others for as long as it says, as a workflow does every day. A
//! world that is refused is shrunk and printed as manifests; its seed is printed and kept in `refused.txt`, whose worlds are played
//! first.

mod envoy;
mod filter;
mod nginx;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngSeed, TestCaseError, TestError, TestRunner,
};
use serde_json::Value;
use sluice_ir::{
    Action, Config as Translated, Hostname, HttpRoute, PathMatch, PathRegex, Server, ServerName,
};
use sluice_tests::ports::Port;
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, translate};

use crate::objects::{neighbour, tenant};
use crate::ordinary::{CONFIGMAP, TCP, UDP, application, operator};
use envoy::Live;
use nginx::Tried;

/// Seeds of worlds that were refused once; tests run in `tests/`.
const REFUSED: &str = "fuzz/accepted/refused.txt";
/// Time for the same worlds.
const USUAL_TIME: Duration = Duration::from_secs(12);
/// Worlds between two looks at the clock.
const BATCH: u32 = 10;
/// Worlds that are played however slow the machine is, and however fast.
const LEAST: u32 = 30;
const MOST: u32 = 1000;
/// Checks that shrinking a world may take, and milliseconds.
const SHRINKING: (u32, u32) = (3000, 60_000);

/// Objects of everybody.
type World = Vec<Value>;

fn world(ports: [u16; 2]) -> impl Strategy<Value = World> {
    let hostile = prop::collection::vec(tenant(), 0..3);
    let ordinary = prop::collection::vec(application(), 0..8);
    (operator(ports), ordinary, hostile).prop_map(|(operator, ordinary, hostile)| {
        let tenants = ordinary.into_iter().chain(hostile).flatten();
        operator
            .into_iter()
            .chain(tenants)
            .chain(neighbour())
            .collect()
    })
}

fn translated(world: &World, data_plane: DataPlane) -> Translated {
    let named = |name| Some(ObjectKey::new("sluice", name));
    let options = Options {
        class_is_implied: true,
        configmap: named(CONFIGMAP),
        tcp_services: named(TCP),
        udp_services: named(UDP),
        ssl_passthrough: true,
        default_backend_service: Some(ObjectKey::new("tenant", "svc")),
        data_plane: Some(data_plane),
        ..Options::default()
    };
    let mut resources = Resources::default();
    let objects = world.iter().cloned().map(Object::from_value);
    objects
        .flatten()
        .for_each(|object| drop(resources.apply(object)));
    translate(&resources, &options).config().clone()
}

/// Time for new worlds, where somebody looks for such.
fn search() -> Option<Duration> {
    let said = std::env::var("SLUICE_ACCEPTED_SECONDS").ok()?;
    Some(Duration::from_secs(
        said.parse().expect("SLUICE_ACCEPTED_SECONDS is a number"),
    ))
}

/// Plays worlds until one is refused, and panics with the smallest that is.
#[allow(
    clippy::print_stdout,
    reason = "how many were played, for who asks with --no-capture"
)]
fn play(ports: [u16; 2], mut check: impl FnMut(&World) -> Result<(), String>) {
    let (check, began) = (RefCell::new(&mut check), Instant::now());
    let (mut worlds, search) = (0, search());
    let (time, most) = search.map_or((USUAL_TIME, MOST), |time| (time, u32::MAX));
    while worlds < LEAST || (worlds < most && began.elapsed() < time) {
        let config = Config {
            rng_seed: if search.is_some() {
                RngSeed::Random
            } else {
                RngSeed::Fixed(worlds.into())
            },
            cases: BATCH,
            max_shrink_iters: SHRINKING.0,
            max_shrink_time: SHRINKING.1,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REFUSED))),
            ..Config::default()
        };
        let result = TestRunner::new(config).run(&world(ports), |world| {
            (*check.borrow_mut())(&world).map_err(TestCaseError::fail)
        });
        match result {
            Ok(()) => worlds += BATCH,
            Err(TestError::Fail(reason, world)) => {
                panic!("{reason}\nrefused:\n{}", manifests(&world))
            }
            Err(TestError::Abort(reason)) => panic!("{reason}"),
        }
    }
    println!("{worlds} worlds in {:.0?}", began.elapsed());
}

/// For `sluice run --manifests`.
fn manifests(world: &World) -> String {
    let neighbour = neighbour();
    let of_others = world.iter().filter(|object| !neighbour.contains(object));
    of_others.map(|object| format!("---\n{object}\n")).collect()
}

/// One host with one path, which no translation gives.
fn with_pattern(pattern: &str) -> Translated {
    let name = ServerName::Exact(Hostname::parse("bad.test").unwrap());
    let regex = PathRegex::plain(pattern.to_owned());
    let route = HttpRoute::new(
        &name,
        PathMatch::Regex(regex),
        Action::Denied,
        Default::default(),
    );
    let server = Server {
        routes: vec![route],
        ..Server::default()
    };
    let mut config = Translated::default();
    config.servers.insert(name, server.into());
    config
}

fn in_envoy(scopes_from: usize) {
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let refused = Live::start(scopes_from)
        .takes(with_pattern("/(a{50}){50}"))
        .unwrap_err();
    assert!(refused.contains("repetition"), "{refused}");
    let mut live = Live::start(scopes_from);
    play([ports[0].number(), ports[1].number()], |world| {
        let config = translated(world, DataPlane::Envoy);
        filter::takes(&config)?;
        live.takes(config)
    });
}

#[test]
fn envoy_takes_every_table() {
    in_envoy(usize::MAX);
}

#[test]
fn envoy_takes_every_scope() {
    in_envoy(0);
}

#[test]
fn nginx_takes_every_configuration() {
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let tried = Tried::all();
    for nginx in &tried {
        let refused = nginx.takes(&with_pattern("/(")).unwrap_err();
        assert!(refused.contains("missing"), "{refused}");
    }
    play([ports[0].number(), ports[1].number()], |world| {
        let config = translated(world, DataPlane::Nginx);
        tried.iter().try_for_each(|nginx| nginx.takes(&config))
    });
}
