//! Prometheus and promtool, for tests of alerts and dashboards.

use std::env;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::apt;
use crate::step::Step;
use crate::target;

/// Has both in `target/prometheus`, unless `PROMETHEUS_BINARY` and `PROMTOOL_BINARY` name others. Debian's package is unpacked, not
/// installed, so that no service starts.
pub(crate) fn prometheus() -> Result<()> {
    let others = ["PROMETHEUS_BINARY", "PROMTOOL_BINARY"];
    if others.iter().all(|name| env::var_os(name).is_some()) {
        return Ok(());
    }
    let mut step = Step::start("Prometheus");
    let place = target().join("prometheus");
    if !place.join("usr/bin/promtool").is_file() {
        ensure!(
            apt::is_usable(),
            "tests of alerts need it: set PROMETHEUS_BINARY and PROMTOOL_BINARY"
        );
        // By way of a folder of its own: an interrupted set-up leaves nothing half done.
        let folder = target().join(format!("prometheus-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        apt::update(&mut step)?;
        let unpacked = apt::unpack(&mut step, "prometheus", &folder);
        let moved = unpacked.and_then(|()| {
            fs::rename(&folder, &place).with_context(|| place.display().to_string())
        });
        if moved.is_err() {
            fs::remove_dir_all(&folder)?;
        }
        moved?;
    }
    step.done();
    Ok(())
}
