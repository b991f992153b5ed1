//! Configurations that are rendered one after the other are what each of them is by itself: texts, files, the host table, and what is
//! not served.

#[path = "incremental/changes.rs"]
mod changes;
mod common;

use proptest::prelude::*;
use sluice_ir::Config;
use sluice_nginx::{Engine, ModSecurity, Renderer, Settings, Streams, render};

use changes::Change;

/// All that decide which parts of a configuration are looked at.
fn settings() -> Vec<Settings> {
    let by_table = Settings {
        host_table: true,
        streams: Some(Streams {
            module: None,
            believes_headers: true,
            reads_names: true,
        }),
        modsecurity: Some(ModSecurity {
            module: "modsecurity.so".into(),
            core_rules: vec!["crs.conf".into()],
            core_ids: Some([942_100].into()),
            unicode_map: None,
        }),
        ..common::settings()
    };
    let kong = Settings {
        engine: Engine::Kong {
            module: None,
            filter: "f.wasm".into(),
            cache: "c.toml".into(),
        },
        ..by_table.clone()
    };
    let with_logs = Settings {
        requests: Some("requests.log".into()),
        modsecurity: None,
        streams: None,
        ..by_table.clone()
    };
    let without_table = Settings {
        host_table: false,
        ..by_table.clone()
    };
    vec![by_table, with_logs, without_table, kong]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_was_rendered_before_changes_nothing(all in prop::collection::vec(changes::any(), 1..24)) {
        let mut renderers: Vec<Renderer> = settings().into_iter().map(Renderer::new).collect();
        let mut config = Config::default();
        for change in &all {
            change.apply(&mut config);
            for renderer in &mut renderers {
                let whole = render(&config, renderer.settings());
                prop_assert_eq!(renderer.render(&config), whole, "{:?}", change);
            }
        }
    }
}

/// Looks at the texts of nginx.conf and of the table: two changes of the same host, and one back.
#[test]
fn change_of_a_host_leaves_the_files_of_others_as_they_are() {
    let mut renderer = Renderer::new(settings().remove(0));
    let mut config = Config::default();
    for name in 0..changes::NAMES.len() {
        Change::Server(name, Some(0)).apply(&mut config);
    }
    let first = renderer.render(&config);
    Change::Server(1, Some(1)).apply(&mut config);
    let second = renderer.render(&config);
    let [before, now] = [&first, &second].map(|it| &it.table.as_ref().unwrap().shards);
    let pairs = before.iter().zip(now);
    let others = pairs.filter(|(before, now)| !std::sync::Arc::ptr_eq(before, now));
    assert_eq!(others.count(), 1);
    Change::Server(1, Some(0)).apply(&mut config);
    assert_eq!(renderer.render(&config), first);
}
