//! How the filter follows the controller.

use std::time::Duration;

use sluice_filter_config::PluginConfig;

use sluice_tests::fake::{FakeHost, Filter, Outcome, Personality, ROUTE, change, tables};

use crate::in_both;

/// A controller holds a poll for so long before it says that there is nothing new.
const HELD: Duration = Duration::from_secs(25);

fn is_served_by(filter: &mut Filter, list: &str) {
    assert_eq!(
        filter.request(Some(ROUTE)).1,
        Outcome::Forwarded(list.to_owned())
    );
}

#[test]
fn the_log_is_asked_for_everything_and_then_for_what_is_new() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        assert_eq!(filter.calls()[0].upstream, "controller");
        assert_eq!(filter.calls()[0].path, "/v1/plugin-config");
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        is_served_by(&mut filter, "10.0.0.1:80");
        assert_eq!(
            filter.calls().len(),
            2,
            "the next poll goes out with the answer"
        );
        assert!(
            filter.calls()[1]
                .path
                .starts_with("/v1/plugin-config?since=1-"),
            "{:?}",
            filter.calls()
        );
        filter.answer_tables(change(1, 2, &["10.0.0.2:80"]));
        is_served_by(&mut filter, "10.0.0.2:80");
    });
}

#[test]
fn nothing_new_is_asked_for_again() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        filter.pass(HELD);
        filter.answer(204, b"");
        assert_eq!(filter.calls().len(), 3);
        assert_eq!(filter.calls()[1].path, filter.calls()[2].path);
        // A controller that answers so at once would be asked without end.
        filter.answer(204, b"");
        assert_eq!(filter.calls().len(), 3);
        filter.pass(Duration::from_secs(1));
        assert_eq!(filter.calls().len(), 4);
    });
}

#[test]
fn a_delta_that_does_not_fit_asks_for_a_snapshot() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        filter.answer_tables(change(41, 42, &["10.0.0.9:80"]));
        is_served_by(&mut filter, "10.0.0.1:80");
        assert_eq!(filter.calls().last().unwrap().path, "/v1/plugin-config");
        filter.answer_tables(tables(42, &["10.0.0.9:80"]));
        is_served_by(&mut filter, "10.0.0.9:80");
    });
}

#[test]
fn a_bad_document_is_refused_with_a_line_and_the_last_good_one_stays() {
    in_both(|personality| {
        for bad in [
            "",
            "{",
            r#"{"schema":9}"#,
            r#"{"schema":1}"#,
            r#"{"schema":1,"extra":0}"#,
        ] {
            let mut filter = Filter::polling(personality);
            filter.answer_tables(tables(1, &["10.0.0.1:80"]));
            let calls = filter.calls().len();
            filter.answer(200, bad.as_bytes());
            assert!(
                filter
                    .host()
                    .log
                    .last()
                    .unwrap()
                    .starts_with("Error log refused"),
                "{bad:?}"
            );
            is_served_by(&mut filter, "10.0.0.1:80");
            assert_eq!(
                filter.calls().len(),
                calls,
                "what answers nonsense is not hammered"
            );
            filter.pass(Duration::from_secs(1));
            assert_eq!(filter.calls().len(), calls + 1, "but asked again");
        }
    });
}

#[test]
fn each_refused_document_is_logged_once_however_often_it_comes() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let lines = |filter: &Filter| {
            let log = filter.host().log.iter();
            log.filter(|line| line.contains("log refused")).count()
        };
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        let bad = |version| change(1, version, &["not-an-address"]);
        let mut expected = 0;
        for version in [2, 3, 2] {
            expected += 1;
            for _ in 0..20 {
                filter.answer_tables(bad(version));
                filter.pass(Duration::from_secs(1));
                assert_eq!(lines(&filter), expected, "{version}");
            }
        }
        filter.answer_tables(change(1, 4, &["10.0.0.2:80"]));
        is_served_by(&mut filter, "10.0.0.2:80");
        for text in ["{", "{", r#"{"schema":1}"#] {
            filter.answer(200, text.as_bytes());
            filter.pass(Duration::from_secs(1));
        }
        assert_eq!(lines(&filter), expected + 2);
    });
}

#[test]
fn one_bad_endpoint_refuses_the_whole_document() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        filter.answer_tables(change(1, 2, &["10.0.0.2:80", "not-an-address"]));
        is_served_by(&mut filter, "10.0.0.1:80");
        let line = filter.host().log.last().unwrap();
        assert!(
            line.contains("endpoint 1: address: expected ip:port"),
            "{line}"
        );
    });
}

#[test]
fn a_controller_that_is_down_is_asked_again_and_traffic_goes_on() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        for _ in 0..5 {
            filter.fail_call();
            is_served_by(&mut filter, "10.0.0.1:80");
            filter.pass(Duration::from_secs(2));
        }
        assert!(filter.calls().len() >= 7);
        assert!(
            filter.calls().last().unwrap().path.contains("since="),
            "it still has its tables"
        );
    });
}

#[test]
fn a_controller_that_cannot_be_called_yet_is_called_later() {
    in_both(|personality| {
        let mut filter = Filter::on(FakeHost {
            reachable: false,
            ..FakeHost::new(personality)
        });
        let bootstrap_config = filter.bootstrap_config(true);
        assert!(filter.configure(&bootstrap_config));
        filter.tick();
        assert!(filter.calls().is_empty());
        filter.vm.env_mut().reachable = true;
        filter.pass(Duration::from_secs(2));
        assert_eq!(filter.calls().len(), 1);
    });
}

#[test]
fn a_bad_bootstrap_configuration_is_refused_and_the_last_good_one_stays() {
    in_both(|personality| {
        let mut filter = Filter::with(personality, tables(1, &["10.0.0.1:80"]));
        filter.replace_root();
        for bad in [
            "",
            "null",
            "[]",
            r#"{"schema":1}"#,
            r#"{"schema":1,"tables":{"delta":{}}}"#,
            "\u{0}",
        ] {
            assert!(!filter.configure_bytes(bad.as_bytes()), "{bad:?}");
        }
        let broken = PluginConfig {
            tables: Some(tables(2, &["nowhere"])),
            ..filter.bootstrap_config(false)
        };
        assert!(!filter.configure(&broken));
        is_served_by(&mut filter, "10.0.0.1:80");
    });
}

#[test]
fn a_new_configuration_keeps_the_tables_that_the_log_brought() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        filter.answer_tables(change(1, 2, &["10.0.0.2:80"]));
        filter.replace_root();
        let older = PluginConfig {
            tables: Some(tables(1, &["10.0.0.1:80"])),
            ..filter.bootstrap_config(true)
        };
        assert!(filter.configure(&older));
        is_served_by(&mut filter, "10.0.0.2:80");
    });
}

#[test]
fn envoy_is_polled_from_the_configuration_on_and_nginx_from_the_first_tick() {
    for (personality, at_once) in [(Personality::Envoy, 1), (Personality::Nginx, 0)] {
        let mut filter = Filter::new(personality);
        let bootstrap_config = filter.bootstrap_config(true);
        assert!(filter.configure(&bootstrap_config));
        assert_eq!(filter.calls().len(), at_once);
        filter.tick();
        assert_eq!(filter.calls().len(), 1);
    }
}
