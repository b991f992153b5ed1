//! Filters of a route and of its backends: modifications of a request and of its response, in order.

use serde::Serialize;

use crate::{Expires, Expression, ExpressionPart, Header, HeaderName, Variable, is_default};

/// One filter. Those of a route come before those of the backend that takes the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Headers of the request, before the upstream sees them.
    RequestHeaders(HeaderModification),
    /// Headers of the response, before the client sees them.
    ResponseHeaders(HeaderModification),
}

impl Filter {
    /// Modification of the request; `None`: it is of responses.
    #[must_use]
    pub fn request_headers(&self) -> Option<&HeaderModification> {
        match self {
            Filter::RequestHeaders(headers) => Some(headers),
            Filter::ResponseHeaders(_) => None,
        }
    }

    /// Modification of the response; `None`: it is of requests.
    #[must_use]
    pub fn response_headers(&self) -> Option<&HeaderModification> {
        match self {
            Filter::ResponseHeaders(headers) => Some(headers),
            Filter::RequestHeaders(_) => None,
        }
    }

    /// As [`Filter::response_headers`], to be changed.
    pub fn response_headers_mut(&mut self) -> Option<&mut HeaderModification> {
        match self {
            Filter::ResponseHeaders(headers) => Some(headers),
            Filter::RequestHeaders(_) => None,
        }
    }
}

/// Modification of headers, in this order: hide, set, remove, add. nginx adds headers (`add_header`) behind all that replaces or removes
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeaderModification {
    /// Replace what is there.
    #[serde(skip_serializing_if = "is_default")]
    pub set: Vec<Header>,
    /// Come beside what is there.
    #[serde(skip_serializing_if = "is_default")]
    pub add: Vec<AddedHeader>,
    /// Are taken away.
    #[serde(skip_serializing_if = "is_default")]
    pub remove: Vec<HeaderName>,
    /// Are taken away from responses of pods, whatever else sets them.
    #[serde(skip_serializing_if = "is_default")]
    pub hide: Vec<HeaderName>,
    /// Before all of them, of responses without an error: how long they may be kept.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: Option<Expires>,
}

/// Statuses of responses without an error: nginx adds headers to them alone, unless it says `always`.
pub const STATUSES_WITHOUT_ERROR: [u16; 10] = [200, 201, 204, 206, 301, 302, 303, 304, 307, 308];

/// A header that comes beside what is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AddedHeader {
    /// The header.
    #[serde(flatten)]
    pub header: Header,
    /// Only responses without an error ([`STATUSES_WITHOUT_ERROR`]) get it.
    #[serde(skip_serializing_if = "is_default")]
    pub unless_error: bool,
}

impl AddedHeader {
    /// Parts of a value that errors do not have.
    pub const MOST_PARTS: usize = 16;
    /// Bytes of its texts and of the names of its variables.
    pub const MOST_BYTES: usize = 1200;

    /// A header that errors do not have. `None`: Envoy has no expression for it, because the value has the address of the client or the
    /// time, or because the expression would be longer than a value may be.
    #[must_use]
    pub fn unless_error(header: Header) -> Option<Self> {
        let parts = &header.value.0;
        let bytes = parts.iter().map(|part| match part {
            ExpressionPart::Text(text) => Some(text.len()),
            ExpressionPart::Variable(
                Variable::Header(name) | Variable::Argument(name) | Variable::Cookie(name),
            ) => Some(name.len()),
            ExpressionPart::Variable(
                Variable::Scheme
                | Variable::Method
                | Variable::RequestId
                | Variable::RequestUri
                | Variable::Query
                | Variable::QuestionMark
                | Variable::Status
                | Variable::UpstreamAddress
                | Variable::UpstreamStatus,
            ) => Some(0),
            ExpressionPart::Variable(_) => None,
        });
        let bytes: usize = bytes.sum::<Option<usize>>()?;
        let fits = parts.len() <= Self::MOST_PARTS && bytes <= Self::MOST_BYTES;
        fits.then_some(AddedHeader {
            header,
            unless_error: true,
        })
    }
}

impl From<Header> for AddedHeader {
    fn from(header: Header) -> Self {
        AddedHeader {
            header,
            unless_error: false,
        }
    }
}

