//! Changes of headers of requests.

use sluice_ir::{Expression, Header, HeaderName, UpstreamHeader};
use sluice_syntax::expression;

use super::HeaderChanges;
use crate::route_names::{RouteHeader, RouteNames};
use crate::snippet::defaults::request_headers;
use crate::snippet::difference::Difference;
use crate::snippet::headers::auth_variables::is_cookie;
use crate::snippet::headers::forwarded::{self, ForwardedHeader};
use crate::snippet::syntax::reserved_variables::bare;

/// Variable with the name of the user.
const REMOTE_USER: &str = "$remote_user";

impl HeaderChanges<'_> {
    /// Takes back that a header is cleared, which another directive of the same module sets behind that.
    pub(super) fn forget_cleared(&mut self, name: &str) {
        let lower = name.to_ascii_lowercase();
        let is_other = |other: &HeaderName| !other.as_str().eq_ignore_ascii_case(&lower);
        if self.cleared.remove(&lower) && !self.request.remove.iter().all(is_other) {
            self.request.remove.retain(is_other);
            self.of_request.remove(&lower);
        }
    }

    pub(super) fn set_request(&mut self, name: &str, value: &str) -> Option<()> {
        if request_headers::is_set(name, value) {
            return Some(());
        }
        if let Some(forwarded_header) = forwarded::read(name, value, self.options.forwarded) {
            return self.add_forwarded(name, forwarded_header);
        }
        let name = self.request_name(name)?;
        let lower = name.as_str().to_ascii_lowercase();
        if !self.of_request.insert(lower.clone()) {
            return None;
        }
        // Pods get it from the client anyway.
        if !self.options.underscores && value == format!("$http_{}", lower.replace('-', "_")) {
            return Some(());
        }
        if let Some(source) = self.variables.header(value).cloned() {
            return self.set_by_service(&lower, source);
        }
        if bare(value).eq_ignore_ascii_case(REMOTE_USER) {
            return self.set_by_password(&lower);
        }
        if RouteNames::are_in(value) {
            let longest = RouteNames::longest();
            let known = expression::for_headers_with(value, |name| longest.get(name)).ok()?;
            self.read(&known, |_| true)?;
            self.route_headers.push(RouteHeader::parse(name, value)?);
            return Some(());
        }
        let value = expression::for_requests(value).ok()?;
        if value == Expression::default() {
            self.request.remove.push(name);
            return Some(());
        }
        self.read(&value, |_| true)?;
        self.request.set.push(Header { name, value });
        Some(())
    }

    /// Sets a header about the client.
    fn add_forwarded(&mut self, name: &str, forwarded_header: ForwardedHeader<'_>) -> Option<()> {
        let lower = name.to_ascii_lowercase();
        let value = match forwarded_header {
            ForwardedHeader::Unchanged => return Some(()),
            ForwardedHeader::ClientChain => {
                self.differences.insert(Difference::WithoutChain);
                return Some(());
            }
            ForwardedHeader::Scheme(value) | ForwardedHeader::Port(value) => value,
        };
        let name = HeaderName::parse(&lower).ok()?;
        let is_new = self.of_request.insert(lower.clone());
        if !is_new || (self.options.is_set_elsewhere)(&name) {
            return None;
        }
        match forwarded_header {
            ForwardedHeader::Scheme(_) => drop(self.schemes.insert(lower, value.to_owned())),
            _ => self.request.set.push(Header {
                name,
                value: Expression::literal(value),
            }),
        }
        Some(())
    }

    /// The scheme that pods are told, in all headers that have it: Envoy makes the others of the first.
    pub(super) fn add_scheme(&mut self) -> Result<(), &'static str> {
        let [first, ..] = forwarded::OF_SCHEME;
        let Some(scheme) = self.schemes.get(first) else {
            return if self.schemes.is_empty() {
                Ok(())
            } else {
                Err("X-Scheme and X-Forwarded-Scheme follow X-Forwarded-Proto, which is not set")
            };
        };
        if self.schemes.values().any(|other| other != scheme) {
            return Err("X-Forwarded-Proto, X-Forwarded-Scheme and X-Scheme have to say the same");
        }
        for name in forwarded::OF_SCHEME.map(HeaderName::from_static) {
            if (self.options.is_set_elsewhere)(&name) {
                return Err(
                    "another setting sets X-Forwarded-Scheme or X-Scheme, which follow X-Forwarded-Proto",
                );
            }
            self.of_request.insert(name.as_str().to_owned());
            self.request.set.push(Header {
                name,
                value: Expression::literal(scheme),
            });
        }
        Ok(())
    }

    /// Other spellings of the header must be known: pods would take a client's for it.
    fn set_by_service(&mut self, name: &str, source: HeaderName) -> Option<()> {
        let name = HeaderName::parse(name).ok()?;
        let is_safe = !self.options.underscores || name.spellings().is_some();
        let is_known = is_safe && !is_cookie(&source);
        is_known.then(|| self.auth_headers.push(UpstreamHeader { name, source }))
    }

    /// Sets a header to the name of the user. Its other spellings must be known, too.
    fn set_by_password(&mut self, name: &str) -> Option<()> {
        let name = HeaderName::parse(name).ok()?;
        let is_safe = !self.options.underscores || name.spellings().is_some();
        let is_known = is_safe && self.options.knows_users;
        is_known.then(|| self.user_headers.push(name))
    }
}
