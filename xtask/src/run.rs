//! The tasks: prepare, then become the program that does the work.

use std::env;
use std::num::NonZero;
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};

use crate::build::{self, Modules, cargo};
use crate::step::say;
use crate::{asan, deny, lint, repository, setup};

/// The runner's own variable; `--test-threads` wins over it.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// Paths of the prepared artifacts; the parts in `tests/` read these variables.
struct Prepared {
    /// `None` for what runs nginx alone.
    envoy: Option<PathBuf>,
    filter: PathBuf,
    programs: PathBuf,
}

impl Prepared {
    fn new(programs: impl FnOnce() -> Result<PathBuf>) -> Result<Prepared> {
        setup::wasm_target()?;
        let envoy = Some(setup::envoy()?);
        Ok(Prepared {
            envoy,
            filter: build::filter()?,
            programs: programs()?,
        })
    }

    fn without_envoy(programs: impl FnOnce() -> Result<PathBuf>) -> Result<Prepared> {
        setup::wasm_target()?;
        Ok(Prepared {
            envoy: None,
            filter: build::filter()?,
            programs: programs()?,
        })
    }

    fn export(&self, command: &mut Command) {
        if let Some(envoy) = &self.envoy {
            command.env("ENVOY_BINARY", envoy);
        }
        command.env("SLUICE_FILTER_WASM", &self.filter);
        command.env("SLUICE_BIN", self.programs.join("sluice"));
    }

    fn program(&self, name: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(self.programs.join(name));
        self.export(&mut command);
        command.args(arguments);
        command
    }
}

/// Artifacts for tests and programs with nginx.
struct Nginx {
    binary: PathBuf,
    module: PathBuf,
    /// The filter as wasm, compiled; where it is tested or measured.
    wasm: Option<PathBuf>,
}

impl Nginx {
    fn new(binary: PathBuf) -> Result<Nginx> {
        Ok(Nginx {
            binary,
            module: build::nginx_module()?,
            wasm: None,
        })
    }

    fn with_wasm(self, prepared: &Prepared) -> Result<Nginx> {
        Ok(Nginx {
            wasm: Some(build::compiled(&prepared.programs, &prepared.filter)?),
            ..self
        })
    }

    fn export(&self, command: &mut Command) {
        command
            .env("NGINX_BINARY", &self.binary)
            .env("SLUICE_NGINX_MODULE", &self.module);
        if let Some(wasm) = &self.wasm {
            command.env("SLUICE_FILTER_CWASM", wasm);
        }
    }
}

/// Everything that tests run.
struct Tested {
    prepared: Prepared,
    nginx: Nginx,
    envoy_module: PathBuf,
    /// Tests of faults run these.
    debug_modules: Modules,
    /// The filter as native code that counts its instructions.
    metered: PathBuf,
    /// The filter that fails when a request asks for it.
    faulty: PathBuf,
    compiled_faulty: PathBuf,
}

impl Tested {
    /// Builds, and sets up beside it what no build needs.
    fn prepare(with_shipped_modules: bool) -> Result<Tested> {
        // Crates of the workspace are written against its headers.
        let nginx = setup::nginx()?;
        let build = || Tested::build(nginx, with_shipped_modules);
        both(build, setup::beside_tests).map(|(tested, ())| tested)
    }

    fn build(nginx: PathBuf, with_shipped_modules: bool) -> Result<Tested> {
        let prepared = Prepared::new(build::programs_and_tests)?;
        // Each of them is one crate at its end, which is one core's work.
        let (debug_modules, faulty) = both(build::debug_modules, build::filter_with_faults)?;
        let modules = if with_shipped_modules {
            let (envoy, nginx) = both(build::envoy_module, build::nginx_module)?;
            Modules { envoy, nginx }
        } else {
            debug_modules.clone()
        };
        let nginx = Nginx {
            binary: nginx,
            module: modules.nginx,
            wasm: None,
        };
        let programs = &prepared.programs;
        let of_filter = || {
            let nginx = nginx.with_wasm(&prepared)?;
            Ok((nginx, build::metered(programs, &prepared.filter)?))
        };
        let ((nginx, metered), compiled_faulty) =
            both(of_filter, || build::compiled(programs, &faulty))?;
        Ok(Tested {
            nginx,
            metered,
            prepared,
            envoy_module: modules.envoy,
            debug_modules,
            faulty,
            compiled_faulty,
        })
    }

