//! Changes of headers as filters of routes.
//!
//! ```text
//!   more_set_headers "X-A: b"    response: set       proxy_set_header X-A b     request: set, or removed if b is empty
//!   more_clear_headers Via       response: removed   more_set_input_headers     the same
//!   proxy_hide_header Via        pods': removed      more_clear_input_headers   request: removed
//!   add_header X-A b always      response: added     expires 1h                 response: Cache-Control, Expires
//! ```
//!
//! Filters remove before they add and know no order, so a header is changed by one statement alone, but for one that is taken from pods'
//! responses and set anew, and no value reads a header that is changed.

mod request;
mod response;

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{
    Expression, ExpressionPart, Filter, Forwarded, HeaderModification, HeaderName, UpstreamHeader,
    Variable,
};

use super::auth_variables::{AuthVariables, is_cookie};
use super::forwarded;
use super::reserved::{is_own_in_requests, is_reserved_in_requests, is_reserved_in_responses};
use crate::route_names::RouteHeader;
use crate::snippet::block::Block;
use crate::snippet::difference::Difference;
use crate::snippet::error::SnippetError;
use crate::snippet::syntax::tree::Directive;

/// Settings that decide which headers a snippet may change.
#[derive(Clone, Copy)]
pub(crate) struct HeaderOptions<'a> {
    /// True of a header that another setting changes.
    pub(crate) is_set_elsewhere: &'a dyn Fn(&HeaderName) -> bool,
    /// Pods are spoken to in gRPC, which has directives of its own.
    pub(crate) speaks_grpc: bool,
    /// Names of headers may have underscores.
    pub(crate) underscores: bool,
    /// Headers about clients: those that are trusted, and those that pods get.
    pub(crate) forwarded: &'a Forwarded,
    /// Users are known by their passwords (Basic), all of them.
    pub(crate) knows_users: bool,
    /// Headers of pods' responses that the operator hides.
    pub(crate) hidden: &'a [HeaderName],
    /// Headers that nginx would not send with errors are sent with them, too.
    pub(crate) adds_to_errors: bool,
}

impl<'a> HeaderOptions<'a> {
    /// Options without any other setting that changes headers.
    pub(crate) fn new(forwarded: &'a Forwarded) -> Self {
        HeaderOptions {
            is_set_elsewhere: &|_| false,
            speaks_grpc: false,
            underscores: false,
            forwarded,
            knows_users: false,
            hidden: &[],
            adds_to_errors: false,
        }
    }
}

/// Changes of headers by a snippet, in the making.
pub(in crate::snippet) struct HeaderChanges<'a> {
    options: HeaderOptions<'a>,
    variables: AuthVariables,
    /// Request headers from the response of an authentication service.
    pub(in crate::snippet) auth_headers: Vec<UpstreamHeader>,
    /// Request headers with the name of the user.
    pub(in crate::snippet) user_headers: Vec<HeaderName>,
    request: HeaderModification,
    /// Request headers whose values name the route.
    route_headers: Vec<RouteHeader>,
    response: HeaderModification,
    /// Headers that are changed, in lower case.
    of_request: BTreeSet<String>,
    of_response: BTreeSet<String>,
    /// Those of them that are only taken away, and may be set anew.
    taken: BTreeMap<String, Taken>,
    /// Those of them that a directive of the next snippet may change once more.
    of_first: BTreeSet<String>,
    /// Request headers that `more_clear_input_headers` has cleared, in lower case.
    cleared: BTreeSet<String>,
    /// Request headers that values read, in lower case.
    read: BTreeSet<String>,
    /// Headers with a scheme that pods are told, in lower case.
    schemes: BTreeMap<String, String>,
    /// Differences from ingress-nginx that are served.
    pub(in crate::snippet) differences: BTreeSet<Difference>,
}

/// Responses that a header is taken away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// All of them (`more_clear_headers`): nginx may add it behind that.
    All,
    /// Those of pods (`proxy_hide_header`): nginx may set it behind that, too.
    OfPods,
}

