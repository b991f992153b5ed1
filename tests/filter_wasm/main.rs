//! The shipped `sluice_filter.wasm` under wasmtime, in fake hosts with an Envoy and an nginx personality.
//!
//! The hosts are fakes; `tests/e2e` covers the same ground in the real ones.

mod canary;
mod connections;
mod decisions;
mod feed;
mod hash;
mod ngx_wasm;
mod outcomes;
mod rewriting;
mod scopes;
mod sessions;

use sluice_tests::fake::Personality;

/// Runs a test in both personalities and says which one failed.
#[allow(
    clippy::print_stdout,
    reason = "the runner shows it with a failure, and only then"
)]
fn in_both(test: impl Fn(Personality)) {
    for personality in Personality::BOTH {
        println!("personality: {}", personality.name());
        test(personality);
    }
}
