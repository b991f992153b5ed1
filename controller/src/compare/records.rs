//! Requests to send: of Ingresses, an access log, or a HAR file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use sluice_compare::{LogFormat, Plan, Selection, Site, read_har, read_line, reasons};

use crate::args::Compare;

/// Bytes of a HAR file.
const LARGEST_HAR: u64 = 256 << 20;
/// Bytes of a line of a log.
const LONGEST_LINE: u64 = 64 << 10;

/// Requests, and what is left out.
pub(super) fn plan(
    args: &Compare,
    site: Option<&Site<'_>>,
    selection: &Selection,
) -> anyhow::Result<Plan> {
    let requests = &args.requests;
    let mut plan = Plan::default();
    if let Some(path) = &requests.har {
        let text = har(path)?;
        let recorded =
            read_har(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        for request in recorded {
            plan.add_recorded(site, request.ok_or(reasons::UNREADABLE), selection);
        }
    } else if let Some(path) = &requests.access_log {
        let formats = match &requests.log_format {
            Some(format) => vec![format.clone()],
            None => LogFormat::usual(),
        };
        lines(path, |line| {
            plan.add_recorded(site, read_line(line, &formats), selection);
        })?;
    } else if let Some(site) = site {
        plan.add_ingresses(site, selection);
        return Ok(plan);
    }
    if let Some(site) = site
        && selection.hosts.is_empty()
    {
        plan.expect_ingresses(site);
    }
    Ok(plan)
}

fn har(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let mut text = String::new();
    let mut file = File::open(path).with_context(name)?.take(LARGEST_HAR + 1);
    file.read_to_string(&mut text).with_context(name)?;
    if text.len() as u64 > LARGEST_HAR {
        bail!("{}: expected at most {} MiB", name(), LARGEST_HAR >> 20);
    }
    Ok(text)
}

/// Each line of a log that is not empty; of a longer one than any request is, the beginning.
fn lines(path: &Path, mut take: impl FnMut(&str)) -> anyhow::Result<()> {
    let name = || path.display().to_string();
    let mut log: Box<dyn BufRead> = match path.as_os_str() == OsStr::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).with_context(name)?)),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let limited = log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if limited.with_context(name)? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") {
            log.skip_until(b'\n').with_context(name)?;
        }
        if !line.trim_ascii().is_empty() {
            take(&String::from_utf8_lossy(&line));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let longest = usize::try_from(LONGEST_LINE).unwrap();
        let text = format!(
            "a\n\n{}\n{}\nb",
            "x".repeat(longest * 2),
            "y".repeat(longest - 1)
        );
        fs::write(&path, text).unwrap();
        let mut lengths = Vec::new();
        lines(&path, |line| lengths.push(line.trim_end().len())).unwrap();
        assert_eq!(lengths, [1, longest, longest - 1, 1]);
    }
}
