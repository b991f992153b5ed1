//! Puts the filter into the program, if it has been built: `cargo xtask` builds it first. Compressed, it takes 0.4 MB less.

use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Set by `.cargo/config.toml`, to where `cargo xtask` leaves the filter.
const VARIABLE: &str = "SLUICE_EMBEDDED_FILTER";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let filter = env::var(VARIABLE).unwrap_or_default();
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    let mut code = "None".to_owned();
    if !filter.is_empty() {
        println!("cargo::rerun-if-changed={filter}");
        if Path::new(&filter).is_file() {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&fs::read(&filter)?)?;
            let compressed = Path::new(&folder).join("embedded_filter.zz");
            fs::write(&compressed, encoder.finish()?)?;
            code = format!("Some(include_bytes!({compressed:?}))");
        }
    }
    fs::write(Path::new(&folder).join("embedded_filter.rs"), code)
}
