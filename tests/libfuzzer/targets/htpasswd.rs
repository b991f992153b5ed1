//! Files of users, and the hashes in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_basic_auth::{Hash, Users};

/// Cost of a hash that a fuzzer has time for, in microseconds.
const QUICK: u64 = 400;
/// Cost of a hash that is compared at all, in microseconds.
const LONGEST: u64 = 2_000_000;

fuzz_target!(|text: &str| {
    let (users, again) = (Users::parse(text), Users::parse(text));
    assert!(users.version() == again.version());
    assert!(
        users.unreadable().len() <= users.count()
            && users.count() <= text.split(['\n', '\r']).count()
    );
    for line in text.lines().take(16) {
        let (name, hash) = line.split_once(':').unwrap_or(("", line));
        assert!(
            users
                .hash_of(name.as_bytes())
                .is_none_or(|hash| hash.cost() <= LONGEST)
        );
        let Ok(hash) = Hash::parse(hash) else {
            continue;
        };
        assert!(hash.cost() <= LONGEST, "{line:?} takes {} us", hash.cost());
        if hash.cost() <= QUICK {
            let _ = hash.matches(b"password");
        }
    }
});
