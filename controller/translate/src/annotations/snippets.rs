//! Snippets: raw nginx configuration. No data plane gets any of it (R1 of the security rules); what the model can say becomes
//! policies of routes.

mod beside;
mod notes;
mod operators;
mod policy;
mod rules;

use std::sync::Arc;

use sluice_ir::{
    ConnectionSettings, DirectResponse, ExternalAuth, Filter, HeaderName, HeaderVariant, Hostname,
    IpAccess, PasswordScheme, Policy, UpstreamHeader,
};
use sluice_syntax::seclang::SecLang;
use sluice_translate_engine::{ClosedFor, Severity};

use self::beside::compiled;
use self::notes::{note_differences, note_no_effect, note_not_needed};
use super::alternatives::alternatives;
use super::catalogue::{Annotation, Group, Scope, Value, annotation};
use super::snippet_obstacle::Obstacle;
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::route_names::RouteHeader;
use crate::snippet::{
    self, AuthRequest, Block, Compiled, Constants, Effective, Judgement, Language, LocationSnippet,
    NamedLocation, PathChange, Satisfy, ServerSnippet, SharedVariables, SnippetShare, Upstream,
};
use crate::support::{AppliesTo, DataPlane, NO_STREAM_SNIPPETS};

pub(super) const GROUP: Group = Group {
    title: "Snippets",
    annotations: &[
        annotation(
            "configuration-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Location,
        )
        .snippet()
        .partly(
            "headers, return, rewrite, if, set, allow and deny (docs/snippets.md), with allow-snippet-annotations and \
             annotations-risk-level: Critical; others are reported with alternatives",
        ),
        annotation(
            "server-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .partly(
            "response headers, return, rewrite, if, set, allow, deny and location (docs/snippets.md), with allow-snippet-annotations and \
             annotations-risk-level: Critical; others are reported with alternatives",
        ),
        annotation(
            "stream-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .instead(NO_STREAM_SNIPPETS),
    ],
};

/// A snippet of an Ingress, to be looked at when the rest is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snippet<'a> {
    pub(super) annotation: &'static Annotation,
    pub(super) text: &'a str,
    pub(super) applies_to: AppliesTo,
    /// The data plane serves its kind.
    pub(super) is_served: bool,
    /// The operator takes none of its risk.
    pub(super) is_too_risky: bool,
}

impl Snippet<'_> {
    /// Block that it is put into; `None`: no snippet of its kind is served.
    pub(super) fn block(self) -> Option<Block> {
        block_of(self.annotation.name)
    }
}

fn block_of(annotation: &str) -> Option<Block> {
    match annotation {
        "configuration-snippet" => Some(Block::Location),
        "server-snippet" => Some(Block::Server),
        "auth-snippet" => Some(Block::AuthRequest),
        _ => None,
    }
}

/// True if a snippet is for all that its namespace has of a host.
pub(super) fn is_of_server(annotation: &str) -> bool {
    block_of(annotation) == Some(Block::Server)
}

/// Effect of the snippets of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Filters of its routes.
    pub(super) filters: Vec<Filter>,
    /// Headers of its requests to pods that name the route.
    pub(super) route_headers: Vec<RouteHeader>,
    /// Direct responses of its routes.
    pub(super) direct_responses: Vec<DirectResponse>,
    /// Headers of its responses under conditions.
    pub(super) header_variants: Vec<HeaderVariant>,
    /// Paths that its pods see in place of those that clients asked for.
    pub(super) path_changes: Vec<PathChange>,
    /// Lists of networks for its routes, if it has any.
    pub(super) access: Option<IpAccess>,
    /// An allowed address or authentication is enough.
    pub(super) satisfies_any: bool,
    /// Requests to its routes are not logged.
    pub(super) access_log_off: bool,
    /// Headers of requests to its authentication service.
    pub(super) auth_request: AuthRequest,
    /// Headers of requests to pods from the response of its authentication service.
    pub(super) auth_headers: Vec<UpstreamHeader>,
    /// Headers of requests to pods with the name of the user.
    pub(super) user_headers: Vec<HeaderName>,
    /// Timeouts of its clients.
    pub(super) clients: ConnectionSettings,
    /// Of its responses, and of connections to its pods.
    pub(super) upstream: Upstream,
    /// Variables that its server may have set.
    pub(super) variables: SharedVariables,
    /// Rules of its web application firewall.
    pub(super) rules: Option<SecLang>,
    /// Locations of its hosts that no path leads to.
    pub(super) named: Vec<NamedLocation>,
    /// The ConfigMap's snippet of locations is among them.
    has_configmaps: bool,
    /// Its share in them.
    pub(super) configmap_share: SnippetShare,
    /// Policies of its hosts.
    pub(super) server: Option<Arc<ServerSnippet>>,
}

