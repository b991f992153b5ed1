//! PHP, the FastCGI application of the tests.

use std::env;
use std::path::Path;

use anyhow::{Result, bail};

use super::apt;
use crate::step::Step;

const PACKAGE: &str = "php-cgi";

/// Installs php-cgi, unless it is there or `PHP_CGI` says where another one is.
pub(crate) fn php() -> Result<()> {
    let mut step = Step::start("php-cgi");
    if env::var_os("PHP_CGI").is_none() && !Path::new("/usr/bin/php-cgi").is_file() {
        if !apt::is_usable() {
            bail!("tests of FastCGI need it: sudo apt-get install {PACKAGE}, or set PHP_CGI");
        }
        apt::install(&mut step, &[PACKAGE])?;
    }
    step.done();
    Ok(())
}
