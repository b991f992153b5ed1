use std::sync::Arc;

use super::*;

fn config(endpoints: &[(&str, &[&str])]) -> ir::Config {
    let backend = |addresses: &[&str]| ir::Backend {
        endpoints: addresses
            .iter()
            .map(|a| ir::Endpoint::at(a.parse().unwrap()))
            .collect(),
        ..ir::Backend::default()
    };
    let backends = endpoints.iter().map(|(id, a)| {
        (
            ir::BackendId::new(format!("n/{id}/80")),
            Arc::new(backend(a)),
        )
    });
    ir::Config {
        backends: backends.collect(),
        ..ir::Config::default()
    }
}

fn document(answer: &PollResponse) -> Tables {
    let PollResponse::Document { json: bytes, .. } = answer else {
        panic!("{answer:?}")
    };
    PluginConfig::parse(bytes).unwrap().tables.unwrap()
}

#[test]
fn the_version_is_the_content_not_the_way_to_it() {
    let (mut straight, mut detour) = (Log::default(), Log::default());
    straight.replace(&config(&[("a", &["10.0.0.1:80"])]));
    detour.replace(&config(&[("b", &["10.0.0.9:80"])]));
    detour.replace(&config(&[("a", &["10.0.0.1:80"])]));
    assert_eq!(straight.version(), detour.version());
}

#[test]
fn another_host_table_is_another_version_with_nothing_in_it() {
    let (mut log, config) = (Log::default(), config(&[("a", &["10.0.0.1:80"])]));
    log.advance_with_host_table(&ir::Config::default(), &config, Some(1));
    let before = log.version();
    assert!(!log.advance_with_host_table(&config, &config, Some(1)) && !log.replace(&config));
    assert!(log.advance_with_host_table(&config, &config, Some(2)));
    let expected = wire::Delta::between(before, log.version());
    assert_eq!(document(&log.answer(Some(before))), Tables::Delta(expected));
}

#[test]
fn a_worker_one_step_behind_gets_what_changed() {
    let mut log = Log::default();
    log.replace(&config(&[("a", &["10.0.0.1:80"]), ("b", &["10.0.0.2:80"])]));
    let before = log.version();
    assert_eq!(log.answer(Some(before)), PollResponse::Current);
    log.replace(&config(&[("b", &["10.0.0.3:80"])]));
    let Tables::Delta(delta) = document(&log.answer(Some(before))) else {
        panic!("a delta")
    };
    assert_eq!(delta.base, before);
    assert_eq!(delta.removed_backends, ["n/a/80"]);
    assert_eq!(delta.backends.keys().collect::<Vec<_>>(), ["n/b/80"]);
}

#[test]
fn a_stranger_gets_everything() {
    let mut log = Log::default();
    log.replace(&config(&[("a", &["10.0.0.1:80"])]));
    for since in [None, Some(Version::new(1, 42))] {
        let expected = Tables::Snapshot(log.snapshot());
        assert_eq!(document(&log.answer(since)), expected);
    }
}

#[test]
fn a_change_that_changes_nothing_is_no_publication() {
    let mut log = Log::default();
    let config = config(&[("a", &["10.0.0.1:80"])]);
    assert!(log.replace(&config));
    assert!(!log.replace(&config));
    assert!(!log.refresh(&config, config.backends.keys()));
}

#[test]
fn what_both_share_need_not_be_looked_at() {
    let (mut short, mut long) = (Log::default(), Log::default());
    let name = ir::ServerName::parse("a.test").unwrap();
    let leading = |service: &str| {
        let mut config = config(&[("a", &["10.0.0.1:80"]), ("b", &["10.0.0.2:80"])]);
        let id = ir::BackendId::new(format!("n/{service}/80"));
        let path = ir::PathMatch::Prefix("/".to_owned());
        let route = ir::HttpRoute::new(&name, path, ir::Action::to(id), Arc::default());
        let server = ir::Server {
            routes: vec![route],
            ..ir::Server::default()
        };
        config.servers.insert(name.clone(), server.into());
        config
    };
    let mut before = ir::Config::default();
    let steps = [leading("a"), leading("b"), config(&[("c", &[])])];
    for now in steps {
        assert_eq!(short.advance(&before, &now), long.replace(&now));
        assert_eq!(
            (short.version(), short.snapshot()),
            (long.version(), long.snapshot())
        );
        assert!(!short.advance(&now, &now.clone()));
        before = now;
    }
}

#[test]
fn a_worker_beyond_the_history_gets_everything() {
    let mut log = Log::default();
    let first = log.version();
    for n in 0..=HISTORY {
        log.replace(&config(&[(
            "a",
            &[&format!("10.0.{}.{}:80", n / 256, n % 256)],
        )]));
    }
    assert!(matches!(
        document(&log.answer(Some(first))),
        Tables::Snapshot(_)
    ));
}