/// Settings beside the snippets of an Ingress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'a> {
    pub(super) policy: &'a Policy,
    pub(super) is_redirect: bool,
    /// Its pods are spoken to in gRPC.
    pub(super) speaks_grpc: bool,
    /// `x-forwarded-prefix` is set.
    pub(super) has_forwarded_prefix: bool,
    /// Annotations say how pods are spoken to with TLS.
    pub(super) has_upstream_tls: bool,
    /// It has an authentication service of its own.
    pub(super) has_auth_service: bool,
    pub(super) is_canary: bool,
    pub(super) globals: &'a Globals,
    pub(super) data_plane: Option<DataPlane>,
}

/// Everything that decides about the snippets of an Ingress.
#[derive(Clone, Copy)]
struct Context<'a> {
    settings: Settings<'a>,
    /// The annotation of allowed networks, as it is written.
    allowlist: &'a str,
    /// `satisfy` is set.
    says_satisfy: bool,
    /// All hosts that they are for, where they are known.
    hosts: Option<&'a [Hostname]>,
    constants: &'a Constants,
}

impl Settings<'_> {
    /// Authentication service that the Ingress names, and not the ConfigMap.
    fn own_auth_service(&self) -> Option<&ExternalAuth> {
        let authentication = self.policy.authentication.as_ref()?;
        authentication
            .external
            .as_ref()
            .filter(|_| self.has_auth_service)
    }

    /// Every request that comes to pods has a password that was right, with a name in plain text.
    fn knows_users(&self) -> bool {
        let authentication = self.policy.authentication.as_ref();
        let authentication = authentication.filter(|it| !it.satisfy_any);
        let passwords = authentication.and_then(|it| it.passwords.as_ref());
        passwords.is_some_and(|it| it.scheme == PasswordScheme::Basic)
    }

    fn permit(self, snippet: Snippet<'_>) -> bool {
        !snippet.is_too_risky && self.globals.trust.admission.allow_snippets
    }
}

/// Serves the snippets that can be served, reports all others, and closes the paths of those that may guard.
pub(super) fn apply(view: &mut View<'_, '_>, settings: Settings<'_>) -> Effect {
    let mut effect = Effect::default();
    let hosts: Option<Vec<Hostname>> = view.hosts.take().map(|all| all.into_iter().collect());
    let constants = std::mem::take(&mut view.constants);
    let constants = match hosts.as_deref() {
        Some([host]) => constants.with_host(host.as_str()),
        _ => constants,
    };
    let context = Context {
        settings,
        allowlist: view.written_name("allowlist-source-range"),
        says_satisfy: view.text("satisfy").is_some(),
        hosts: hosts.as_deref(),
        constants: &constants,
    };
    for snippet in std::mem::take(&mut view.snippets) {
        if settings.is_canary {
            note_no_effect(
                view,
                snippet,
                "a canary has the snippets of its main Ingress",
            );
        } else if snippet::language(snippet.annotation.name) == Some(Language::ModSecurity) {
            effect.take_rules(view, snippet, settings);
        } else {
            effect.serve(view, snippet, context);
        }
    }
    let of_configmap = settings.globals.location_snippet.as_deref();
    let of_configmap = of_configmap.filter(|_| !settings.is_canary && !effect.has_configmaps);
    if let Some(snippet) = of_configmap {
        match operators::alone(snippet, context) {
            Ok(compiled) => effect.take_with(compiled, snippet),
            Err(reason) => operators::refuse(&reason, snippet, settings, view),
        }
    }
    effect
}

