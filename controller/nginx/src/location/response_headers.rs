//! Response headers. As those of requests, nginx inherits none of them into a location that sets one of its own.

use sluice_ir::{
    Expires, Filter, GlobalConfig, HeaderChange, HeaderModification, HeaderName, Hsts, HttpRoute,
    Policy, response_expires, response_header_changes,
};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression::expression;
use crate::location::cors;
use crate::location::headers::{filters, name_and_value};
use crate::location::module::Module;

/// A header of responses.
pub(crate) struct AddedLine {
    pub(crate) name: Word,
    pub(crate) value: Value,
    /// Errors have it, too.
    pub(crate) always: bool,
}

/// Upstream response header that nginx hides by default.
pub(crate) const HIDDEN_BY_DEFAULT: &str = "server";
/// No header that pods send. A location that passes it on does not inherit what is passed on around it.
const NOTHING: &str = "x-sluice-nothing";

/// Response headers to clients.
#[derive(Default)]
pub(crate) struct ResponseHeaders {
    pub(crate) lines: Vec<AddedLine>,
    /// How long they may be kept.
    pub(crate) expires: Option<Expires>,
    pub(crate) hidden: Vec<Word>,
    /// All locations do, as far as they do not hide it themselves.
    passes_server: bool,
    hides_server: bool,
}

impl AddedLine {
    fn always((name, text): (String, Text)) -> Self {
        AddedLine {
            name: word(name),
            value: text.quoted(),
            always: true,
        }
    }
}

/// Value of `expires`.
pub(crate) fn directive_of(expires: Expires) -> String {
    match expires {
        Expires::Off => "off".to_owned(),
        Expires::Epoch => "epoch".to_owned(),
        Expires::Max => "max".to_owned(),
        Expires::Seconds(seconds) => seconds.to_string(),
    }
}

impl ResponseHeaders {
    /// Those of all locations.
    pub(crate) fn for_server(global: &GlobalConfig) -> Self {
        ResponseHeaders::with(global, Vec::new())
    }

    /// Those of a location that sets some itself.
    pub(crate) fn for_location(route: &HttpRoute, global: &GlobalConfig) -> Option<Self> {
        ResponseHeaders::with_filters(|| filters(route), &route.policy, global)
    }

    /// Those of one of its responses, with changes in place of those by its filters.
    pub(crate) fn for_response(
        own: &HeaderModification,
        policy: &Policy,
        global: &GlobalConfig,
    ) -> Option<Self> {
        let own = Filter::ResponseHeaders(own.clone());
        ResponseHeaders::with_filters(|| std::iter::once(&own), policy, global)
    }

    fn with_filters<'a, F: Iterator<Item = &'a Filter>>(
        filters: impl Fn() -> F,
        policy: &Policy,
        global: &GlobalConfig,
    ) -> Option<Self> {
        let changes = response_header_changes(filters());
        let expires = response_expires(filters());
        let own = policy.response_headers.iter().map(name_and_value);
        let cors = policy.cors.iter().flat_map(cors::headers);
        let own: Vec<_> = own.chain(cors).collect();
        let has_cookies = policy
            .authentication
            .as_ref()
            .is_some_and(|authentication| authentication.external.is_some());
        let is_usual = !has_cookies && own.is_empty() && changes.is_empty() && expires.is_none();
        (!is_usual).then(|| ResponseHeaders {
            expires,
            ..ResponseHeaders::with(global, own).changed(&changes)
        })
    }

    /// With what filters do.
    fn changed(mut self, changes: &[HeaderChange]) -> Self {
        for change in changes {
            let name = change.name.as_str();
            if change.replaces {
                self.lines.retain(|line| !line.name.0.is(name));
            }
            if change.replaces || change.hides {
                self.hide(word(name));
            }
            self.lines.extend(change.values.iter().map(|it| AddedLine {
                name: word(name),
                value: expression(&it.value).quoted(),
                always: !it.unless_error,
            }));
        }
        self
    }

    /// Takes a header from the responses of pods.
    pub(crate) fn hide(&mut self, name: Word) {
        if name.0.is(HIDDEN_BY_DEFAULT) {
            self.hides_server = true;
        }
        self.hidden.push(name);
    }

    /// Header that pods' responses keep although nginx hides it, or, where the location hides it, one that keeps it from inheriting that.
    pub(crate) fn passed(&self) -> Option<&'static str> {
        match self.hides_server {
            true => self.passes_server.then_some(NOTHING),
            false => self.passes_server.then_some("Server"),
        }
    }

    /// True if pods' `Server` gets to no client.
    pub(crate) fn is_without_server(&self) -> bool {
        self.hides_server || !self.passes_server
    }

    fn with(global: &GlobalConfig, own: Vec<(String, Text)>) -> Self {
        let hsts = global.hsts.iter().map(|_| {
            (
                "Strict-Transport-Security".to_owned(),
                Text::default().variable("sluice_hsts"),
            )
        });
        let mut lines: Vec<(String, Text)> = Vec::new();
        for (name, text) in own
            .into_iter()
            .chain(global.response_headers.iter().map(name_and_value))
            .chain(hsts)
        {
            if !lines
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(&name))
            {
                lines.push((name, text));
            }
        }
        let is_always = |name: &&str| name.eq_ignore_ascii_case(HIDDEN_BY_DEFAULT);
        let replaced = lines.iter().map(|(name, _)| name.as_str());
        let hides_server = replaced.clone().any(|name| is_always(&name));
        let own = || global.hidden_headers.iter().map(HeaderName::as_str);
        let hidden = own().filter(|name| !is_always(name)).chain(replaced);
        ResponseHeaders {
            hidden: hidden.map(word).collect(),
            passes_server: !own().any(|name| is_always(&name)),
            hides_server,
            expires: None,
            lines: lines.into_iter().map(AddedLine::always).collect(),
        }
    }

    /// As the module sends them: only `proxy` hides `Server` by itself.
    pub(crate) fn sent_by(mut self, module: Module) -> Self {
        if module == Module::FastCgi && !self.passes_server && !self.hides_server {
            self.hide(word(HIDDEN_BY_DEFAULT));
        }
        self
    }
}

/// `Strict-Transport-Security`, for answers over https.
pub(crate) fn hsts(hsts: &Hsts) -> Value {
    value(hsts.value())
}

/// True if a response of it says of which server it is.
pub(crate) fn names_server(route: &HttpRoute) -> bool {
    let of_some = route.header_variants.iter().map(|it| &it.headers);
    let of_direct = route.direct_responses.iter();
    let of_some = of_some.chain(of_direct.filter_map(|it| it.headers.as_ref()));
    let of_some = of_some.cloned().map(Filter::ResponseHeaders);
    let all: Vec<Filter> = filters(route).cloned().chain(of_some).collect();
    let mut changes = response_header_changes(&all).into_iter();
    changes.any(|it| it.name.is_alike(HIDDEN_BY_DEFAULT) && !it.values.is_empty())
}
