//! A proxy-wasm ABI 0.2.1 host over a trait.
