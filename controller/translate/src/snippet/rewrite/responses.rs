//! `set`, `if`, `return` and `rewrite` as direct responses.
//!
//! nginx runs these directives one after the other, before access control. Here all ways through them are followed at once: each
//! branch has the conditions of the requests on it, and the values of the snippet's own variables. A `return` ends its branches, each
//! with a response.

mod branch_values;
mod path_changes;
mod redirects;
mod refusals;
mod returns;
mod variants;

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{
    Condition, DirectResponse, Filter, HeaderVariant, Hostname, RequestTest, ResponseContent,
};

use self::refusals::variable_name;
use super::branch::{Branch, on_ways};
use super::captures::{self, Captures};
use super::comparable::Comparable;
use super::conditions::{self, If};
use super::constants::Constants;
use super::host_groups::HostGroups;
use super::media_type::MediaTypes;
use super::options::RewriteOptions;
use super::rewrites::{self, PathChange, ServerRewrite};
use super::set_variables::SetVariables;
use super::shared_variables::SharedVariables;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::headers::block_headers::{self, BlockHeaders};
use crate::snippet::headers::changes::HeaderOptions;
use crate::snippet::headers::variants::{ReplacedForAll, Variant, is_headers};
use crate::snippet::locations::LocationPath;
use crate::snippet::syntax::tree::Directive;
use crate::support::DataPlane;

/// Ways through one snippet.
const MAX_BRANCHES: usize = 16;
const WAYS: &str = "ways through its conditions";
/// Responses of one snippet.
pub(crate) const MAX_RESPONSES: usize = 32;
/// Conditions of one response.
pub(crate) const MAX_CONDITIONS: usize = 8;
/// `set`, `if`, `return` and `rewrite` of one snippet: each costs a copy of every way so far.
pub(crate) const MAX_DIRECTIVES: usize = 200;
/// Variables of one snippet.
const MAX_VARIABLES: usize = 16;
/// The ConfigMap does not know the patterns of paths that it would meet.
pub(in crate::snippet) const ONLY_OF_INGRESSES: &str =
    "rewrite is supported only in snippets of an Ingress; use return in if ($uri ~ PATTERN)";
/// nginx closes the connection.
pub(in crate::snippet) const NO_RESPONSE: u16 = 444;
/// Status where a group or a variable is not known.
const CLOSED: u16 = 503;

/// Responses of a snippet, in the making.
pub(in crate::snippet) struct Responses<'a> {
    media_types: MediaTypes<'a>,
    comparable: Comparable,
    header_options: HeaderOptions<'a>,
    /// Groups of the location, or of the condition whose block is read, where no pattern was compared since.
    captures: Option<Captures>,
    /// The same of a condition on the host.
    host_groups: Option<HostGroups>,
    /// All hosts, where they are known.
    hosts: Option<&'a [Hostname]>,
    /// Headers of the block that is read.
    headers: Option<BlockHeaders>,
    /// Those of the responses that have their own.
    own_headers: Vec<(usize, BlockHeaders)>,
    /// The condition compares the host, and not all hosts are known.
    lacks_hosts: bool,
    /// It is for the servers of all Ingresses.
    of_all_servers: bool,
    /// Responses are the ConfigMap's.
    of_operator: bool,
    /// Variables that were set so far, on whatever branch, and the lines where they were first.
    set_variables: BTreeMap<String, usize>,
    /// Those that every branch begins with.
    constants: Option<&'a SetVariables>,
    /// Those that a condition or a response has read.
    asked: BTreeSet<String>,
    /// Variables without a value may be read: nothing that runs before can have set them, or another check asks whether it has.
    pub(in crate::snippet) reads_unset: bool,
    /// Those that were read so: to nginx they are empty.
    unset: BTreeSet<String>,
    branches: Vec<Branch>,
    responses: Vec<DirectResponse>,
    /// Paths that pods see in place of those that clients asked for.
    pub(in crate::snippet) path_changes: Vec<PathChange>,
    /// Those of a server.
    pub(in crate::snippet) server_rewrites: Vec<ServerRewrite>,
    /// Headers of requests that go on.
    variants: Vec<Variant>,
    replaced_for_all: ReplacedForAll,
    of_normalised: bool,
    data_plane: Option<DataPlane>,
    /// Directives so far.
    directives: usize,
    /// Of blocks.
    errors: SnippetErrors,
}

/// Responses and headers of a snippet.
pub(in crate::snippet) struct CompiledResponses {
    pub(in crate::snippet) direct_responses: Vec<DirectResponse>,
    pub(in crate::snippet) header_variants: Vec<HeaderVariant>,
    /// In nginx errors do not have all of the headers.
    pub(in crate::snippet) differs: bool,
    /// Headers are those of targets that were normalised.
    pub(in crate::snippet) of_normalised: bool,
}

