//! `server-snippet` of a namespace on a host.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{Action, DirectResponse, IpAccess, ReasonCode, ServerName};
use sluice_translate_engine::{Kind, ObjectKey, ObjectRef, Report};

use super::Assembly;
use super::path_rule::{HostContext, IngressContext, PathRule, RuleRoute, already_set};
use super::snippet_locations::{self, LocationRule};
use super::snippet_rewrites;
use crate::global::Globals;
use crate::snippet::{ServerRewrite, ServerSnippet, access_size, header_size};

pub(super) const FIELD: &str = "annotation server-snippet";
/// Namespace of routes without an Ingress. No object has it.
const NOBODY: &str = "";

/// A snippet, and the Ingress that it is from.
#[derive(Clone, Debug)]
pub(super) struct NamespaceSnippet {
    owner: ObjectRef,
    pub(super) snippet: Arc<ServerSnippet>,
    locations: Vec<LocationRule>,
}

impl Assembly<'_> {
    /// The first of a namespace decides, as in ingress-nginx, where it is that of the host.
    pub(super) fn apply_server_snippet(&mut self, name: &ServerName, context: &IngressContext) {
        let Some(snippet) = &context.annotations.host.snippet else {
            return;
        };
        let builder = self.builders.entry(name.clone()).or_default();
        let namespace = context.object.key.namespace.clone();
        let first = builder
            .snippets
            .entry(namespace)
            .or_insert_with(|| NamespaceSnippet::new(snippet, &context.object));
        if first.snippet != *snippet {
            let reason = already_set("server-snippet", name, &first.owner);
            self.report(&context.object).warn_unchanged(
                ReasonCode::Conflicted,
                FIELD,
                reason,
                "not used for this host",
            );
        }
    }
}

/// The snippet that the routes of each namespace inherit from. `operators`: [`NamespaceSnippet::of_nobody`].
pub(super) fn inherited<'a>(
    snippets: &'a BTreeMap<Arc<str>, NamespaceSnippet>,
    operators: Option<&'a NamespaceSnippet>,
) -> BTreeMap<&'a str, Arc<ServerSnippet>> {
    let all = snippets.iter();
    let all = all.map(|(namespace, it)| (&**namespace, it));
    let operators = operators.map(|it| (NOBODY, it));
    all.chain(operators)
        .map(|(namespace, it)| (namespace, Arc::clone(&it.snippet)))
        .collect()
}

/// The snippets of all namespaces on a host, with that of the ConfigMap behind each. `rules`: paths of the host. A namespace whose paths
/// are all closed has none: it would cost as much as if they were open.
pub(super) fn with_configmap_snippet(
    mut snippets: BTreeMap<Arc<str>, NamespaceSnippet>,
    globals: &Globals,
    rules: &[&PathRule],
) -> BTreeMap<Arc<str>, NamespaceSnippet> {
    let Some(operators) = &globals.server_snippet else {
        return snippets;
    };
    let (closed, open): (Vec<&PathRule>, Vec<&PathRule>) = rules
        .iter()
        .copied()
        .partition(|rule| rule.target.action == Action::Denied);
    let has = |rules: &[&PathRule], namespace: &str| {
        let mut rules = rules.iter();
        rules.any(|rule| &*rule.owner.key.namespace == namespace)
    };
    snippets.retain(|namespace, _| has(&open, namespace) || !has(&closed, namespace));
    for it in snippets.values_mut() {
        it.follow(operators);
    }
    for owner in open.into_iter().map(|rule| &rule.owner) {
        if !snippets.contains_key(&owner.key.namespace) {
            let namespace = owner.key.namespace.clone();
            let mut snippet = NamespaceSnippet::new(&Arc::default(), owner);
            snippet.follow(operators);
            snippets.insert(namespace, snippet);
        }
    }
    snippets
}

impl NamespaceSnippet {
    /// The ConfigMap's alone, for routes without an Ingress.
    pub(super) fn of_nobody(globals: &Globals) -> Option<Self> {
        let operators = globals.server_snippet.as_ref()?;
        let nobody = ObjectRef {
            kind: Kind::ConfigMap,
            key: ObjectKey::new(NOBODY, ""),
        };
        let mut snippet = NamespaceSnippet::new(&Arc::default(), &nobody);
        snippet.follow(operators);
        Some(snippet)
    }

    fn follow(&mut self, operators: &Arc<ServerSnippet>) {
        self.snippet = match *self.snippet == ServerSnippet::default() {
            true => Arc::clone(operators),
            false => Arc::new(self.snippet.followed_by(operators)),
        };
        self.locations.retain(|own| !own.is_replaced_by(operators));
        let added = operators.locations.iter();
        let rules = added.map(|location| LocationRule::of_operator(location, &self.owner));
        self.locations.extend(rules);
    }

    fn new(snippet: &Arc<ServerSnippet>, owner: &ObjectRef) -> Self {
        let locations = snippet.locations.iter();
        NamespaceSnippet {
            owner: owner.clone(),
            snippet: Arc::clone(snippet),
            locations: locations
                .map(|location| LocationRule::new(location, owner))
                .collect(),
        }
    }

    pub(super) fn locations(&self) -> &[LocationRule] {
        &self.locations
    }

    pub(super) fn locations_mut(&mut self) -> &mut [LocationRule] {
        &mut self.locations
    }

    pub(super) fn owner(&self) -> &ObjectRef {
        &self.owner
    }

    /// True if it may keep somebody out.
    pub(super) fn guards(&self) -> bool {
        let snippet = &self.snippet;
        !snippet.direct_responses.is_empty()
            || snippet.access != IpAccess::default()
            || self.has_locations()
    }

    /// True if it has a `rewrite`.
    pub(super) fn rewrites(&self) -> bool {
        snippet_rewrites::rewrite(&self.snippet.direct_responses)
    }

    /// Its responses and their conditions, and its lists of networks, which every path has.
    pub(super) fn size(&self) -> usize {
        let ServerSnippet {
            direct_responses,
            access,
            filters,
            ..
        } = self.snippet.as_ref();
        let responses: usize = direct_responses.iter().map(DirectResponse::size).sum();
        responses + access_size(access) + header_size(filters)
    }

    /// Rewrites to other paths.
    pub(super) fn path_rewrites(&self) -> &[ServerRewrite] {
        &self.snippet.rewrites
    }

    /// True if the ConfigMap has responses behind its own.
    pub(super) fn has_responses_of_operator(&self) -> bool {
        let mut responses = self.snippet.direct_responses.iter();
        responses.any(|response| response.of_operator)
    }

    /// The same of its locations, which every host has once.
    pub(super) fn size_of_locations(&self) -> usize {
        let locations = self.snippet.locations.iter();
        // Each changed path is a route with all of them.
        let rewrites = self.path_rewrites().len() * (1 + self.size());
        let own = locations.map(|location| {
            let changes = location
                .proxy
                .as_ref()
                .map_or(0, |it| it.path_changes.len());
            let responses = location.direct_responses.iter().map(DirectResponse::size);
            changes + (1 + changes) * responses.sum::<usize>()
        });
        self.locations.len() + rewrites + own.sum::<usize>()
    }

    pub(super) fn has_locations(&self) -> bool {
        !self.locations.is_empty()
    }

    /// The routes of its namespace, with its locations among them.
    pub(super) fn with_locations<'a>(
        &'a self,
        routes: Vec<RuleRoute<'a>>,
        name: &ServerName,
        host: &HostContext<'_>,
        reports: &mut Vec<Report>,
    ) -> Vec<RuleRoute<'a>> {
        snippet_locations::among(routes, &self.locations, (name, host), reports)
    }
}