    fn export(&self, command: &mut Command) {
        self.prepared.export(command);
        self.nginx.export(command);
        command
            .env("SLUICE_METERED_FILTER_CWASM", &self.metered)
            .env("SLUICE_ENVOY_MODULE", &self.envoy_module)
            .env("SLUICE_DEBUG_ENVOY_MODULE", &self.debug_modules.envoy)
            .env("SLUICE_DEBUG_NGINX_MODULE", &self.debug_modules.nginx)
            .env("SLUICE_FAULT_FILTER_WASM", &self.faulty)
            .env("SLUICE_FAULT_FILTER_CWASM", &self.compiled_faulty);
    }
}

/// Does two things at the same time; the first error is that of the whole.
fn both<A, B: Send>(
    one: impl FnOnce() -> Result<A>,
    other: impl FnOnce() -> Result<B> + Send,
) -> Result<(A, B)> {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        let other = other.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((one?, other?))
    })
}

/// `cargo xtask demo`.
pub(crate) fn demo(arguments: &[String]) -> Result<()> {
    if is_for_nginx(arguments) {
        return on_nginx(build::demo, "sluice-demo", arguments);
    }
    let prepared = Prepared::new(build::demo)?;
    become_program(&mut prepared.program("sluice-demo", arguments))
}

/// `cargo xtask cases`.
pub(crate) fn cases(arguments: &[String]) -> Result<()> {
    on_a_data_plane("sluice-cases", arguments)
}

/// `cargo xtask recordings`.
pub(crate) fn recordings(arguments: &[String]) -> Result<()> {
    on_a_data_plane("sluice-recordings", arguments)
}

/// A program that runs Envoy, or nginx with `--data-plane nginx`.
fn on_a_data_plane(name: &str, arguments: &[String]) -> Result<()> {
    if is_for_nginx(arguments) {
        on_nginx(build::programs, name, arguments)
    } else {
        on_envoy(name, arguments)
    }
}

fn on_nginx(
    programs: impl FnOnce() -> Result<PathBuf>,
    name: &str,
    arguments: &[String],
) -> Result<()> {
    let nginx = setup::nginx()?;
    let prepared = Prepared::without_envoy(programs)?;
    let nginx = Nginx::new(nginx)?;
    let mut program = prepared.program(name, arguments);
    nginx.export(&mut program);
    become_program(&mut program)
}

fn on_envoy(name: &str, arguments: &[String]) -> Result<()> {
    let prepared = Prepared::new(build::programs)?;
    let module = build::envoy_module()?;
    become_program(
        prepared
            .program(name, arguments)
            .env("SLUICE_ENVOY_MODULE", module),
    )
}

fn is_for_nginx(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "nginx")
}

/// `cargo xtask bench`: the programs as they are shipped.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    let nginx = setup::nginx()?;
    if measures_peers(arguments) {
        setup::peers()?;
    }
    let prepared = Prepared::new(build::bench)?;
    let nginx = Nginx::new(nginx)?.with_wasm(&prepared)?;
    let mut program = prepared.program("sluice-bench", arguments);
    program.env("SLUICE_ENVOY_MODULE", build::envoy_module()?);
    nginx.export(&mut program);
    become_program(&mut program)
}

/// Without a name all rows are measured. Values of options are numbers, and no names.
fn measures_peers(arguments: &[String]) -> bool {
    let is_name = |argument: &&String| argument.starts_with(|first: char| first.is_alphabetic());
    let mut names = arguments.iter().filter(is_name).peekable();
    names.peek().is_none() || names.any(|name| name.starts_with("peers"))
}

