//! Link options of the module.

fn main() {
    // wasmtime's signal handlers and Rust's thread-locals must not be unmapped when a reload drops `load_module`.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
