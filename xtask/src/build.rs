//! The things that are built before something runs, each with its step.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::arch::Arch;
use crate::setup::{WASM_TARGET, nginx_source};
use crate::step::Step;
use crate::{compiled, made, repository, target};

/// For 0.7 MB less of the controller. The loader needs glibc 2.36, which Debian 12 has.
const SMALL_RELOCATIONS: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";

const ENVOY_MODULE: &str = "libsluice_envoy.so";
const NGINX_MODULE: &str = "libngx_sluice.so";

/// A build of the controller and of the programs in `tests/`.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// Quick to build.
    Dev,
    /// As shipped.
    Release,
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Profile::Dev => "debug",
            Profile::Release => "release",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Profile::Dev => "dev",
            Profile::Release => "release",
        }
    }
}

/// The cargo that runs this, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository());
    // For sluice-ngx, which binds nginx; other crates do not read it.
    command.env("NGINX_BUILD_DIR", nginx_source().join("objs"));
    // As .cargo/config.toml has it, wherever the target folder is.
    command.env("SLUICE_EMBEDDED_FILTER", filter_wasm(&target()));
    // What `cargo run` tells about this package, ring's build script takes for its own: a build from here and one from a
    // shell would each throw away the other's.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The filter as it is shipped.
pub(crate) fn filter() -> Result<PathBuf> {
    build_filter("the filter (wasm)", &target(), &[])
}

/// The filter that panics when a request asks for it, in a folder of its own, so that it is never taken for the other.
pub(crate) fn filter_with_faults() -> Result<PathBuf> {
    let folder = target().join("fault-injection");
    build_filter(
        "the filter with fault injection (wasm)",
        &folder,
        &["--features", "fault-injection"],
    )
}

fn build_filter(title: &str, folder: &Path, options: &[&str]) -> Result<PathBuf> {
    let mut step = Step::start(title);
    // Macros are compiled for this machine.
    compiled::lend(folder, "filter")?;
    compiled::lend(folder, &format!("{WASM_TARGET}/filter"))?;
    let mut command = cargo();
    command.args([
        "build",
        "-p",
        "sluice-filter",
        "--target",
        WASM_TARGET,
        "--profile",
        "filter",
    ]);
    without_paths(&mut command, &[])?;
    step.run(command.arg("--target-dir").arg(folder).args(options))?;
    let wasm = filter_wasm(folder);
    ensure!(wasm.is_file(), "the build left no {}", wasm.display());
    step.done();
    Ok(wasm)
}

fn filter_wasm(target: &Path) -> PathBuf {
    target.join(WASM_TARGET).join("filter/sluice_filter.wasm")
}

/// The filter as a module of Envoy, as it is shipped.
pub(crate) fn envoy_module() -> Result<PathBuf> {
    module(
        "the filter (module of Envoy)",
        "sluice-envoy-module",
        "envoy-module",
        ENVOY_MODULE,
    )
}

/// The nginx module as it is shipped.
pub(crate) fn nginx_module() -> Result<PathBuf> {
    module(
        "the nginx module",
        "sluice-nginx-module",
        "module",
        NGINX_MODULE,
    )
}

fn module(title: &str, package: &str, profile: &str, file: &str) -> Result<PathBuf> {
    let mut step = Step::start(title);
    let mut command = cargo();
    step.run(command.args(["build", "-p", package, "--profile", profile]))?;
    let module = target().join(profile).join(file);
    ensure!(module.is_file(), "the build left no {}", module.display());
    step.done();
    Ok(module)
}

/// The filter as modules of the data planes.
#[derive(Clone)]
pub(crate) struct Modules {
    pub(crate) envoy: PathBuf,
    pub(crate) nginx: PathBuf,
}

/// Debug builds, linked with the dependencies that were compiled for the tests.
pub(crate) fn debug_modules() -> Result<Modules> {
    // wasm has other symbols than a program of this machine, which the linker would miss.
    let excluded = ["xtask", "sluice-filter"];
    let folder = build_programs("the modules", Profile::Dev, &["--lib"], &excluded)?;
    Ok(Modules {
        envoy: folder.join(ENVOY_MODULE),
        nginx: folder.join(NGINX_MODULE),
    })
}

/// The filter as native code for the nginx module, beside the .wasm. It fits one version of wasmtime, and this processor.
pub(crate) fn compiled(programs: &Path, wasm: &Path) -> Result<PathBuf> {
    let title = "the filter for nginx (native code)";
    to_native(title, programs, wasm, "cwasm", &[])
}

/// The filter as native code that counts its instructions.
pub(crate) fn metered(programs: &Path, wasm: &Path) -> Result<PathBuf> {
    let title = "the filter, metered (native code)";
    to_native(title, programs, wasm, "metered.cwasm", &["--metered"])
}

fn to_native(
    title: &str,
    programs: &Path,
    wasm: &Path,
    extension: &str,
    options: &[&str],
) -> Result<PathBuf> {
    let compiler = programs.join("sluice-compile");
    let native = wasm.with_extension(extension);
    made::unless_made(&native, &[wasm, &compiler], || {
        let mut step = Step::start(title);
        let mut compile = Command::new(&compiler);
        step.run(compile.args(options).arg(wasm).arg(&native))?;
        step.done();
        Ok(())
    })?;
    Ok(native)
}