impl Effect {
    /// Serves a snippet, or says why not.
    fn serve(&mut self, view: &mut View<'_, '_>, snippet: Snippet<'_>, context: Context<'_>) {
        let settings = context.settings;
        let mut compiled = match compiled(snippet, context) {
            Ok(compiled) => compiled,
            Err(obstacle) => {
                refuse(view, snippet, obstacle, settings);
                return;
            }
        };
        let not_needed = std::mem::take(&mut compiled.not_needed);
        let has_no_effect = compiled.has_no_effect() && !snippet.is_too_risky;
        if !has_no_effect && !settings.permit(snippet) {
            refuse(view, snippet, Obstacle::NotPermitted, settings);
            return;
        }
        let of_configmap = settings.globals.location_snippet.as_deref();
        let of_configmap = of_configmap.filter(|_| snippet.block() == Some(Block::Location));
        let both = of_configmap.map(|of_configmap| {
            operators::behind(snippet, of_configmap, context).map(|both| (both, of_configmap))
        });
        let both = match both.transpose() {
            Ok(both) => both,
            Err(obstacle) => {
                refuse(view, snippet, obstacle, settings);
                return;
            }
        };
        note_not_needed(view, snippet, not_needed, has_no_effect);
        note_differences(view, snippet, &compiled, settings.data_plane);
        match both {
            Some((both, of_configmap)) => self.take_with(both, of_configmap),
            None => self.take(compiled, snippet.block()),
        }
    }

    /// With the ConfigMap's snippet of locations.
    fn take_with(&mut self, compiled: Compiled, of_configmap: &LocationSnippet) {
        self.take(compiled, Some(Block::Location));
        self.has_configmaps = true;
        self.configmap_share = of_configmap.share();
    }
}

impl Effect {
    /// With several data planes a snippet is here once for each.
    fn take(&mut self, compiled: Compiled, block: Option<Block>) {
        let Compiled {
            filters,
            route_headers,
            differences: _,
            direct_responses,
            header_variants,
            path_changes,
            server_rewrites: rewrites,
            access,
            satisfy,
            access_log_off,
            locations,
            named,
            auth_request,
            auth_headers,
            user_headers,
            connections,
            proxy: _,
            upstream,
            variables,
            not_needed: _,
        } = compiled;
        match block {
            Some(Block::Server) => {
                self.named = named;
                self.server = Some(Arc::new(ServerSnippet {
                    filters,
                    direct_responses,
                    access,
                    access_log_off,
                    locations,
                    connections,
                    rewrites,
                    set_variables: variables.set,
                }));
            }
            Some(Block::AuthRequest) => self.auth_request = auth_request,
            _ => {
                self.filters = filters;
                self.route_headers = route_headers;
                self.direct_responses = direct_responses;
                self.header_variants = header_variants;
                self.path_changes = path_changes;
                self.access = Some(access).filter(|access| *access != IpAccess::default());
                self.satisfies_any = satisfy == Some(Satisfy::Any);
                self.access_log_off = access_log_off;
                self.auth_headers = auth_headers;
                self.user_headers = user_headers;
                self.clients = connections;
                self.upstream = upstream;
                self.variables = variables;
            }
        }
    }
}

/// Reports a snippet that is not served, and closes what it may guard: of one of the server, all that the namespace has of the hosts.
fn refuse(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    obstacle: Obstacle,
    settings: Settings<'_>,
) {
    let Snippet {
        annotation,
        text,
        is_too_risky,
        ..
    } = snippet;
    let Some(language) = snippet::language(annotation.name) else {
        return;
    };
    let effective = Effective {
        largest_body: settings.policy.max_body_size,
    };
    let Judgement {
        advice,
        closing,
        is_default,
    } = snippet::judge(text, language, effective, settings.data_plane, alternatives);
    if is_default && !is_too_risky {
        note_no_effect(view, snippet, "it sets only defaults");
        return;
    }
    let closing = closing.or_else(|| settings.closing(language));
    let closes = closing.is_some();
    if closes {
        view.deny(annotation);
    }
    let closed = match snippet.block() {
        Some(Block::Server) => "all paths of its namespace on its hosts answer 503",
        _ => "affected paths answer 503",
    };
    let (severity, consequence) = match closing {
        Some(closing) => (
            Severity::Error,
            format!("none of the snippet is served; {closing}; {closed}"),
        ),
        None => (
            Severity::Warning,
            "none of the snippet is served".to_owned(),
        ),
    };
    let (code, reason) = obstacle.reason(snippet, &advice, settings.data_plane);
    let field = format!("annotation {}", annotation.name);
    let report = view
        .reporter
        .report(code, severity, field, reason, consequence);
    report.admission_denied |= is_too_risky;
    report.closed_for = closes.then_some(ClosedFor::AccessControl);
}
