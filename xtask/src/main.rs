//! Set-up and tasks of the repository: `cargo xtask help`.
//!
//! Every task prepares what it needs on a machine that has nothing but Rust, and is quick when all is there. The
//! tasks have no logic of their own: what they run lives in `tests/`.

mod arch;
mod archive;
mod asan;
mod build;
mod compiled;
mod deny;
mod digest;
mod files;
mod fuzz;
mod image;
mod install;
mod lint;
mod made;
mod notes;
mod plugin;
mod run;
mod setup;
mod site;
mod step;
mod work_dir;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask <task>

  demo [--data-plane nginx] [--check] [--http-port N]
                                   Envoy (or nginx), the controller and a few pods on this machine; watch traffic
                                   follow a change. --check: once, without waiting for Ctrl-C
  install [--root DIR] [--data-plane nginx] [--debug]
                                   sluice, its Envoy (or nginx) and completions, in ~/.local or DIR. --debug: quicker to
                                   build, slower to run
  image [controller|envoy|nginx]... [--arch amd64|arm64] [--output DIR] [--debug]
                                   container images as OCI archives, with bill of materials, licences and symbols, in
                                   target/images/ARCH or DIR. --debug: of programs that are quicker to build
  plugin --url URL [--output DIR] [--arch amd64|arm64]... [--program amd64|arm64=PATH]...
                                   kubectl sluice for krew: archives, and the manifest for where they are published. --arch: for
                                   this one instead of both. --program: pack this one instead of building it
  test [--shipped] [ARGS]          all tests; ARGS go to the test runner (a name to filter by).
                                   --shipped: with release builds of the modules, which take longer
  cases FILE [--only ID] [--area AREA] [--data-plane nginx]
                                   plays a file of acceptance cases; fails when one of them does
  recordings FILE [--only ID] [--data-plane nginx] [--write]
                                   plays what a running ingress-nginx answered; says what differs
  bench [NAME...] [--write]        measurements: all, or the rows that are called or begin so.
                                   --write: also the table in docs/benchmarks.md. More: bench --help
  picture                          draw how requests spread, from real runs, into docs/pictures
  lint                             format, clippy, documentation and dependencies, without tests
  deny                             licences and sources of dependencies (.ci/deny.toml), and advisories where their
                                   database can be fetched
  fuzz [TARGET...] [--seconds N]   libFuzzer on parsers of outside bytes (tests/libfuzzer), 40 s each
  asan [ARGS]                      the tests of the nginx module with AddressSanitizer in it; ARGS go to the test runner
  docs                             write the pages of docs/ that come from the code
  site                             the documentation as a site, in target/site; fails on a link that leads nowhere
  notes VERSION                    what CHANGELOG.md says of a version, for the page of its release
  setup                            only fetch what the other tasks need

cargo xtask <task> --help          what it does
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (task, arguments) = arguments
        .split_first()
        .map_or(("help", &[][..]), |(task, rest)| (task, rest));
    match start(task, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            step::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(task: &str, arguments: &[String]) -> Result<()> {
    // The program of `bench` has more to say.
    let asks = |argument: &String| argument == "--help" || argument == "-h";
    if task != "bench"
        && arguments.iter().any(asks)
        && let Some(help) = help_of(task)
    {
        step::say(&help);
        return Ok(());
    }
    match task {
        "demo" => run::demo(arguments),
        "test" => run::test(arguments),
        "cases" => run::cases(arguments),
        "recordings" => run::recordings(arguments),
        "bench" => run::bench(arguments),
        "picture" => run::picture(),
        "docs" => run::docs(),
        "lint" => run::lint(),
        "deny" => deny::all(),
        "fuzz" => fuzz::fuzz(arguments),
        "asan" => run::asan(arguments),
        "image" => image::image(arguments),
        "install" => install::install(arguments),
        "plugin" => plugin::plugin(arguments),
        "notes" => notes::notes(arguments),
        "site" => site::site(),
        "setup" => setup::all(),
        "help" | "--help" | "-h" => {
            step::say(HELP);
            Ok(())
        }
        other => bail!("there is no task {other:?}\n\n{HELP}"),
    }
}

/// The lines of a task.
fn help_of(task: &str) -> Option<String> {
    let begins = |line: &str, name: &str| {
        line.strip_prefix("  ")
            .is_some_and(|rest| rest.split(' ').next() == Some(name))
    };
    let mut lines = HELP.lines().skip_while(|line| !begins(line, task));
    let first = lines.next()?;
    let more = lines.take_while(|line| line.starts_with("      "));
    let lines: Vec<&str> = std::iter::once(first).chain(more).collect();
    Some(lines.join("\n"))
}

/// The root of the repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's target folder.
fn target() -> PathBuf {
    repository().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_a_task_is_its_lines_and_no_others() {
        let help = help_of("demo").unwrap();
        assert!(
            help.starts_with("  demo ") && help.ends_with("Ctrl-C"),
            "{help}"
        );
        assert!(help_of("test").unwrap().contains("--shipped"));
        assert_eq!(help_of("nonsense"), None);
    }

    #[test]
    fn help_of_a_task_begins_none() {
        let help = ["--help".to_owned()];
        for line in HELP.lines() {
            let task = line
                .strip_prefix("  ")
                .and_then(|rest| rest.split(' ').next());
            if let Some(task) = task.filter(|task| !task.is_empty() && *task != "bench") {
                start(task, &help).unwrap();
            }
        }
    }
}
