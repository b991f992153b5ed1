//! Nothing: what this package is for is in its Cargo.toml.
