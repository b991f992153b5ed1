//! Chromium and its WebDriver, for the tests of the dashboard.

use std::env;
use std::path::Path;

use anyhow::{Result, bail};

use super::apt;
use crate::step::Step;

const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Installs Chromium, unless it is there or `CHROMEDRIVER` says where a WebDriver is.
pub(crate) fn browser() -> Result<()> {
    let mut step = Step::start("Chromium");
    if env::var_os("CHROMEDRIVER").is_none() && !Path::new("/usr/bin/chromedriver").is_file() {
        if !apt::is_usable() {
            bail!(
                "tests of the dashboard need it: sudo apt-get install {}, or set CHROMEDRIVER",
                PACKAGES.join(" ")
            );
        }
        apt::install(&mut step, &PACKAGES)?;
    }
    step.done();
    Ok(())
}
