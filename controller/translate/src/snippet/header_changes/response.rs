//! Changes of headers of responses.

use sluice_ir::{AddedHeader, Expires, Expression, Header, HeaderName, Variable};
use sluice_syntax::expression;

use super::super::expires;
use super::super::harmless_headers;
use super::{Difference, HeaderChanges};

const HSTS: &str = "strict-transport-security";
/// Headers that `add_header` replaces.
const OF_VERSION: [&str; 2] = ["ETag", "Last-Modified"];

impl HeaderChanges<'_> {
    pub(super) fn set_response(&mut self, name: &str, value: &str) -> Option<()> {
        if value.is_empty() {
            return self.remove_response(name);
        }
        let is_written = expires::WRITTEN
            .iter()
            .any(|it| name.eq_ignore_ascii_case(it));
        if is_written && self.response.expires.is_some() {
            return None;
        }
        let name = self.response_name(name)?;
        let value = self.response_value(value)?;
        self.response.set.push(Header { name, value });
        Some(())
    }

    pub(super) fn add_response(
        &mut self,
        name: &str,
        value: &str,
        unless_error: bool,
    ) -> Option<()> {
        // Browsers take the first of several.
        if name.eq_ignore_ascii_case(HSTS) {
            self.differs(unless_error);
            return self.set_response(name, value);
        }
        // nginx replaces what says which version of the content this is.
        if OF_VERSION.iter().any(|one| name.eq_ignore_ascii_case(one)) {
            self.differs(unless_error);
            let name = self.response_name(name)?;
            let value = self.response_value(value)?;
            match value == Expression::default() {
                true => self.response.remove.push(name),
                false => self.response.set.push(Header { name, value }),
            }
            return Some(());
        }
        // nginx adds no empty header.
        if value.is_empty() {
            return self.name(name).map(drop);
        }
        let is_same = |known: &str| known.eq_ignore_ascii_case(name);
        let mut added = self.response.add.iter();
        let is_added = added.any(|it| is_same(it.header.name.as_str()));
        // nginx adds behind all that replaces or removes, also where another snippet does.
        let is_beside = is_added || self.of_first.contains(&name.to_ascii_lowercase());
        let name = if is_beside {
            self.name(name)?
        } else {
            self.response_name(name)?
        };
        let value = self.response_value(value)?;
        let header = Header { name, value };
        let added = match unless_error && !self.options.adds_to_errors {
            true => AddedHeader::unless_error(header.clone()),
            false => None,
        };
        self.differs(unless_error && added.is_none());
        self.response
            .add
            .push(added.unwrap_or_else(|| header.into()));
        Some(())
    }

    fn differs(&mut self, unless_error: bool) {
        let difference = unless_error.then_some(Difference::AddsToErrors);
        self.differences.extend(difference);
    }

    /// Nothing else may replace what it writes.
    pub(super) fn set_expires(&mut self, time: &str) -> Option<()> {
        let expires = expires::read(time)?;
        let is_free = |name: &&str| {
            self.name(name).is_some() && !self.response.set.iter().any(|it| it.name.is_alike(name))
        };
        if self.response.expires.is_some() || !expires::WRITTEN.iter().all(is_free) {
            return None;
        }
        let is_time = matches!(expires, Expires::Seconds(0..));
        let difference = is_time.then_some(Difference::WithoutDate);
        self.differences.extend(difference);
        self.response.expires = Some(expires);
        Some(())
    }

    /// Only names of software: Envoy leaves the others in the response of a pod that refuses an upgrade.
    pub(super) fn remove_response(&mut self, name: &str) -> Option<()> {
        if !harmless_headers::names_software(&[name.to_owned()]) {
            return None;
        }
        // It is never sent, unless the operator lets it pass.
        if name.eq_ignore_ascii_case("server") {
            return Some(());
        }
        let name = self.response_name(name)?;
        self.response.remove.push(name);
        Some(())
    }

    /// Only of a header that pods' responses have anyway: nginx hides some of them, the operator may hide more, and what a client sends
    /// gets to pods without it.
    pub(super) fn pass_response(&mut self, name: &str) -> Option<()> {
        const HIDDEN: [&str; 3] = ["date", "server", "x-pad"];
        let name = HeaderName::parse(name).ok()?;
        let lower = name.as_str().to_ascii_lowercase();
        let is_hidden = HIDDEN.contains(&lower.as_str()) || lower.starts_with("x-accel-");
        (!is_hidden && !(self.options.is_set_elsewhere)(&name)).then_some(())
    }

    fn response_value(&mut self, value: &str) -> Option<Expression> {
        let value = expression::for_headers(value).ok()?;
        // When the response comes, the request is what its pod got.
        let is_known = |variable: &Variable| {
            matches!(
                variable,
                Variable::RemoteAddress
                    | Variable::Scheme
                    | Variable::Method
                    | Variable::RequestId
                    | Variable::Header(_)
            )
        };
        self.read(&value, is_known)?;
        Some(value)
    }

    fn response_name(&mut self, name: &str) -> Option<HeaderName> {
        let name = self.name(name)?;
        let lower = name.as_str().to_ascii_lowercase();
        let is_new = self.of_response.insert(lower.clone());
        (is_new || self.takes_place(&name, &lower)).then_some(name)
    }

    /// A second snippet replaces what the first has made of a header, but for what is added behind both.
    fn takes_place(&mut self, name: &HeaderName, lower: &str) -> bool {
        let is_other = |other: &HeaderName| !other.is_alike(name.as_str());
        let is_of_first = self.of_first.remove(lower);
        if is_of_first {
            self.response.set.retain(|it| is_other(&it.name));
            self.response.remove.retain(is_other);
        }
        is_of_first
    }
}
