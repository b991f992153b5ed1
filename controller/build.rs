//! Puts the filter into the program, if it has been built: `cargo xtask` builds it first.

use std::path::Path;
use std::{env, fs, io};

/// Set by `.cargo/config.toml`, to where `cargo xtask` leaves the filter.
const VARIABLE: &str = "SLUICE_EMBEDDED_FILTER";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let filter = env::var(VARIABLE).unwrap_or_default();
    let mut code = "None".to_owned();
    if !filter.is_empty() {
        println!("cargo::rerun-if-changed={filter}");
        if Path::new(&filter).is_file() {
            code = format!("Some(include_bytes!({filter:?}))");
        }
    }
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join("embedded_filter.rs"), code)
}