impl<'a> Responses<'a> {
    pub(in crate::snippet) fn new(
        media_types: MediaTypes<'a>,
        options: RewriteOptions<'a>,
    ) -> Self {
        let constants = options.constants.map(Constants::variables);
        Responses {
            media_types,
            comparable: options.comparable,
            header_options: options.headers,
            captures: None,
            host_groups: None,
            hosts: options.hosts,
            lacks_hosts: false,
            of_all_servers: options.of_all_servers,
            of_operator: options.of_all_servers,
            headers: None,
            own_headers: Vec::new(),
            set_variables: BTreeMap::new(),
            asked: BTreeSet::new(),
            reads_unset: !options.of_all_servers,
            unset: BTreeSet::new(),
            branches: vec![Branch {
                variables: constants.cloned().unwrap_or_default(),
                ..Branch::default()
            }],
            constants,
            responses: Vec::new(),
            path_changes: Vec::new(),
            server_rewrites: Vec::new(),
            variants: Vec::new(),
            replaced_for_all: ReplacedForAll::default(),
            of_normalised: false,
            data_plane: options.data_plane,
            directives: 0,
            errors: SnippetErrors::default(),
        }
    }

    /// Begins with the groups of a location's pattern.
    pub(in crate::snippet) fn begin_in(&mut self, location: &LocationPath) {
        self.captures = Captures::of_location(location);
    }

    /// Goes on with what is around the locations of a snippet. Preflights are around them, too.
    pub(in crate::snippet) fn go_on_around_locations(&mut self) {
        for response in &mut self.responses {
            response.precedes_preflight = true;
        }
    }

    /// Goes on with the directives of a second snippet.
    pub(in crate::snippet) fn go_on_behind(&mut self, adds_to_errors: bool) {
        self.of_operator = true;
        self.header_options.adds_to_errors = adds_to_errors;
    }

    /// Variables that are set, and the lines where nothing of these directives reads them.
    pub(in crate::snippet) fn variables(&self) -> (SharedVariables, BTreeMap<String, usize>) {
        let mut unasked = self.set_variables.clone();
        unasked.retain(|name, _| !self.asked.contains(name));
        let shared = SharedVariables {
            set: self.set_variables.keys().cloned().collect(),
            read_unset: self.unset.clone(),
        };
        (shared, unasked)
    }

    /// The responses, with what blocks inherit of the filters around them.
    pub(in crate::snippet) fn finish(
        mut self,
        around: &[Filter],
    ) -> Result<CompiledResponses, SnippetError> {
        for (response, headers) in self.own_headers {
            if let Some(response) = self.responses.get_mut(response) {
                response.headers = Some(headers.within(around));
            }
        }
        self.replaced_for_all.check(around)?;
        let differs = self.variants.iter().any(|it| it.headers.differs());
        // In nginx the last one that holds counts.
        let variants = self.variants.into_iter().rev();
        Ok(CompiledResponses {
            of_normalised: self.of_normalised,
            differs,
            header_variants: variants.map(|it| it.within(around)).collect(),
            direct_responses: self.responses,
        })
    }

    /// Takes one directive. No request goes on behind an error: what follows is only looked at.
    pub(in crate::snippet) fn add(&mut self, directive: &Directive) -> Result<(), SnippetErrors> {
        if let Some(change) = rewrites::path_change(directive) {
            return self.change_path(change, directive);
        }
        self.check_before_path_changes(directive)?;
        let ends = !matches!(directive.name(), "return" | "rewrite");
        self.ends_behind_headers(directive, ends)?;
        let branches = std::mem::take(&mut self.branches);
        let run = self.run(directive, branches);
        if let Some(branches) = self.errors.take(run)? {
            self.branches = branches;
        }
        self.errors.check()?;
        directive.at_most(self.branches.len(), MAX_BRANCHES, WAYS)?;
        directive.at_most(self.responses.len(), MAX_RESPONSES, "responses")?;
        Ok(())
    }

