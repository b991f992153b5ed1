//! The documents of the filter: its configuration, and what a long-poll answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_filter_config::{PluginConfig, Tables as Wire};
use sluice_filter_core::{Rng, Tables, Timestamp};

struct Counting(u64);

impl Rng for Counting {
    fn next_u64(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(document) = PluginConfig::parse(data) else {
        return;
    };
    let written = document.to_json();
    let again = PluginConfig::parse(&written).expect("what was written can be read");
    // A number that is no number is not equal to itself.
    assert_eq!(again.to_json(), written);
    let Some(update) = document.tables else {
        return;
    };
    let (mut tables, mut rng) = (Tables::default(), Counting(1));
    let version = match &update {
        Wire::Snapshot(snapshot) => snapshot.version,
        Wire::Delta(delta) => delta.version,
    };
    for _ in 0..2 {
        let before = tables.version();
        match tables.apply(update.clone(), Timestamp::from_nanos(1), &mut rng) {
            Ok(taken) => assert!(taken == version && tables.version() == Some(version)),
            Err(_) => assert_eq!(tables.version(), before, "what is refused is refused whole"),
        }
    }
});