impl HeaderModification {
    /// Parts of values of headers that errors do not have: to Envoy each is a program.
    #[must_use]
    pub fn programs(&self) -> usize {
        let conditional = self.add.iter().filter(|added| added.unless_error);
        conditional.map(|added| added.header.value.0.len()).sum()
    }

    /// Sends all headers with errors, too.
    pub fn add_to_errors(&mut self) {
        for added in &mut self.add {
            added.unless_error = false;
        }
    }

    /// Both, one after the other: a header that the second sets is not taken away because the first removes it.
    #[must_use]
    pub fn followed_by(mut self, second: HeaderModification) -> HeaderModification {
        let is_set = |name: &HeaderName| {
            let mut set = second.set.iter();
            set.any(|header| header.name.is_alike(name.as_str()))
        };
        self.remove.retain(|name| !is_set(name));
        self.set.extend(second.set);
        self.add.extend(second.add);
        self.remove.extend(second.remove);
        self.hide.extend(second.hide);
        self.expires = second.expires.or(self.expires);
        self
    }

    /// Headers that are changed, and programs of their values.
    #[must_use]
    pub fn size(&self) -> usize {
        let expires = usize::from(self.expires.is_some());
        let headers = self.set.len() + self.add.len() + self.remove.len() + self.hide.len();
        headers + expires + self.variable_programs()
    }

    /// Programs of the variables in its values, but for those of [`HeaderModification::programs`].
    #[must_use]
    pub fn variable_programs(&self) -> usize {
        let added = self.add.iter().filter(|added| !added.unless_error);
        let values = self.set.iter().map(|header| &header.value);
        let values = values.chain(added.map(|added| &added.header.value));
        values.map(Expression::programs).sum()
    }

    /// True if a value that is set or added has a variable of a kind.
    #[must_use]
    pub fn reads(&self, is_one: impl Fn(&Variable) -> bool) -> bool {
        let added = self.add.iter().map(|added| &added.header);
        let mut parts = self
            .set
            .iter()
            .chain(added)
            .flat_map(|header| &header.value.0);
        parts.any(|part| matches!(part, ExpressionPart::Variable(variable) if is_one(variable)))
    }
}

/// Change of one header by all filters together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    /// Name of the header; names that differ in case only are one.
    pub name: HeaderName,
    /// Values that are there already are taken away.
    pub replaces: bool,
    /// Those of pods are.
    pub hides: bool,
    /// Values that come in their place, or beside them.
    pub values: Vec<HeaderValue>,
}

/// A value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderValue {
    /// The value.
    pub value: Expression,
    /// Only responses without an error ([`STATUSES_WITHOUT_ERROR`]) have it.
    pub unless_error: bool,
}

/// Changes of request headers by filters, one for each header.
pub fn request_header_changes<'a>(
    filters: impl IntoIterator<Item = &'a Filter>,
) -> Vec<HeaderChange> {
    changes(filters.into_iter().filter_map(Filter::request_headers))
}

/// Changes of response headers by filters, one for each header.
pub fn response_header_changes<'a>(
    filters: impl IntoIterator<Item = &'a Filter>,
) -> Vec<HeaderChange> {
    changes(filters.into_iter().filter_map(Filter::response_headers))
}

/// How long responses may be kept, as the last filter says that says it.
pub fn response_expires<'a>(filters: impl IntoIterator<Item = &'a Filter>) -> Option<Expires> {
    let headers = filters.into_iter().filter_map(Filter::response_headers);
    headers.filter_map(|headers| headers.expires).last()
}

fn changes<'a>(modifications: impl Iterator<Item = &'a HeaderModification>) -> Vec<HeaderChange> {
    let mut changes = Vec::new();
    for HeaderModification {
        set,
        add,
        remove,
        hide,
        ..
    } in modifications
    {
        for name in hide {
            change(&mut changes, name).hides = true;
        }
        for header in set {
            let change = change(&mut changes, &header.name);
            change.name = header.name.clone();
            change.replaces = true;
            change.values = vec![HeaderValue {
                value: header.value.clone(),
                unless_error: false,
            }];
        }
        for name in remove {
            let change = change(&mut changes, name);
            change.replaces = true;
            change.values.clear();
        }
        for AddedHeader {
            header,
            unless_error,
        } in add
        {
            let change = change(&mut changes, &header.name);
            change.values.push(HeaderValue {
                value: header.value.clone(),
                unless_error: *unless_error,
            });
        }
    }
    changes
}

