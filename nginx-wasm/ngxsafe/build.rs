//! What differs between versions of nginx, as `cfg`s.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(nginx_linked_headers)");
    // nginx-sys says so to those who depend on it directly.
    let version = env::var("DEP_NGINX_VERSION_NUMBER").ok().and_then(|version| version.parse::<u32>().ok());
    // Since 1.23.0 headers of one name are a linked list; before, some of them were arrays.
    if version.is_some_and(|version| version >= 1_023_000) {
        println!("cargo::rustc-cfg=nginx_linked_headers");
    }
}
