//! ModSecurity's module for nginx, whose library is Envoy's firewall, too, and the rules that most people use with it.

use std::path::Path;

use anyhow::{Result, bail};

use super::apt;
use crate::step::Step;

const MODULE: &str = "/usr/lib/nginx/modules/ngx_http_modsecurity_module.so";
const CORE_RULES: &str = "/etc/modsecurity/crs/crs-setup.conf";
const PACKAGES: [&str; 2] = ["libnginx-mod-http-modsecurity", "modsecurity-crs"];

/// Installs both, unless they are there.
pub(crate) fn waf() -> Result<()> {
    let mut step = Step::start("ModSecurity");
    let is_there = |file: &str| Path::new(file).is_file();
    if !(is_there(MODULE) && is_there(CORE_RULES)) {
        if !apt::is_usable() {
            let packages = PACKAGES.join(" ");
            bail!("tests of the web application firewall need it: sudo apt-get install {packages}");
        }
        apt::install(&mut step, &PACKAGES)?;
    }
    step.done();
    Ok(())
}
