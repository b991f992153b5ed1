//! The machine and the date of a measurement.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use sluice_tests::artifacts;

/// This machine today, with its Envoy.
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    memory_gib: f64,
    kernel: String,
    envoy: String,
    date: String,
}

impl Machine {
    pub(crate) fn this() -> Result<Machine> {
        let memory = field("/proc/meminfo", "MemTotal")?;
        let kib: f64 = memory
            .trim_end_matches(" kB")
            .parse()
            .context("MemTotal of /proc/meminfo")?;
        Ok(Machine {
            // Not every architecture's kernel names the model.
            cpu: field("/proc/cpuinfo", "model name")
                .unwrap_or_else(|_| std::env::consts::ARCH.to_owned()),
            cores: available_parallelism()?.get(),
            memory_gib: kib / 1024.0 / 1024.0,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
                .trim()
                .to_owned(),
            envoy: envoy_version()?,
            date: output(Command::new("date").args(["-u", "+%F"]))?,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            cpu,
            cores,
            memory_gib,
            kernel,
            envoy,
            date,
        } = self;
        write!(
            f,
            "{date}: {cpu}, {cores} cores, {memory_gib:.0} GiB, Linux {kernel}, Envoy {envoy}"
        )
    }
}

/// The first line `NAME : value` of a file of /proc.
fn field(file: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| file.to_owned())?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let found = fields
        .find(|(key, _)| key.trim() == name)
        .with_context(|| format!("{name} of {file}"))?;
    Ok(found.1.trim().to_owned())
}

/// From `envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`.
fn envoy_version() -> Result<String> {
    let text = output(Command::new(artifacts::envoy()?).arg("--version"))?;
    let version = text
        .split('/')
        .find(|part| part.starts_with(|first: char| first.is_ascii_digit()) && part.contains('.'));
    Ok(version
        .with_context(|| format!("envoy --version: {text}"))?
        .to_owned())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
