//! Other proxies, for `cargo xtask bench peers`.

use std::fs;

use anyhow::{Context, Result};

use super::apt;
use crate::step::{Step, say};
use crate::target;

/// Debian's, with the libraries that a small system lacks.
const PACKAGES: &[&str] = &[
    "haproxy",
    "liblua5.3-0",
    "libopentracing-c-wrapper0",
    "libopentracing1",
    "caddy",
];

/// Has them in `target/peers`, unpacked and not installed, so that no service starts. Without Debian those that `HAPROXY_BINARY` and
/// `CADDY_BINARY` name are measured, and others are not.
pub(crate) fn peers() -> Result<()> {
    let place = target().join("peers");
    if place.join("usr/sbin/haproxy").is_file() {
        return Ok(());
    }
    if !apt::is_usable() {
        say("  no HAProxy and no Caddy of Debian: HAPROXY_BINARY and CADDY_BINARY name others");
        return Ok(());
    }
    let mut step = Step::start("HAProxy and Caddy");
    // By way of a folder of its own: an interrupted set-up leaves nothing half done.
    let folder = target().join(format!("peers-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let unpacked = apt::update(&mut step).and_then(|()| {
        PACKAGES
            .iter()
            .try_for_each(|package| apt::unpack(&mut step, package, &folder))
    });
    let moved = unpacked
        .and_then(|()| fs::rename(&folder, &place).with_context(|| place.display().to_string()));
    if moved.is_err() {
        fs::remove_dir_all(&folder)?;
    }
    moved?;
    step.done();
    Ok(())
}
