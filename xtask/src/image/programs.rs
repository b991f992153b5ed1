//! Programs of images: built, or taken from a build that there is; stripped, with what debuggers want beside.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::arch::Arch;
use crate::build::{self, Profile};
use crate::setup;
use crate::step::Step;

/// Files of ours that an nginx needs.
#[derive(Clone)]
pub(super) struct Nginx {
    pub(super) module: PathBuf,
    /// Runs on every processor of the architecture.
    pub(super) filter: PathBuf,
    /// Of the sources that the module is built for.
    pub(super) version: String,
}

/// Envoy, and the file of ours that it loads.
#[derive(Clone)]
pub(super) struct Envoy {
    pub(super) program: PathBuf,
    /// The filter as a module.
    pub(super) module: PathBuf,
}

/// Paths of programs.
#[derive(Clone)]
pub(super) struct Programs {
    pub(super) arch: Arch,
    pub(super) sluice: PathBuf,
    pub(super) filter: PathBuf,
    pub(super) envoy: Option<Envoy>,
    pub(super) nginx: Option<Nginx>,
}

impl Programs {
    /// As shipped, or with `debug` as tests have them: those that variables of `cargo xtask test` name, or the dev profile's.
    pub(super) fn build(
        arch: Arch,
        debug: bool,
        with_envoy: bool,
        with_nginx: bool,
    ) -> Result<Programs> {
        setup::wasm_target()?;
        if !arch.is_native() {
            setup::cross(arch)?;
        }
        let filter = built("SLUICE_FILTER_WASM", debug, build::filter, build::filter)?;
        let sluice = built(
            "SLUICE_BIN",
            debug,
            || build::controller(Profile::Dev),
            || build::shipped_controller(arch),
        )?;
        let envoy = with_envoy.then(|| Envoy::build(arch, debug)).transpose()?;
        let nginx = with_nginx
            .then(|| Nginx::build(arch, debug, &filter))
            .transpose()?;
        Ok(Programs {
            arch,
            sluice,
            filter,
            envoy,
            nginx,
        })
    }

    /// Copies without symbols in `folder`; the symbols go to `symbols`. Envoy itself comes without.
    pub(super) fn stripped(mut self, folder: &Path, symbols: &Path) -> Result<Programs> {
        let mut step = Step::start("symbols beside the programs");
        fs::create_dir_all(symbols).with_context(|| symbols.display().to_string())?;
        let arch = self.arch;
        let mut strip = |file: &Path| strip(&mut step, arch, file, folder, symbols);
        self.sluice = strip(&self.sluice)?;
        if let Some(envoy) = &mut self.envoy {
            envoy.module = strip(&envoy.module)?;
        }
        if let Some(nginx) = &mut self.nginx {
            nginx.module = strip(&nginx.module)?;
        }
        step.done();
        Ok(self)
    }
}

impl Envoy {
    fn build(arch: Arch, debug: bool) -> Result<Envoy> {
        let module = built("SLUICE_ENVOY_MODULE", debug, build::envoy_module, || {
            build::shipped_envoy_module(arch)
        })?;
        Ok(Envoy {
            program: setup::envoy_for(arch)?,
            module,
        })
    }
}

impl Nginx {
    fn build(arch: Arch, debug: bool, wasm: &Path) -> Result<Nginx> {
        setup::nginx()?;
        let beside = env::var_os("SLUICE_BIN")
            .filter(|_| debug)
            .map(PathBuf::from);
        let module = built("SLUICE_NGINX_MODULE", debug, build::nginx_module, || {
            build::shipped_module(arch)
        })?;
        Ok(Nginx {
            module,
            filter: build::compiled_for(arch, wasm, beside)?,
            version: setup::nginx_version()?,
        })
    }
}

/// With `debug` the file that a variable names, if any: a test packs what its run has built.
fn built(
    variable: &str,
    debug: bool,
    quick: impl FnOnce() -> Result<PathBuf>,
    shipped: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    match env::var_os(variable) {
        Some(file) if debug => PathBuf::from(file)
            .canonicalize()
            .context(variable.to_owned()),
        _ if debug => quick(),
        _ => shipped(),
    }
}

fn strip(
    step: &mut Step,
    arch: Arch,
    file: &Path,
    folder: &Path,
    symbols: &Path,
) -> Result<PathBuf> {
    let name = file.file_name().context("a program without a name")?;
    let stripped = folder.join(name);
    let mut beside = name.to_owned();
    beside.push(".debug");
    let objcopy = || Command::new(arch.tool("objcopy"));
    let (file, beside) = (file.canonicalize()?, symbols.join(beside));
    step.run(objcopy().arg("--only-keep-debug").arg(&file).arg(&beside))?;
    step.run(
        objcopy()
            .arg("--strip-all")
            .arg(format!("--add-gnu-debuglink={}", beside.display()))
            .arg(&file)
            .arg(&stripped),
    )?;
    Ok(stripped)
}
