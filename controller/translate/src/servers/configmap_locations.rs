//! A `location` of the ConfigMap's `server-snippet`, and one of an Ingress with the same text: nginx would not load both, so nobody has
//! counted on either of them yet. The ConfigMap's holds, and the Ingress is told.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{PathMatch, ReasonCode};
use sluice_syntax::path::PathType;
use sluice_syntax::shortened;
use sluice_translate_engine::{ObjectRef, Severity};

use super::Assembly;
use super::path_rule::PathRule;
use super::server_snippet::FIELD;
use super::snippet_locations::nginx_text;
use crate::snippet::{LocationPath, ServerSnippet};

/// Part of a path that a location of the ConfigMap takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Taken {
    All,
    /// Requests to the path, and none below it.
    Itself,
}

impl Assembly<'_> {
    pub(super) fn report_locations_of_configmap(&mut self) {
        let Some(of_configmap) = &self.globals.server_snippet else {
            return;
        };
        let mut locations = BTreeSet::new();
        let mut paths = BTreeMap::new();
        for builder in self.builders.values() {
            for snippet in builder.snippets.values() {
                let replaced = snippet.locations().iter();
                let replaced = replaced.filter(|location| location.is_replaced_by(of_configmap));
                let owner = snippet.owner();
                locations.extend(replaced.map(|it| (owner.clone(), it.text().to_owned())));
            }
            // Paths of a namespace with a pattern among them are patterns.
            let all = || builder.paths.iter().chain(&builder.default);
            let patterns = all().filter(|rule| rule.is_pattern());
            let patterns: BTreeSet<&str> = patterns.map(namespace).collect();
            for rule in all().filter(|rule| !patterns.contains(namespace(rule))) {
                if let Some((location, taken)) = location_of(rule, of_configmap) {
                    let place = (rule.owner.clone(), rule.field.clone());
                    paths.insert(place, (location.written(), taken));
                }
            }
        }
        self.report_locations(locations);
        self.report_paths(paths);
    }

    fn report_locations(&mut self, found: BTreeSet<(ObjectRef, String)>) {
        let name = self.globals.server_snippet_name();
        for (owner, text) in found {
            let text = shortened(&text);
            self.report(&owner).report(
                ReasonCode::Conflicted,
                Severity::Warning,
                FIELD,
                format!("location {text:?} is one of {name}, too"),
                "that one holds, this location is not used; take it out, or write another path",
            );
        }
    }

    fn report_paths(&mut self, found: BTreeMap<(ObjectRef, String), (String, Taken)>) {
        let name = self.globals.server_snippet_name();
        for ((owner, field), (location, taken)) in found {
            let location = shortened(&location);
            let consequence = match taken {
                Taken::All => {
                    "that one answers, this path is not used; take it out, or write another path"
                }
                Taken::Itself => {
                    "that one answers requests to this path, those below it are served; write another path"
                }
            };
            self.report(&owner).report(
                ReasonCode::Conflicted,
                Severity::Warning,
                field,
                format!("{name} has a location with the same text ({location:?})"),
                consequence,
            );
        }
    }
}

fn namespace(rule: &PathRule) -> &str {
    &rule.owner.key.namespace
}

/// The location with the text of one that ingress-nginx would write for a path.
fn location_of<'a>(
    rule: &PathRule,
    of_configmap: &'a ServerSnippet,
) -> Option<(&'a LocationPath, Taken)> {
    let path = match rule.kind {
        PathType::Exact => PathMatch::Exact(rule.path.clone()),
        PathType::Prefix => PathMatch::Prefix(rule.path.clone()),
    };
    let prefix = nginx_text(&path);
    let is_twin = rule.kind == PathType::Prefix;
    let locations = of_configmap.locations.iter().map(|it| &it.path);
    let taken = locations.filter_map(|location| {
        let taken = match location {
            LocationPath::Exact(text) if *text == rule.path && is_twin => {
                // `/x/` has none for `/x/` alone.
                (!text.ends_with('/')).then_some(Taken::Itself)
            }
            LocationPath::Exact(text) => (*text == rule.path).then_some(Taken::All),
            location => {
                let is_same = prefix.is_some() && location.prefix() == prefix.as_deref();
                is_same.then_some(Taken::All)
            }
        };
        Some((location, taken?))
    });
    taken.min_by_key(|(_, taken)| *taken)
}
