//! Header maps as they cross the proxy-wasm ABI, read by the guest (the filter) and by the host (our nginx module).
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(
    dead_code,
    reason = "the file of the filter, which has no other crate that is not wasm"
)]
#[path = "../../../filter/src/pairs.rs"]
mod guest;
#[allow(dead_code, reason = "the file of the host, without its runtime")]
#[path = "../../../nginx-wasm/host/src/pairs.rs"]
mod host;

fuzz_target!(|data: &[u8]| {
    let guest = guest::Pairs::new(data.to_vec());
    for name in ["", "a", ":path", "x-sluice-endpoint"] {
        let length: usize = guest.values(name).map(<[u8]>::len).sum();
        assert!(
            length <= data.len(),
            "values are longer than the map: {length}"
        );
    }
    let Some(map) = host::Pairs::parse(data) else {
        return;
    };
    let pairs: Vec<(&[u8], &[u8])> = map.collect();
    assert_eq!(pairs.len(), map.count());
    for (name, value) in pairs.iter().take(32) {
        if let Ok(name) = std::str::from_utf8(name) {
            assert!(
                guest.values(name).any(|found| found == *value),
                "the guest does not see {name:?}"
            );
        }
    }
    let (mut buffer, mut written) = (host::PairsBuf::default(), Vec::new());
    pairs
        .iter()
        .for_each(|(name, value)| buffer.push(name, value));
    buffer.serialize(&mut written);
    let again: Vec<_> = host::Pairs::parse(&written)
        .expect("what was written can be read")
        .collect();
    assert_eq!(again, pairs);
});
