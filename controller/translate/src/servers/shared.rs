//! Hosts on which several namespaces have paths (R12 of the security rules).
//!
//! In ingress-nginx one pattern makes every path of its host a pattern. Here it makes those of its namespace patterns, and what
//! others wrote goes on meaning what they wrote: each namespace's paths become routes as if it were alone, and `precedence.rs`
//! says in which order all of them are tried. Where no path is a pattern, a longer path comes before a shorter one, whoever has
//! it, as in ingress-nginx; of the same path, and of a default backend and the path `/`, the older namespace keeps all that it
//! takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{PathMatch, ReasonCode, ServerName};
use sluice_syntax::path::PathType;
use sluice_translate_engine::{ObjectRef, Report, Reporter, Severity};

use super::host_ownership::Tenants;
use super::path_rule::{HostContext, Origin, PathRule, RuleRoute, belongs_to};
use super::precedence;
use super::server_builder::{ServerBuilder, routes_of_namespace};
use super::server_snippet::NamespaceSnippet;
use super::snippet_locations;

impl ServerBuilder {
    /// Leaves out paths that take nothing but what an older namespace's paths take as well.
    pub(super) fn yield_to_older(&mut self, name: &ServerName, reports: &mut Vec<Report>) {
        if !self.tenants.are_shared() {
            return;
        }
        let age = |rule: &PathRule| self.tenants.namespace_rank(&rule.owner.key.namespace);
        let mut out = BTreeSet::new();
        let mut leave = |rule: &PathRule, to: &PathRule| {
            let reason = format!(
                "path already claimed by {}, whose namespace named host {name} first",
                to.owner
            );
            not_used(rule, reason, reports);
            out.insert((rule.path.clone(), rule.kind));
        };
        // Among patterns an exact path is one of them, and takes more.
        let patterns: BTreeSet<usize> = self
            .paths
            .iter()
            .filter(|rule| rule.is_pattern())
            .map(age)
            .collect();
        let twins = self
            .paths
            .twins()
            .filter(|(exact, prefix)| age(prefix) < age(exact));
        let literal = twins.filter(|(exact, _)| !patterns.contains(&age(exact)));
        literal.for_each(|(exact, prefix)| leave(exact, prefix));
        let root = self.paths.rule("/", PathType::Prefix);
        if let (Some(default), Some(root)) = (&self.default, root)
            && age(default) < age(root)
        {
            leave(root, default);
        }
        if !out.is_empty() {
            let taken = std::mem::take(&mut self.paths);
            self.paths = taken.without(|rule| out.contains(&(rule.path.clone(), rule.kind)));
        }
    }
}

/// The routes of a host with patterns on it, in the order in which they are tried.
pub(super) fn routes<'a>(
    (rules, snippets): (&'a [PathRule], &'a BTreeMap<Arc<str>, NamespaceSnippet>),
    (name, host): (&ServerName, HostContext<'_>),
    tenants: &Tenants,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let mut by_age: BTreeMap<usize, Vec<&PathRule>> = BTreeMap::new();
    for rule in rules {
        by_age
            .entry(tenants.namespace_rank(&rule.owner.key.namespace))
            .or_default()
            .push(rule);
    }
    if rules.iter().any(PathRule::is_pattern) {
        report_differences(&by_age, name, tenants, reports);
    }
    let literal = by_age
        .values()
        .filter(|rules| !rules.iter().any(|rule| rule.is_pattern()));
    let written: BTreeSet<&str> = literal.flatten().map(|rule| rule.path.as_str()).collect();
    let mut parts: Vec<Vec<RuleRoute<'a>>> = by_age
        .values()
        .map(|rules| {
            let namespace = rules.first().map(|rule| &rule.owner.key.namespace);
            let snippet = namespace.and_then(|namespace| snippets.get(namespace));
            let mut part = routes_of_namespace(rules, snippet, (name, host), reports);
            // Another Ingress has the bare form.
            part.retain(|(route, rule)| {
                rule.is_some() || !written.contains(route.matches.path.text())
            });
            if !snippet.is_some_and(NamespaceSnippet::has_locations) {
                // Which comes to the same, and is the order of all.
                part.sort_by_key(|(route, _)| match &route.matches.path {
                    PathMatch::Exact(path) => (usize::MAX - path.len(), false),
                    PathMatch::Prefix(path) => (usize::MAX - path.len(), true),
                    PathMatch::Regex(_) => (0, false),
                });
            }
            part
        })
        .collect();
    yield_locations_to_older(&mut parts, reports);
    let paths: Vec<Vec<&PathMatch>> = parts
        .iter()
        .map(|part| part.iter().map(|(route, _)| &route.matches.path).collect())
        .collect();
    let order = precedence::merged(&paths);
    let mut parts: Vec<Vec<Option<RuleRoute<'a>>>> = parts
        .into_iter()
        .map(|part| part.into_iter().map(Some).collect())
        .collect();
    let sorted = order
        .into_iter()
        .filter_map(|(part, place)| parts.get_mut(part)?.get_mut(place)?.take());
    without_seconds(sorted, reports)
}