fn change<'a>(changes: &'a mut Vec<HeaderChange>, name: &HeaderName) -> &'a mut HeaderChange {
    let is_same = |change: &HeaderChange| {
        let known = change.name.as_str();
        known.eq_ignore_ascii_case(name.as_str())
    };
    let known = changes.iter().position(is_same).unwrap_or_else(|| {
        changes.push(HeaderChange {
            name: name.clone(),
            replaces: false,
            hides: false,
            values: Vec::new(),
        });
        changes.len() - 1
    });
    &mut changes[known]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> Header {
        Header {
            name: HeaderName::parse(name).unwrap(),
            value: Expression::literal(value),
        }
    }

    /// As nginx runs them: those of a block behind those around it, what is added behind both.
    #[test]
    fn one_modification_does_what_both_do_one_after_the_other() {
        let set = |value: &str| HeaderModification {
            set: vec![header("X-A", value)],
            ..HeaderModification::default()
        };
        let add = || HeaderModification {
            add: vec![header("x-a", "3").into()],
            ..HeaderModification::default()
        };
        let remove = || HeaderModification {
            remove: vec![header("x-A", "").name],
            ..HeaderModification::default()
        };
        for (first, second, values) in [
            (set("1"), set("2"), &["2"][..]),
            (set("1"), remove(), &[]),
            (remove(), set("2"), &["2"]),
            (remove(), add(), &["3"]),
            (add(), remove(), &["3"]),
            (set("1"), add(), &["1", "3"]),
            (add(), set("2"), &["2", "3"]),
            (remove(), remove(), &[]),
        ] {
            let both = Filter::ResponseHeaders(first.clone().followed_by(second.clone()));
            let changes = response_header_changes([&both]);
            let [change] = changes.as_slice() else {
                panic!("{changes:?}")
            };
            let found = change.values.iter();
            let found: Vec<String> = found.map(|it| it.value.to_string()).collect();
            assert_eq!(found, values, "{first:?} {second:?}");
            assert!(change.replaces, "{first:?} {second:?}");
        }
    }

    /// nginx: `proxy_hide_header` takes a header from pods' responses, before `more_set_headers` and `add_header`, wherever these are.
    #[test]
    fn a_header_of_pods_that_is_hidden_is_no_header_that_is_set() {
        let hide = HeaderModification {
            hide: vec![header("x-A", "").name],
            ..HeaderModification::default()
        };
        let set = HeaderModification {
            set: vec![header("X-A", "1")],
            ..HeaderModification::default()
        };
        let add = HeaderModification {
            add: vec![header("X-A", "1").into()],
            ..HeaderModification::default()
        };
        for other in [set, add] {
            for (first, second) in [(&hide, &other), (&other, &hide)] {
                let filters = [first, second].map(|it| Filter::ResponseHeaders(it.clone()));
                let both = first.clone().followed_by(second.clone());
                for all in [&filters[..], &[Filter::ResponseHeaders(both)]] {
                    let changes = response_header_changes(all);
                    let [change] = changes.as_slice() else {
                        panic!("{changes:?}")
                    };
                    assert!(change.hides && change.values.len() == 1, "{change:?}");
                }
            }
        }
    }

    #[test]
    fn later_filters_work_on_what_earlier_ones_left() {
        let of_route = Filter::RequestHeaders(HeaderModification {
            set: vec![header("x-a", "1"), header("x-b", "1")],
            add: vec![header("x-c", "1").into()],
            ..HeaderModification::default()
        });
        let of_backend = Filter::RequestHeaders(HeaderModification {
            add: vec![header("X-A", "2").into()],
            remove: vec![header("x-b", "").name],
            ..HeaderModification::default()
        });
        let response = Filter::ResponseHeaders(HeaderModification {
            remove: vec![header("x-a", "").name],
            ..HeaderModification::default()
        });
        let changes = request_header_changes([&of_route, &of_backend, &response]);
        let shown: Vec<_> = changes
            .iter()
            .map(|change| (change.name.as_str(), change.replaces, change.values.len()))
            .collect();
        assert_eq!(
            shown,
            [("x-a", true, 2), ("x-b", true, 0), ("x-c", false, 1)]
        );
    }
}
