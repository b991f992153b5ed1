//! Changes of headers of responses.

use sluice_ir::{AddedHeader, Expires, Expression, ExpressionPart, Header, HeaderName, Variable};
use sluice_syntax::expression;

use super::{HeaderChanges, Taken};
use crate::snippet::difference::Difference;
use crate::snippet::headers::expires;

const HSTS: &str = "strict-transport-security";
/// Headers that `add_header` replaces.
const OF_VERSION: [&str; 2] = ["ETag", "Last-Modified"];

impl HeaderChanges<'_> {
    pub(super) fn set_response(&mut self, name: &str, value: &str) -> Option<()> {
        if value.is_empty() {
            return self.remove_response(name);
        }
        self.is_free_of_expires(name)?;
        let name = match self.taken.get(&name.to_ascii_lowercase()) {
            Some(Taken::OfPods) => self.name(name)?,
            _ => self.response_name(name)?,
        };
        let value = self.response_value(value)?;
        self.taken.remove(&name.as_str().to_ascii_lowercase());
        self.response.set.push(Header { name, value });
        Some(())
    }

    /// `None`: `expires` writes the header.
    fn is_free_of_expires(&self, name: &str) -> Option<()> {
        let mut written = expires::WRITTEN.iter();
        let is_written = written.any(|it| name.eq_ignore_ascii_case(it));
        (!is_written || self.response.expires.is_none()).then_some(())
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
        // Envoy would write both in one line.
        if name.eq_ignore_ascii_case("server") && !self.is_hidden(name) {
            return None;
        }
        // nginx adds behind all that replaces or removes, also where another snippet does.
        let lower = name.to_ascii_lowercase();
        let is_beside =
            is_added || self.of_first.contains(&lower) || self.taken.contains_key(&lower);
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

    /// Takes `expires`. Nothing else may replace the headers that it writes.
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

    /// Removes a header, but for `Strict-Transport-Security`: the operator's is sent whatever an Ingress says.
    pub(super) fn remove_response(&mut self, name: &str) -> Option<()> {
        self.is_free_of_expires(name)?;
        if name.eq_ignore_ascii_case(HSTS) {
            return None;
        }
        let name = self.taken_name(name, Taken::All)?;
        self.response.remove.push(name);
        Some(())
    }

    /// Hides a header of pods' responses, also one that the snippet sets.
    pub(super) fn hide_response(&mut self, name: &str) -> Option<()> {
        let lower = name.to_ascii_lowercase();
        let is_set = |it: &Header| it.name.as_str().eq_ignore_ascii_case(name);
        let name = if self.response.set.iter().any(is_set) {
            self.name(name)?
        } else {
            self.taken_name(name, Taken::OfPods)?
        };
        let is_new = !self.response.hide.iter().any(|it| it.is_alike(&lower));
        self.response.hide.extend(is_new.then_some(name));
        Some(())
    }

    /// Name of a header that is taken away, whatever is added behind that.
    fn taken_name(&mut self, name: &str, taken: Taken) -> Option<HeaderName> {
        let lower = name.to_ascii_lowercase();
        let is_same = |known: &str| known.eq_ignore_ascii_case(name);
        let mut added = self.response.add.iter();
        let is_added = added.any(|it| is_same(it.header.name.as_str()));
        let is_taken = self.taken.contains_key(&lower);
        let name = match is_added || is_taken {
            true => self.name(name)?,
            false => self.response_name(name)?,
        };
        // More is taken away by the one of them.
        let known = self.taken.get(&lower).copied();
        let taken = if known == Some(Taken::All) {
            Taken::All
        } else {
            taken
        };
        self.taken.insert(lower, taken);
        Some(name)
    }

    fn is_hidden(&self, name: &str) -> bool {
        let mut hidden = self.options.hidden.iter();
        hidden.any(|known| known.is_alike(name))
    }

    /// Takes `proxy_pass_header` of a header that pods' responses have anyway, and of no other: nginx hides some of them, the operator may hide more, and what a client sends
    /// gets to pods without it.
    pub(super) fn pass_response(&mut self, name: &str) -> Option<()> {
        const HIDDEN: [&str; 3] = ["date", "server", "x-pad"];
        let name = HeaderName::parse(name).ok()?;
        let lower = name.as_str().to_ascii_lowercase();
        let is_hidden = HIDDEN.contains(&lower.as_str()) || lower.starts_with("x-accel-");
        let is_hidden = is_hidden || self.is_hidden(&lower);
        (!is_hidden && !(self.options.is_set_elsewhere)(&name)).then_some(())
    }

    fn response_value(&mut self, value: &str) -> Option<Expression> {
        let value = expression::for_responses(value).ok()?;
        // When the response comes, the request is what its pod got.
        let is_known = |variable: &Variable| match variable {
            Variable::Argument(name) | Variable::Cookie(name) => {
                name.len() <= Variable::LONGEST_NAME
            }
            Variable::RemoteAddress
            | Variable::Scheme
            | Variable::Method
            | Variable::RequestUri
            | Variable::Query
            | Variable::QuestionMark
            | Variable::RequestId
            | Variable::IsoTime
            | Variable::Status
            | Variable::UpstreamAddress
            | Variable::UpstreamStatus
            | Variable::Header(_) => true,
            _ => false,
        };
        self.read(&value, is_known)?;
        let variables = |part: &&ExpressionPart| matches!(part, ExpressionPart::Variable(_));
        let variables = value.0.iter().filter(variables).count();
        (variables <= AddedHeader::MOST_PARTS).then_some(value)
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
