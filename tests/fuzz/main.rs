//! Random texts in every string field of what tenants write, many at a time: nobody else's traffic changes, and the words
//! of nginx are ours alone.
//!
//! A few hundred worlds with each test run; `PROPTEST_CASES=100000 cargo xtask test fuzz` plays on, and what fails is
//! shrunk to the objects that it takes. [`accepted`] gives worlds to the real data planes; [`sluice_tests::hostile`] has the
//! known texts one by one.

mod accepted;
mod native;
mod objects;
mod ordinary;
mod patterns;
mod words;

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_tests::hostile;
use sluice_translate::{Object, ObjectKey, Options, Resources, Translation, translate};

use objects::{neighbour, tenant};
use words::Words;

/// The operator's options; the world's ConfigMaps are a tenant's, so none of these is written by one.
fn options() -> Options {
    Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sluice", "settings")),
        ssl_passthrough: true,
        ..Options::default()
    }
}

fn world(tenants: &[Value]) -> Translation {
    let mut resources = Resources::default();
    // What is no object of its kind never comes in; who reads it says so.
    let objects = tenants
        .iter()
        .cloned()
        .chain(neighbour())
        .map(Object::from_value);
    objects
        .flatten()
        .for_each(|object| drop(resources.apply(object)));
    translate(&resources, &options())
}

/// All that is served on the neighbour's host.
fn of_neighbour(translation: &Translation) -> Value {
    let config = json!(translation.config());
    let named = |field: &str, name: &str| {
        let all = config[field].as_object().into_iter().flatten();
        all.filter(|(key, _)| key.contains(name))
            .map(|(key, value)| json!([key, value]))
            .collect::<Vec<_>>()
    };
    json!([
        named("servers", objects::HOST),
        named("backends", objects::NAMESPACE)
    ])
}

fn envoy() -> sluice_xds::Settings {
    let code = sluice_xds::FilterCode::File("filter.wasm".into());
    let certificate = sluice_xds::Certificate {
        chain: String::new(),
        key: String::new(),
    };
    let https = sluice_xds::Https {
        address: ([127, 0, 0, 1], 8443).into(),
        default_certificate: certificate,
    };
    sluice_xds::Settings {
        https: Some(https),
        ..sluice_xds::Settings::new(code, Vec::new())
    }
}

fn nginx() -> sluice_nginx::Settings {
    let engine = sluice_nginx::Engine::Sluice {
        module: "m.so".into(),
        wasm: None,
    };
    sluice_nginx::Settings::new(
        engine,
        ([127, 0, 0, 1], 8080).into(),
        ([127, 0, 0, 1], 8443).into(),
    )
}

/// Every word that nginx has been seen to get from us: of the golden cases, and of the neighbour alone.
static OURS: LazyLock<Words> = LazyLock::new(|| {
    let mut words = Words::of_golden_cases().unwrap();
    words.add(&sluice_nginx::render(world(&[]).config(), &nginx()).text);
    words
});

fn check(tenants: &[Value]) -> Result<(), TestCaseError> {
    static ALONE: LazyLock<Value> = LazyLock::new(|| of_neighbour(&world(&[])));
    let translation = world(tenants);
    prop_assert_eq!(&of_neighbour(&translation), &*ALONE);
    let config = translation.config();
    // That Envoy takes it is seen with a real one; here it is rendered at all.
    let envoy = sluice_xds::RenderedResources::render(config, &envoy()).to_json();
    prop_assert!(envoy.is_ok(), "{:?}", envoy.err());
    let mut log = sluice_plugin::Log::default();
    log.replace(config);
    let native = native::loses_nothing(config, &log);
    prop_assert!(native.is_ok(), "{:?}", native.err());
    let foreign = OURS.foreign(&sluice_nginx::render(config, &nginx()).text);
    prop_assert!(
        foreign.is_empty(),
        "words in nginx.conf that are not ours: {:?}",
        foreign
    );
    for report in translation.reports() {
        let text = report.to_string();
        prop_assert!(
            !text.chars().any(char::is_control),
            "a report that breaks lines: {:?}",
            text
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_tenants_write_changes_nothing_of_others_and_no_word_of_nginx(
        tenants in prop::collection::vec(tenant(), 1..6)
    ) {
        check(&tenants.concat())?;
    }
}

/// The known texts, each in every place, all in one world.
#[test]
fn all_known_texts_together_change_nothing_of_others() {
    let tenants = hostile::ingresses("web");
    check(&tenants).unwrap();
    let served = world(&tenants).config().servers.len();
    assert!(
        served > tenants.len() / 2,
        "only {served} of {} come so far that they could do harm",
        tenants.len()
    );
}

#[test]
fn a_word_that_is_not_ours_is_seen() {
    let good = sluice_nginx::render(world(&[]).config(), &nginx()).text;
    for evil in ["evil on;", "return 200 $document_root;", "x\";} evil {"] {
        assert!(
            !OURS
                .foreign(&good.replacen("listen", &format!("{evil} listen"), 1))
                .is_empty(),
            "{evil}"
        );
    }
    assert!(
        OURS.foreign(&good.replacen("listen", "server_name \"evil on;\"; # evil\n listen", 1))
            .is_empty()
    );
}
