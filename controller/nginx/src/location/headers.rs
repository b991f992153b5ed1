//! Request and response headers. nginx inherits none of them into a location that sets one of its own, so such a location
//! sets all of them.

use std::collections::BTreeSet;

use sluice_ir::{
    ClientCertificates, Destination, ErrorRequest, Expires, Filter, GlobalConfig, Header,
    HeaderChange, HeaderModification, HeaderName, Hsts, HttpRoute, Policy, request_header_changes,
    response_expires, response_header_changes,
};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression::{HOST, PORT, REQUEST_ID, SCHEME, expression, template};
use crate::location::auth_request;
use crate::location::cors;
use crate::location::module::Module;
use crate::tls;
use crate::traces;

/// A header and its value.
pub(crate) type Line = (Word, Value);

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

/// The header with the client address.
pub(crate) fn client_header(global: &GlobalConfig) -> &str {
    global
        .forwarded
        .client_header
        .as_deref()
        .unwrap_or("x-forwarded-for")
}

/// The same as a variable.
pub(crate) fn client_variable(global: &GlobalConfig) -> Text {
    Text::default().variable(&format!("http_{}", client_header(global)))
}

/// Request headers to upstreams: those of ingress-nginx, unless the operator or the location sets them.
pub(crate) fn for_upstream(global: &GlobalConfig, own: Vec<(String, Text)>) -> Vec<Line> {
    lines(texts_for_upstream(global, own))
}

/// The same before they are quoted.
pub(crate) fn texts_for_upstream(
    global: &GlobalConfig,
    own: Vec<(String, Text)>,
) -> Vec<(String, Text)> {
    let host = global
        .host
        .iter()
        .map(|host| ("Host".to_owned(), expression(host)));
    let operators = host.chain(global.request_headers.iter().map(name_and_value));
    let mut seen = BTreeSet::new();
    // nginx would send each that is named twice twice.
    traces::headers(global)
        .into_iter()
        .chain(own)
        .chain(operators)
        .chain(defaults(global))
        .filter(|(name, _)| seen.insert(name.to_ascii_lowercase()))
        .collect()
}

fn lines(headers: Vec<(String, Text)>) -> Vec<Line> {
    headers
        .into_iter()
        .map(|(name, text)| (word(name), text.quoted()))
        .collect()
}

fn name_and_value(header: &Header) -> (String, Text) {
    (header.name.as_str().to_owned(), expression(&header.value))
}

fn defaults(global: &GlobalConfig) -> impl Iterator<Item = (String, Text)> {
    let forwarded = &global.forwarded;
    let chain = if forwarded.append_forwarded_for {
        "sluice_chain"
    } else {
        "remote_addr"
    };
    let variables = [
        ("Host", HOST),
        ("Upgrade", "http_upgrade"),
        ("Connection", "sluice_connection"),
        ("X-Request-ID", REQUEST_ID),
        ("X-Real-IP", "remote_addr"),
        ("X-Forwarded-For", chain),
        ("X-Forwarded-Host", HOST),
        ("X-Forwarded-Port", PORT),
        ("X-Forwarded-Proto", SCHEME),
        ("X-Forwarded-Scheme", SCHEME),
        ("X-Scheme", SCHEME),
        ("X-Original-Forwarded-Host", "http_x_forwarded_host"),
        ("CDN-Loop", "sluice_cdn_loop"),
    ];
    let variables = variables.map(|(name, variable)| (name, Text::default().variable(variable)));
    let original_uri = ("X-Original-URI", Text::default().variable("request_uri"));
    let others = [
        ("X-Original-Forwarded-For", client_variable(global)),
        ("Proxy", Text::default()),
    ];
    let all = variables
        .into_iter()
        .chain(others)
        .chain(forwarded.original_uri.then_some(original_uri));
    all.map(|(name, text)| (name.to_owned(), text))
}

