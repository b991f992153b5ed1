//! Answers to challenges of digest authentication, and files of its users.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_digest_auth::{Credentials, Users};

/// The user of a file that nobody knows the password of.
const FILE: &str = "ada:shop:00000000000000000000000000000000";

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let users = Users::parse(text);
        assert!(users.unreadable().len() <= text.split(['\n', '\r']).count());
        assert!(users.realms().all(|realm| !realm.contains(&b':')));
    }
    let Some(credentials) = Credentials::parse(data) else {
        return;
    };
    assert!(credentials.count > 0 && credentials.nc.len() == 8 && !credentials.cnonce.is_empty());
    assert!(!Users::parse(FILE).verify(&credentials, "GET"));
    let texts = [&credentials.user, &credentials.realm, &credentials.uri];
    assert!(
        texts
            .iter()
            .all(|text| text.len() < data.len() && !text.contains(&b'\n'))
    );
});