    /// The branches that go on behind a directive.
    fn run(
        &mut self,
        directive: &Directive,
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetErrors> {
        let unsupported = || directive.unsupported();
        self.directives += 1;
        directive.at_most(
            self.directives,
            MAX_DIRECTIVES,
            "set, if, return and rewrite directives",
        )?;
        match (directive.words().as_slice(), &directive.block) {
            (["set", variable, value], None) => {
                let name = variable_name(variable).ok_or_else(unsupported)?;
                if crate::snippet::syntax::reserved_variables::has_a_meaning(&name) {
                    return self.refuse_name(name, directive, branches);
                }
                self.set_variables
                    .entry(name.clone())
                    .or_insert(directive.line);
                directive.at_most(self.set_variables.len(), MAX_VARIABLES, "variables")?;
                let branches = self.with_values(&[value], branches)?;
                let set = self.set(&name, value, branches);
                Ok(set.ok_or_else(|| self.without_groups(&[value], directive))?)
            }
            (["return", words @ ..], None) => {
                self.return_to(words, directive, branches)?;
                Ok(Vec::new())
            }
            (["rewrite", ..], None) if self.of_all_servers => {
                Err(directive.because(ONLY_OF_INGRESSES).into())
            }
            (["rewrite", words @ ..], None) => self.rewrite(words, directive, branches),
            (["if", words @ ..], Some(block)) => self.run_if(words, block, directive, branches),
            _ => Err(unsupported().into()),
        }
    }

    fn respond(
        &mut self,
        directive: &Directive,
        branches: &[Branch],
        status: u16,
        content: &ResponseContent,
    ) -> Result<(), SnippetError> {
        // The redirect compares the path itself.
        let is_compared = |condition: &Condition| match content {
            ResponseContent::Captured(captured) => captured.condition() == *condition,
            _ => false,
        };
        for Branch { conditions, .. } in branches {
            directive.at_most(
                conditions.len(),
                MAX_CONDITIONS,
                "conditions of one response",
            )?;
            let own = self.headers.clone();
            self.own_headers
                .extend(own.map(|headers| (self.responses.len(), headers)));
            self.responses.push(DirectResponse {
                conditions: conditions
                    .iter()
                    .filter(|condition| !is_compared(condition))
                    .cloned()
                    .collect(),
                status,
                precedes_preflight: false,
                of_operator: self.of_operator,
                content: self.content_for(conditions, status, content),
                headers: None,
            });
        }
        Ok(())
    }

    fn run_if(
        &mut self,
        words: &[&str],
        block: &[Directive],
        directive: &Directive,
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetErrors> {
        let around = self.captures.take();
        (self.host_groups, self.lacks_hosts) = (None, false);
        let is_set_variable = |name: &str| self.is_set_variable(name);
        // Headers keep nobody out.
        let comparable = match is_headers(block) {
            true => self.comparable.with_normalised_target(),
            false => self.comparable,
        };
        let condition = conditions::read(words, is_set_variable, comparable);
        let Some(condition) = condition else {
            self.refuse_condition(directive, block)?;
            return Ok(Vec::new());
        };
        match condition {
            If::Variable { name, test } => {
                let branches = self.with_value(&name, branches)?;
                let (within, beside) = self.partition(&name, &test, directive, branches)?;
                self.asked.insert(name);
                if is_headers(block) {
                    self.vary(block, directive, within.clone())?;
                    return Ok([within, beside].concat());
                }
                let within = self.run_block(block, within)?;
                self.ends_behind_headers(directive, within.is_empty())?;
                Ok([within, beside].concat())
            }
            If::Request { holds, .. } if is_headers(block) => {
                self.of_normalised |= self.is_of_normalised(&holds);
                self.vary(block, directive, on_ways(&branches, &holds))?;
                Ok(branches)
            }
            If::Request { holds, fails } => {
                let mut conditions = holds.iter().flatten();
                let around = around.filter(|_| !conditions.any(captures::compares_a_pattern));
                self.captures = Captures::new(&holds).or_else(|| around.clone());
                self.host_groups = HostGroups::new(&holds, self.hosts);
                self.lacks_hosts = HostGroups::lacks_hosts(&holds, self.hosts);
                let within = self.run_block(block, on_ways(&branches, &holds))?;
                self.captures = self.captures.take().and(around);
                (self.host_groups, self.lacks_hosts) = (None, false);
                if within.is_empty() {
                    // Whoever is in the block has a response, which comes before all that follow.
                    return Ok(branches);
                }
                self.ends_behind_headers(directive, false)?;
                // What follows may let in who is not in the block.
                if self.is_of_normalised(&holds) {
                    return Err(directive.unsupported().into());
                }
                Ok([within, on_ways(&branches, &fails)].concat())
            }
        }
    }

    /// True of a variable that the snippet has set, or begins with. `name` is in lower case.
    fn is_set_variable(&self, name: &str) -> bool {
        let is_constant = || self.constants.is_some_and(|it| it.contains_key(name));
        self.set_variables.contains_key(name) || is_constant()
    }

    /// True if the data plane compares a target that was normalised.
    fn is_of_normalised(&self, ways: &[Vec<Condition>]) -> bool {
        let is_of_target =
            |condition: &Condition| matches!(condition.test, RequestTest::RequestUri(_));
        !self.comparable.received_target && ways.iter().flatten().any(is_of_target)
    }

    fn run_block(
        &mut self,
        block: &[Directive],
        mut branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetErrors> {
        let headers = BlockHeaders::read(block, self.header_options);
        let around = std::mem::take(&mut self.headers);
        self.headers = self.errors.take(headers)?.flatten();
        for directive in block.iter().filter(|it| !block_headers::is_one(it)) {
            directive.at_most(branches.len(), MAX_BRANCHES, WAYS)?;
            let run = self.run(directive, branches);
            branches = self.errors.take(run)?.unwrap_or_default();
        }
        self.headers = around;
        Ok(branches)
    }
}

#[cfg(test)]
mod redirect_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod variable_tests;