/// `cargo xtask picture`.
pub(crate) fn picture() -> Result<()> {
    on_envoy("sluice-picture", &[])
}

/// `cargo xtask docs`: the test that compares them writes them.
pub(crate) fn docs() -> Result<()> {
    let mut command = cargo();
    command
        .args([
            "test",
            "--quiet",
            "--package",
            "sluice-tests",
            "--test",
            "docs",
        ])
        .env("UPDATE_DOCS", "1");
    become_program(&mut command)
}

/// `cargo xtask test`. Nothing is printed after the runner's own last line.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let (ours, arguments): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|argument| *argument == "--shipped");
    let tested = Tested::prepare(!ours.is_empty())?;
    match env::var("SLUICE_NGX_WASM") {
        Ok(binary) => say(&format!(
            "  managed nginx: Kong's ngx_wasm_module ({binary})"
        )),
        Err(_) => {
            say("  managed nginx: Sluice's module (SLUICE_NGX_WASM names an nginx with Kong's)");
        }
    }
    let mut runner = runner();
    tested.export(&mut runner);
    become_program(runner.args(arguments))
}

/// `cargo xtask lint`: what needs no test.
pub(crate) fn lint() -> Result<()> {
    setup::wasm_target()?;
    // The controller carries the filter, and the module is written against nginx's headers.
    setup::nginx()?;
    build::filter()?;
    lint::all()?;
    deny::all()
}

/// `cargo xtask asan`: the tests that run the module in an nginx.
pub(crate) fn asan(arguments: &[String]) -> Result<()> {
    let binary = setup::nginx()?;
    let prepared = Prepared::new(build::all_programs)?;
    let faults = build::compiled(&prepared.programs, &build::filter_with_faults()?)?;
    let nginx = Nginx {
        binary: asan::nginx(&binary)?,
        module: asan::module()?,
        wasm: None,
    };
    let nginx = nginx.with_wasm(&prepared)?;
    let mut runner = runner();
    prepared.export(&mut runner);
    nginx.export(&mut runner);
    runner
        .env("SLUICE_DEBUG_NGINX_MODULE", &nginx.module)
        .env("SLUICE_FAULT_FILTER_CWASM", &faults)
        .env("SLUICE_FAULT_FILTER_WASM", faults.with_extension("wasm"));
    runner.args(["--test", "nginx"]).args(arguments);
    let status = runner.status().context("start the test runner")?;
    asan::found_nothing()?;
    ensure!(
        status.success(),
        "AddressSanitizer found nothing, but tests failed"
    );
    Ok(())
}

/// cargo-nextest where it is installed: it runs the end-to-end tests of all modules side by side.
fn runner() -> Command {
    let mut runner = cargo();
    if has_nextest() {
        let config = repository().join(".ci/nextest.toml");
        runner
            .args(["nextest", "run", "--workspace", "--config-file"])
            .arg(config);
        if env::var_os(THREADS).is_none() {
            runner.env(THREADS, at_once().to_string());
        }
    } else {
        say("  (cargo-nextest is not installed; `cargo test` does the same, slower)");
        runner.args(["test", "--workspace", "--no-fail-fast"]);
    }
    runner
}

/// Tests wait most of their time, for a data plane that starts or a connection that ends: three at once on two cores leave four tenths
/// of them idle. With six, a machine that does something else, too, misses what some wait for.
fn at_once() -> usize {
    2 * thread::available_parallelism().map_or(1, NonZero::get)
}

fn has_nextest() -> bool {
    cargo()
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Replaces this process, so that Ctrl-C and the exit status are the program's own.
fn become_program(command: &mut Command) -> Result<()> {
    let error = command.exec();
    Err(error).with_context(|| format!("start {}", Path::new(command.get_program()).display()))
}