/// Request headers to upstreams that one location sets.
pub(crate) fn for_location(
    route: &HttpRoute,
    clients: Option<&ClientCertificates>,
) -> Vec<(String, Text)> {
    let policy = &route.policy;
    let text = |text: &str| Text::default().then(text);
    let changes = request_header_changes(filters(route));
    let mut own: Vec<_> = changes.iter().map(request_header).collect();
    own.extend(
        policy
            .host
            .as_ref()
            .map(|host| ("Host".to_owned(), expression(host))),
    );
    own.extend(
        policy
            .connection
            .as_ref()
            .map(|connection| ("Connection".to_owned(), text(connection))),
    );
    own.extend(forwarded_prefix(route));
    own.extend(route.error_request.iter().flat_map(for_error_service));
    own.extend(
        clients
            .into_iter()
            .flat_map(tls::client_certificate_headers),
    );
    own.extend(auth_request::upstream_headers(policy));
    own
}

/// nginx has groups decoded, and compares other patterns before it sends a header, so they are kept in a variable.
fn forwarded_prefix(route: &HttpRoute) -> Option<(String, Text)> {
    let value = match route.forwarded_prefix.as_ref()?.as_literal() {
        Some(literal) => Text::default().then(literal),
        None => Text::default().variable("sluice_forwarded_prefix"),
    };
    Some(("X-Forwarded-Prefix".to_owned(), value))
}

/// `X-Forwarded-Prefix` with groups of the location's pattern.
pub(crate) fn captured_prefix(route: &HttpRoute) -> Option<Value> {
    let prefix = route.forwarded_prefix.as_ref()?;
    let has_groups = prefix.as_literal().is_none();
    has_groups.then(|| template(Text::default(), prefix).quoted())
}

/// Filters of a route and of its only backend; those of one of several are reported.
fn filters(route: &HttpRoute) -> impl Iterator<Item = &Filter> {
    let of_backend = route.destination().map(Destination::backends);
    let of_backend = match of_backend {
        Some([only]) => only.filters.as_slice(),
        _ => &[],
    };
    route.filters.iter().chain(of_backend)
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

/// nginx sends no header whose value is empty.
fn request_header(change: &HeaderChange) -> (String, Text) {
    let name = change.name.as_str();
    let mut text = Text::default();
    if !change.replaces {
        text = text.variable(&appending(name));
    }
    for (n, value) in change.values.iter().enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        text = text.then(separator).append(expression(&value.value));
    }
    (name.to_owned(), text)
}

/// Variable with the client's value of a header, and a comma behind it.
fn appending(name: &str) -> String {
    format!("sluice_append_{}", snake_case(name))
}

fn snake_case(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Request headers that a filter adds to, as nginx's variables name them.
pub(crate) fn appended(route: &HttpRoute) -> impl Iterator<Item = String> {
    request_header_changes(filters(route))
        .into_iter()
        .filter(|change| !change.replaces)
        .map(|change| snake_case(change.name.as_str()))
}

/// Request headers to an error service, as in ingress-nginx.
pub(crate) fn for_error_service(error: &ErrorRequest) -> Vec<(String, Text)> {
    let ErrorRequest { status, headers } = error;
    let status = Text::default().then(&status.to_string());
    let format = Text::default().variable("http_accept");
    let mut lines = vec![
        ("X-Code".to_owned(), status),
        ("X-Format".to_owned(), format),
    ];
    lines.extend(headers.iter().map(|header| {
        let value = expression(&header.value);
        (header.name.as_str().to_owned(), value)
    }));
    lines
}

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

#[cfg(test)]
mod tests {
    use sluice_ir::Expression;

    use super::*;

    #[test]
    fn a_header_of_the_operator_is_sent_once_and_one_of_the_location_instead_of_it() {
        let name = HeaderName::parse("x-real-ip").unwrap();
        let header = Header {
            name,
            value: Expression::literal("mine"),
        };
        let global = GlobalConfig {
            request_headers: vec![header],
            ..GlobalConfig::default()
        };
        let said = |own| {
            let lines = for_upstream(&global, own).into_iter();
            let lines = lines.map(|(name, value)| format!("{} {}", name.0, value.0));
            lines
                .filter(|line| line.to_ascii_lowercase().contains("x-real-ip"))
                .collect::<Vec<_>>()
        };
        assert_eq!(said(Vec::new()), [r#""x-real-ip" "mine""#]);
        let own = ("X-Real-IP".to_owned(), Text::default().then("own"));
        assert_eq!(said(vec![own]), [r#""X-Real-IP" "own""#]);
    }
}
