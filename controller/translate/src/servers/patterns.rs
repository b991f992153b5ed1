//! Hosts on which one path is a pattern: then all of them are, as in ingress-nginx.
//!
//! Every path becomes a regular expression that begins where the path begins, whatever case the letters have, and need
//! not reach its end. The longest text is tried first. An exact path is no longer exact.

use std::collections::BTreeSet;

use sluice_ir::{Action, Location, PathMatch, PathRegex, Redirect, RedirectTo, ServerName};

use super::claim::{Claim, HostFacts};
use super::draft::Claimed;
use crate::path::{self, PathType};
use crate::report::Reporter;
use crate::{Report, Severity};

/// The root of such a host.
pub(super) fn everything() -> PathMatch {
    PathMatch::Regex(PathRegex { pattern: "/".to_owned(), groups: 0, alternatives: false })
}

pub(super) fn locations<'a>(
    claims: &'a [Claim],
    name: &ServerName,
    host: HostFacts<'_>,
    reports: &mut Vec<Report>,
) -> Vec<Claimed<'a>> {
    let mut sorted: Vec<&Claim> = claims.iter().collect();
    sorted.sort_by(|a, b| b.path.len().cmp(&a.path.len()).then_with(|| b.path.cmp(&a.path)));
    let mut locations = Vec::new();
    let mut seen = BTreeSet::new();
    for claim in sorted {
        match location(claim, claims, name, host) {
            // What comes second is never reached.
            Ok(location) if seen.insert(location.path.clone()) => locations.push((location, Some(claim))),
            Ok(_) => {}
            Err(reason) => {
                let mut reporter = Reporter::new(claim.owner.clone(), reports);
                reporter.say(Severity::Error, claim.field.clone(), reason, "path not served");
            }
        }
    }
    locations
}

fn location(
    claim: &Claim,
    all: &[Claim],
    name: &ServerName,
    host: HostFacts<'_>,
) -> Result<Location, String> {
    let regex = regex(claim, all)?;
    let groups = regex.groups;
    let mut location = claim.location(name, PathMatch::Regex(regex), &host);
    let Some(target) = &claim.annotations.paths.rewrite else { return Ok(location) };
    if !claim.annotations.paths.rewrites(&claim.path) || !matches!(claim.lead.action, Action::Forward(_)) {
        return Ok(location);
    }
    if target.is_url() {
        let wrong = "expected a rewrite-target whose host is written out, got one with a group in it";
        let (scheme, authority, path) = target.as_url().ok_or(wrong)?;
        let (host, port) = host_and_port(&authority).ok_or(wrong)?;
        let to = RedirectTo::Rewritten { scheme, host, port, path: path.with_groups(groups) };
        location.action = Action::Redirect(Redirect { status: 302, to });
        location.https = None;
    } else {
        location.rewrite = Some(target.with_groups(groups));
    }
    Ok(location)
}

fn regex(claim: &Claim, all: &[Claim]) -> Result<PathRegex, String> {
    let is_pattern = claim.is_pattern();
    let mut pattern = claim.path.clone();
    // A prefix has an exact twin, unless somebody else has that path; as a pattern the twin takes what both take.
    let has_twin = all.iter().any(|other| other.kind == PathType::Exact && other.path == claim.path);
    if claim.kind == PathType::Prefix && !is_pattern && has_twin && !pattern.ends_with('/') {
        pattern.push('/');
    }
    match path::pattern(&pattern) {
        Ok(shape) => Ok(PathRegex { pattern, groups: shape.groups, alternatives: shape.alternatives }),
        // It was not meant to be a pattern, and another Ingress has made it one.
        Err(_) if !is_pattern && path::literal(&claim.path).is_ok() => {
            Ok(PathRegex { pattern: regex_syntax::escape(&pattern), groups: 0, alternatives: false })
        }
        Err(reason) => Err(reason),
    }
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (authority, None),
    };
    sluice_ir::Hostname::parse(host).ok().map(|host| (host.as_str().to_owned(), port))
}
