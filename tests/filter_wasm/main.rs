//! The shipped `sluice_filter.wasm` under wasmtime, in fake hosts with an Envoy and an nginx personality.
//!
//! The hosts are fakes; `tests/e2e` covers the same ground in the real ones.

mod canary;
mod decisions;
mod feed;
mod filter;
mod hash;
mod host;
mod outcomes;
mod sessions;

/// Runs a test in both personalities and says which one failed.
#[allow(clippy::print_stdout, reason = "the runner shows it with a failure, and only then")]
fn in_both(test: impl Fn(host::Personality)) {
    for personality in host::Personality::BOTH {
        println!("personality: {}", personality.name());
        test(personality);
    }
}
