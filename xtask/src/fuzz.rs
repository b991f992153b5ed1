//! `cargo xtask fuzz`: the targets of `tests/libfuzzer`, each for a while.
//!
//! Without cargo-fuzz, and on the toolchain of everything else: what libFuzzer needs of the compiler is a pass of LLVM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::build::cargo;
use crate::step::{Step, say};
use crate::{repository, target};

/// Of each target.
const SECONDS: u64 = 40;
/// Side by side.
const AT_ONCE: usize = 2;

/// Counters for each edge, their places, and the operands of comparisons.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Targets to play, and for how long.
struct Plan {
    targets: Vec<String>,
    seconds: u64,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Plan> {
        let mut plan = Plan {
            targets: Vec::new(),
            seconds: SECONDS,
        };
        let known = all()?;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seconds" => {
                    plan.seconds = arguments
                        .next()
                        .context("--seconds needs a number")?
                        .parse()?;
                }
                name if known.iter().any(|known| known == name) => {
                    plan.targets.push(name.to_owned());
                }
                other => bail!(
                    "there is no target {other:?}; there are {}",
                    known.join(", ")
                ),
            }
        }
        if plan.targets.is_empty() {
            plan.targets = known;
        }
        Ok(plan)
    }
}

/// `cargo xtask fuzz [TARGET...] [--seconds N]`.
pub(crate) fn fuzz(arguments: &[String]) -> Result<()> {
    run(&Plan::parse(arguments)?)
}

/// Builds and runs them; what one finds is kept, and fails.
fn run(plan: &Plan) -> Result<()> {
    let programs = build(&plan.targets)?;
    for some in plan.targets.chunks(AT_ONCE) {
        let step = Step::start(&format!("fuzz {}, {} s", some.join(", "), plan.seconds));
        let running = some
            .iter()
            .map(|name| Ok((name, start(&programs, name, plan.seconds)?)));
        let running: Vec<(&String, Child)> = running.collect::<Result<_>>()?;
        for (name, child) in running {
            let output = child.wait_with_output().with_context(|| name.clone())?;
            let text = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                text.lines()
                    .rev()
                    .take(60)
                    .collect::<Vec<_>>()
                    .iter()
                    .rev()
                    .for_each(|line| say(line));
                bail!(
                    "fuzz target {name} failed; its input is in {}: mend, and keep it in {}",
                    folder("artifacts", name).display(),
                    seeds(name).display()
                );
            }
        }
        step.done();
    }
    Ok(())
}

fn home() -> PathBuf {
    repository().join("tests/libfuzzer")
}

fn seeds(name: &str) -> PathBuf {
    home().join("seeds").join(name)
}

/// Folder of a target's finds, in the build folder.
fn folder(kind: &str, name: &str) -> PathBuf {
    target().join("libfuzzer").join(kind).join(name)
}

/// The names of all targets, sorted.
fn all() -> Result<Vec<String>> {
    let folder = home().join("targets");
    let files = fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .flatten();
    // A target of several files has a folder of its name beside it.
    let targets = files.map(|file| file.path()).filter(|path| path.is_file());
    let names = targets.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    ensure!(!names.is_empty(), "no targets in {}", folder.display());
    Ok(names)
}

/// Builds them; where they are.
fn build(targets: &[String]) -> Result<PathBuf> {
    let (mut step, triple, folder) = (
        Step::start("fuzz targets"),
        host()?,
        target().join("libfuzzer"),
    );
    let mut command = cargo();
    command
        .args(["build", "--locked", "--release", "--manifest-path"])
        .arg(home().join("Cargo.toml"));
    // With a target, what only runs while it compiles is left as it is.
    command
        .args(["--target", &triple, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", INSTRUMENTATION);
    targets.iter().for_each(|name| {
        command.args(["--bin", name]);
    });
    step.run(&mut command)?;
    step.done();
    Ok(folder.join(triple).join("release"))
}

pub(crate) fn host() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("rustc -vV")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc says no host")
}

/// New inputs go into the build folder: seeds are chosen by hand.
fn start(programs: &Path, name: &str, seconds: u64) -> Result<Child> {
    let (corpus, artifacts) = (folder("corpus", name), folder("artifacts", name));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(programs.join(name));
    command
        .arg(&corpus)
        .arg(seeds(name))
        .arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={seconds}"));
    // Of one input: seconds, megabytes, bytes.
    command.args([
        "-timeout=30",
        "-rss_limit_mb=1024",
        "-max_len=16384",
        "-verbosity=1",
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().with_context(|| format!("start {name}"))
}
