//! The linker's leave to take our callbacks (`src/exports.rs`) before those of the SDK, which have the same names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--allow-multiple-definition");
    }
}
