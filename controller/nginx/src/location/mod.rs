//! One path rule: what nginx does with its requests before and after the filter has chosen a pod.

pub mod auth_request;
pub(crate) mod buffering;
pub(crate) mod conditional_headers;
pub(crate) mod cors;
pub(crate) mod direct_response;
pub(crate) mod errors;
pub(crate) mod fastcgi;
pub(crate) mod forward;
pub(crate) mod headers;
pub(crate) mod joined_headers;
pub(crate) mod limits;
pub(crate) mod matching;
pub(crate) mod mirror;
pub(crate) mod module;
mod plain_http;
pub(crate) mod redirect;
pub(crate) mod response_headers;
pub(crate) mod response_rewrite;
pub(crate) mod responses;
pub(crate) mod upstream_tls;
pub(crate) mod waf;

use askama::Template;
use sluice_host_table::{PathEntry, variables};
use sluice_ir::{Action, BackendId, ClientCertificates, HttpRoute, VerifyClient};

use crate::conf::{Quoted, Text, Value, Word, value, word};
use crate::context::{Host, RenderContext};
use crate::location::direct_response::DirectResponses;
use crate::location::forward::{Forward, Target, own_body};
use crate::location::redirect::RedirectConf;
use crate::location::responses::Responses;
use crate::location::waf::WafConf;
use crate::traces::LocationSpans;

/// Directives between the braces of `location {}`.
#[derive(Template)]
#[template(path = "location/location.conf")]
pub(crate) struct LocationConf {
    /// nginx's sign for the kind of match, with a blank after it.
    sign: &'static str,
    path: Word,
    /// In a host table, but for its profile.
    pub(crate) entry: Option<PathEntry>,
    id: Value,
    /// Its requests are counted by its id.
    counted: bool,
    /// The backend that answers them.
    main: Option<Value>,
    /// They are not written down where others are.
    unlogged: bool,
    spans: LocationSpans,
    /// A request without a good certificate is refused. nginx itself asks for one in handshakes only.
    certified: bool,
    /// Responses before the content. They come after a preflight.
    direct: DirectResponses,
    /// `X-Forwarded-Prefix` with groups of its pattern, before another is compared.
    prefix: Option<Value>,
    waf: Option<WafConf>,
    content: Content,
}

/// Action of a location.
enum Content {
    Denied,
    /// nginx answers before any policy.
    Return(u16),
    Redirect(RedirectConf, Box<Responses>),
    Forward(Box<Forward>),
}

impl LocationConf {
    /// `None` when nginx could not read it.
    pub(crate) fn new(
        (sign, path): (&'static str, &str),
        route: &HttpRoute,
        host: Host<'_>,
        context: RenderContext<'_>,
        is_closed: bool,
    ) -> Option<Self> {
        let content = match is_closed {
            true => Content::Denied,
            false => Content::new((route, &format!("{sign}{path}")), host, context),
        };
        let required = |clients: &ClientCertificates| clients.verify == VerifyClient::Required;
        let certified = host
            .server
            .client_certificates
            .as_ref()
            .is_some_and(required);
        let global = context.global();
        let counted = context.counts_routes();
        let logged = context.logs;
        let main = (counted || logged).then(|| value(main(route)));
        let unlogged = logged && route.policy.access_log_off;
        let found = |name| Text::default().variable(name).quoted();
        let (id, main) = match context.by_table {
            true => (
                found(variables::ROUTE),
                main.map(|_| found(variables::BACKEND)),
            ),
            false => (value(route.id.as_str()), main),
        };
        let direct = DirectResponses::new(route, global);
        let waf = WafConf::new(route, context);
        let made = LocationConf {
            sign,
            path: word(path),
            entry: context.by_table.then(|| entry((sign, path), route)),
            id,
            counted,
            main,
            unlogged,
            spans: LocationSpans::new(route, global),
            certified,
            direct,
            prefix: headers::captured_prefix(route),
            waf,
            content,
        };
        made.fits().then_some(made)
    }

    /// The line that it begins with.
    pub(crate) fn head(&self) -> String {
        format!("location {}{} {{", self.sign, self.path)
    }

    /// True if it can be in a host table, beside these. To the path of a prefix without its slash nginx answers with a redirect.
    pub(crate) fn can_be_found(&self, all: &[LocationConf]) -> bool {
        let path = self.entry.as_ref().map(|entry| entry.path.as_str());
        let bare = path.and_then(|path| path.strip_suffix('/'));
        let is_exact = |it: &PathEntry| it.exact && Some(it.path.as_str()) == bare;
        let redirects = self.sign.is_empty() && bare.is_some_and(|bare| !bare.is_empty());
        let has_exact = || all.iter().any(|it| it.entry.as_ref().is_some_and(is_exact));
        matches!(self.sign, "" | "= ") && self.waf.is_none() && (!redirects || has_exact())
    }

    /// True if nginx can read it.
    fn fits(&self) -> bool {
        let content = match &self.content {
            Content::Denied | Content::Return(_) => true,
            Content::Redirect(answer, responses) => answer.to.0.fits() && responses.fits(),
            Content::Forward(forward) => forward.fits(),
        };
        let waf = self.waf.iter().all(WafConf::fits);
        let words = [&self.path, &self.id].into_iter().chain(&self.prefix);
        let mut words = words.map(|word| &word.0);
        content && waf && self.direct.fits() && words.all(Quoted::fits)
    }
}

impl Content {
    fn new((route, at): (&HttpRoute, &str), host: Host<'_>, context: RenderContext<'_>) -> Self {
        match &route.action {
            Action::Denied => Content::Denied,
            Action::Redirect(redirect) => {
                let answer = RedirectConf {
                    body: own_body(&route.policy, context.global()),
                    ..redirect::answer(redirect, &route.matches.path)
                };
                let adds = answer.adds_location();
                let responses = Responses::of_redirect(route, context, adds);
                Content::Redirect(answer, Box::new(responses))
            }
            Action::Respond(status @ 200..300) => Content::Return(*status),
            Action::Forward(_) | Action::Respond(_) => {
                Content::Forward(Box::new(Forward::new((route, at), host, context)))
            }
        }
    }
}

fn entry((sign, path): (&str, &str), route: &HttpRoute) -> PathEntry {
    PathEntry {
        path: path.to_owned(),
        exact: sign == "= ",
        profile: String::new(),
        route: route.id.as_str().to_owned(),
        backend: main(route).to_owned(),
    }
}

/// The main backend of a location, without its canaries.
fn main(route: &HttpRoute) -> &str {
    route.primary_backend().map_or("", BackendId::as_str)
}