/// Leaves out locations of snippets that take nothing but what an older namespace's path takes: nginx would find them first, wherever
/// they stand.
fn yield_locations_to_older(parts: &mut [Vec<RuleRoute<'_>>], reports: &mut Vec<Report>) {
    let bare = |path: &str| path.trim_end_matches('/').to_owned();
    let mut older: BTreeMap<String, ObjectRef> = BTreeMap::new();
    for part in parts {
        part.retain(|(route, rule)| {
            let taken = rule.and_then(|rule| {
                let path = snippet_locations::literal(route, rule)?;
                Some((rule, older.get(&bare(path))?))
            });
            if let Some((rule, owner)) = taken {
                claimed(rule, owner, reports);
            }
            taken.is_none()
        });
        for (route, rule) in part {
            if let (PathMatch::Prefix(path), Some(rule)) = (&route.matches.path, rule) {
                let owner = || rule.owner.clone();
                older.entry(bare(path)).or_insert_with(owner);
            }
        }
    }
}

fn claimed(rule: &PathRule, owner: &ObjectRef, reports: &mut Vec<Report>) {
    let reason = format!("path already claimed by {owner}, which matches the same requests");
    not_used(rule, reason, reports);
}

fn not_used(rule: &PathRule, reason: String, reports: &mut Vec<Report>) {
    if rule.origin == Origin::ConfigMap {
        return;
    }
    let mut reporter = Reporter::new(rule.owner.clone(), reports);
    reporter.report(
        ReasonCode::Conflicted,
        Severity::Warning,
        rule.field.clone(),
        reason,
        "path not used",
    );
}

/// The second of two is never reached.
fn without_seconds<'a>(
    routes: impl Iterator<Item = RuleRoute<'a>>,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let mut first: BTreeMap<PathMatch, Option<&ObjectRef>> = BTreeMap::new();
    let mut kept = Vec::new();
    for (route, rule) in routes {
        match (first.get(&route.matches.path), rule) {
            (None, _) => {
                first.insert(route.matches.path.clone(), rule.map(|rule| &rule.owner));
                kept.push((route, rule));
            }
            (Some(Some(owner)), Some(rule)) => claimed(rule, owner, reports),
            (Some(_), _) => {}
        }
    }
    kept
}

/// Tells the newer namespaces what is not as in ingress-nginx, each Ingress once.
fn report_differences(
    by_age: &BTreeMap<usize, Vec<&PathRule>>,
    name: &ServerName,
    tenants: &Tenants,
    reports: &mut Vec<Report>,
) {
    for rules in by_age.values().skip(1) {
        let are_patterns = rules.iter().any(|rule| rule.is_pattern());
        let mut told: BTreeSet<&ObjectRef> = BTreeSet::new();
        for rule in rules {
            if are_patterns && !rule.is_pattern() || !told.insert(&rule.owner) {
                continue;
            }
            let owner = tenants.owner();
            let reason = belongs_to(name, owner);
            let (field, consequence) = if are_patterns {
                let of_own = "patterns hold for the paths of its own namespace only, after paths of older ones that are as \
                              long as what the pattern begins with";
                (rule.annotations.paths.annotation(), of_own)
            } else {
                (
                    rule.field.as_str(),
                    "patterns of other namespaces on this host do not make its paths patterns",
                )
            };
            Reporter::new(rule.owner.clone(), reports).report(
                ReasonCode::Conflicted,
                Severity::Warning,
                field,
                reason,
                consequence,
            );
        }
    }
}