impl<'a> HeaderChanges<'a> {
    /// Headers that one snippet may change.
    pub(in crate::snippet) const MAX: usize = 32;
    /// Variables in their values that Envoy computes for each response, 15 us each.
    const MAX_PROGRAMS: usize = 16;

    pub(in crate::snippet) fn new(variables: AuthVariables, options: HeaderOptions<'a>) -> Self {
        HeaderChanges {
            options,
            variables,
            auth_headers: Vec::new(),
            user_headers: Vec::new(),
            request: HeaderModification::default(),
            route_headers: Vec::new(),
            response: HeaderModification::default(),
            of_request: BTreeSet::new(),
            of_response: BTreeSet::new(),
            taken: BTreeMap::new(),
            of_first: BTreeSet::new(),
            cleared: BTreeSet::new(),
            read: BTreeSet::new(),
            schemes: BTreeMap::new(),
            differences: BTreeSet::new(),
        }
    }

    /// Goes on with the directives of a second snippet. As in nginx its changes of response headers come behind those of the first.
    pub(in crate::snippet) fn go_on_behind(&mut self, adds_to_errors: bool) {
        self.options.adds_to_errors = adds_to_errors;
        self.of_first.clone_from(&self.of_response);
    }

    /// True if a directive sets a variable that values may have.
    pub(in crate::snippet) fn knows_variable(&self, directive: &Directive) -> bool {
        self.variables.are_set_by(directive)
    }

    /// An error where a directive changes more than one snippet may.
    pub(in crate::snippet) fn check_size(&self, directive: &Directive) -> Result<(), SnippetError> {
        directive.at_most(self.count(), Self::MAX, "headers that are changed")?;
        let what = "queries, arguments, cookies and statuses in headers";
        directive.at_most(self.programs(), Self::MAX_PROGRAMS, what)
    }

    fn count(&self) -> usize {
        let expires = usize::from(self.response.expires.is_some());
        self.of_request.len() + self.response.add.len() + self.of_response.len() + expires
    }

    fn programs(&self) -> usize {
        let both = [&self.request, &self.response].into_iter();
        let values = both.flat_map(|headers| {
            let added = headers.add.iter().map(|added| &added.header);
            headers.set.iter().chain(added)
        });
        values.map(|header| header.value.programs()).sum()
    }

    /// Takes one directive. `None`: it is no change of headers that can be made. Only the location of a path has requests to
    /// change.
    pub(in crate::snippet) fn add(&mut self, words: &[&str], block: Block) -> Option<()> {
        let (directive, arguments) = words.split_first()?;
        let grpc = self.options.speaks_grpc;
        match (*directive, arguments) {
            ("more_set_headers", words) if !words.is_empty() => {
                headers(words).try_for_each(|header| {
                    let (name, value) = header?;
                    self.set_response(name, value)
                })
            }
            ("more_clear_headers", words) if !words.is_empty() => {
                headers(words).try_for_each(|header| self.remove_response(header?.0))
            }
            ("proxy_hide_header" | "grpc_hide_header", [name]) => self.hide_response(name),
            // ingress-nginx adds them itself.
            ("add_header", [name, value])
                if name.eq_ignore_ascii_case("set-cookie")
                    && self.variables.header(value).is_some_and(is_cookie) =>
            {
                Some(())
            }
            ("proxy_pass_header" | "grpc_pass_header", [name]) => self.pass_response(name),
            ("add_header", [name, value]) => self.add_response(name, value, true),
            ("add_header", [name, value, "always"]) => self.add_response(name, value, false),
            ("expires", [time]) => self.set_expires(time),
            _ if !matches!(block, Block::Location | Block::ProxiedLocation) => None,
            ("proxy_set_header", [name, value]) if !grpc => self.set_request(name, value),
            ("grpc_set_header", [name, value]) if grpc => self.set_request(name, value),
            // nginx has them for pods of the other kind.
            ("proxy_set_header" | "grpc_set_header", [_, _]) => Some(()),
            ("more_clear_input_headers", words) if !words.is_empty() => headers(words)
                .try_for_each(|header| {
                    let (name, _) = header?;
                    self.set_request(name, "")?;
                    self.cleared.insert(name.to_ascii_lowercase());
                    Some(())
                }),
            ("more_set_input_headers", words) if !words.is_empty() => {
                headers(words).try_for_each(|header| {
                    let (name, value) = header?;
                    self.forget_cleared(name);
                    self.set_request(name, value)
                })
            }
            _ => None,
        }
    }