/// The same for all processors of an architecture, this machine's. The compiler is the one beside a program, or built; it needs no
/// optimisation for that.
pub(crate) fn compiled_for(arch: Arch, wasm: &Path, beside: Option<PathBuf>) -> Result<PathBuf> {
    let mut step = Step::start(&format!("the filter for nginx ({})", arch.name()));
    let built = beside.map(|program| program.with_file_name("sluice-compile"));
    let compiler = match built.filter(|compiler| compiler.is_file()) {
        Some(compiler) => compiler,
        None => {
            let mut command = cargo();
            command.args(["build", "--locked", "-p", "sluice-wasm-host"]);
            step.run(command.args(["--features", "compile"]))?;
            target().join("debug/sluice-compile")
        }
    };
    let native = target()
        .join("images")
        .join(arch.name())
        .join("sluice_filter.cwasm");
    made::unless_made(&native, &[wasm, &compiler], || {
        let mut compile = Command::new(&compiler);
        compile.args(["--target", arch.triple()]);
        step.run(compile.arg(wasm).arg(&native))
    })?;
    step.done();
    Ok(native)
}

/// The controller of images.
pub(crate) fn shipped_controller(arch: Arch) -> Result<PathBuf> {
    shipped(arch, "sluice", "shipped", "sluice")
}

/// The module of Envoy in images.
pub(crate) fn shipped_envoy_module(arch: Arch) -> Result<PathBuf> {
    shipped(arch, "sluice-envoy-module", "envoy-module", ENVOY_MODULE)
}

/// The nginx module of images.
pub(crate) fn shipped_module(arch: Arch) -> Result<PathBuf> {
    shipped(arch, "sluice-nginx-module", "module", NGINX_MODULE)
}

fn shipped(arch: Arch, package: &str, profile: &str, file: &str) -> Result<PathBuf> {
    let mut step = Step::start(&format!("{package} as shipped ({})", arch.name()));
    let mut command = cargo();
    command.args([
        "build",
        "--locked",
        "-p",
        package,
        "--profile",
        profile,
        "--target",
        arch.triple(),
    ]);
    without_paths(&mut command, &[SMALL_RELOCATIONS])?;
    if !arch.is_native() {
        for_cross(&mut command, arch);
    }
    step.run(&mut command)?;
    step.done();
    Ok(target().join(arch.triple()).join(profile).join(file))
}

/// Flags for the same bytes wherever the sources, and those of dependencies, are; and others.
fn without_paths(command: &mut Command, more: &[&str]) -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let places = [
        (home, "/cargo"),
        (repository().canonicalize()?, "/sluice"),
        (target(), "/sluice/target"),
    ];
    let prefixes: Vec<String> = places
        .iter()
        .map(|(place, name)| format!("{}={name}", place.display()))
        .collect();
    let mut flags: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("--remap-path-prefix={prefix}"))
        .collect();
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let flags: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("-ffile-prefix-map={prefix}"))
        .collect();
    // For the C sources of crates.
    command.env("CFLAGS", flags.join(" "));
    Ok(())
}

/// GNU's compilers for another processor; crates with C sources find theirs by its name.
fn for_cross(command: &mut Command, arch: Arch) {
    let triple = arch.triple().to_uppercase().replace('-', "_");
    command.env(format!("CARGO_TARGET_{triple}_LINKER"), arch.tool("gcc"));
}

/// The controller and the demo: nothing that only tests need. `tests/workspace-hack` has the features that keep what they share with the
/// tests from being compiled twice.
pub(crate) fn demo() -> Result<PathBuf> {
    let mut step = Step::start("the controller and the demo");
    let mut command = cargo();
    command.args(["build", "-p", "sluice", "-p", "sluice-tests"]);
    command.args([
        "--no-default-features",
        "--bin",
        "sluice",
        "--bin",
        "sluice-demo",
    ]);
    step.run(&mut command)?;
    step.done();
    Ok(target().join(Profile::Dev.folder()))
}

/// The folder with the controller and the programs of `tests/`, without the crates that need nginx's headers.
pub(crate) fn programs() -> Result<PathBuf> {
    build_programs(
        "the controller",
        Profile::Dev,
        &["--bins"],
        &["xtask", "sluice-nginx-module", "sluice-ngx"],
    )
}

/// The controller alone.
pub(crate) fn controller(profile: Profile) -> Result<PathBuf> {
    let mut step = Step::start("the controller");
    let mut command = cargo();
    command.args(["build", "--profile", profile.name(), "-p", "sluice"]);
    step.run(&mut command)?;
    step.done();
    Ok(target().join(profile.folder()).join("sluice"))
}

/// The programs of the whole workspace.
pub(crate) fn all_programs() -> Result<PathBuf> {
    build_programs(
        "the controller and the programs of the tests",
        Profile::Dev,
        &["--bins"],
        &["xtask"],
    )
}

/// The programs that are measured, and the one that measures: each is optimised as a whole when it is linked, for minutes.
pub(crate) fn bench() -> Result<PathBuf> {
    build_programs(
        "the controller and the benchmarks",
        Profile::Release,
        &["--bin=sluice", "--bin=sluice-compile", "--bin=sluice-bench"],
        &["xtask"],
    )
}

/// All programs, and all tests with them: built on their own, programs get fewer features of what both stand on, and the
/// test runner would build that, and them, once more.
pub(crate) fn programs_and_tests() -> Result<PathBuf> {
    build_programs(
        "the controller and the tests",
        Profile::Dev,
        &["--bins", "--tests"],
        &["xtask"],
    )
}

fn build_programs(
    title: &str,
    profile: Profile,
    kinds: &[&str],
    excluded: &[&str],
) -> Result<PathBuf> {
    let mut step = Step::start(title);
    let mut command = cargo();
    // The whole workspace, because cargo chooses the features of shared dependencies by what it builds together: the
    // test runner, which also takes all of it, then finds them built.
    command
        .args(["build", "--profile", profile.name(), "--workspace"])
        .args(kinds);
    excluded.iter().for_each(|package| {
        command.args(["--exclude", package]);
    });
    step.run(&mut command)?;
    step.done();
    Ok(target().join(profile.folder()))
}
