//! Differences between versions of nginx, as `cfg`s.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(nginx_linked_headers)");
    // nginx-sys says so to those who depend on it directly.
    let version = env::var("DEP_NGINX_VERSION_NUMBER")
        .ok()
        .and_then(|version| version.parse::<u32>().ok());
    // Since 1.23.0 headers of one name are a linked list; before, some of them were arrays.
    if version.is_some_and(|version| version >= 1_023_000) {
        println!("cargo::rustc-cfg=nginx_linked_headers");
    }
    let headers = env::var("DEP_NGINX_INCLUDE").unwrap_or_default();
    if !headers
        .split(':')
        .any(|folder| folder.ends_with("src/stream"))
    {
        println!(
            "cargo::error=nginx's sources are configured without its stream module: say --with-stream=dynamic to \
            ./configure (an nginx without it can still run this module), or run `cargo xtask setup`"
        );
    }
}