    fn name(&self, name: &str) -> Option<HeaderName> {
        let name = HeaderName::parse(name).ok()?;
        let is_reserved = is_reserved_in_responses(&name);
        (!is_reserved && !(self.options.is_set_elsewhere)(&name)).then_some(name)
    }

    /// Name of a header that a value reads; `None`: it is not what the client sent.
    fn source(&self, name: &str) -> Option<HeaderName> {
        let name = HeaderName::parse(name).ok()?;
        let is_reserved = is_reserved_in_requests(&name);
        (!is_reserved && !(self.options.is_set_elsewhere)(&name)).then_some(name)
    }

    /// Name of a header that a snippet may set for pods.
    fn request_name(&self, name: &str) -> Option<HeaderName> {
        let name = HeaderName::parse(name).ok()?;
        let is_own = is_own_in_requests(&name, self.options.forwarded);
        (!is_own && !(self.options.is_set_elsewhere)(&name)).then_some(name)
    }

    fn read(&mut self, value: &Expression, is_known: impl Fn(&Variable) -> bool) -> Option<()> {
        for part in &value.0 {
            let ExpressionPart::Variable(variable) = part else {
                continue;
            };
            if !is_known(variable) {
                return None;
            }
            match variable {
                Variable::Header(name) => self.read_header(name)?,
                Variable::Cookie(_) => self.read_header("cookie")?,
                variable => self
                    .read
                    .extend(forwarded::source_header(variable).map(str::to_owned)),
            }
        }
        Some(())
    }

    fn read_header(&mut self, name: &str) -> Option<()> {
        let name = self.source(name)?;
        self.read.insert(name.as_str().to_ascii_lowercase());
        Some(())
    }

    /// The filters of a snippet of these directives, and the headers that name the route. No value may read a header that is
    /// changed.
    pub(in crate::snippet) fn finish(
        mut self,
        all: &[Directive],
    ) -> Result<(Vec<Filter>, Vec<RouteHeader>), SnippetError> {
        let error = |reason| {
            let line = all.first().map_or(1, |directive| directive.line);
            SnippetError::new(line, reason)
        };
        self.add_scheme()
            .map_err(|reason| error(reason.to_owned()))?;
        let mut changed = self.read.intersection(&self.of_request);
        if let Some(name) = changed.next() {
            return Err(error(format!(
                "a value reads the request header {name}, which the snippet changes"
            )));
        }
        let mut filters = Vec::new();
        if self.request != HeaderModification::default() {
            filters.push(Filter::RequestHeaders(self.request));
        }
        if self.response != HeaderModification::default() {
            filters.push(Filter::ResponseHeaders(self.response));
        }
        Ok((filters, self.route_headers))
    }
}

/// Headers as `ngx_http_headers_more_parse_header` reads them: one in each word, whose name ends at a colon or a blank. So `X-A: b` in two words
/// is two headers without a value. `None`: an option (`-s`), or a word that begins with a blank, of which the module takes another name.
fn headers<'w>(words: &'w [&str]) -> impl Iterator<Item = Option<(&'w str, &'w str)>> {
    let is_end = |letter: char| letter == ':' || letter.is_ascii_whitespace();
    let words = words.iter().filter(|word| !word.is_empty());
    words.map(move |word| {
        if word.starts_with('-') || word.starts_with(is_end) {
            return None;
        }
        let (name, rest) = word.split_at(word.find(is_end).unwrap_or(word.len()));
        Some((name, rest.trim_start_matches(is_end).trim_end()))
    })
}

#[cfg(test)]
mod response_tests;
#[cfg(test)]
mod tests;
