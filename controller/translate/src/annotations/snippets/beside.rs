//! Snippets beside the other settings of their Ingress.

use sluice_ir::{ExpressionPart, HeaderName, IpAccess};

use super::{Context, Settings, Snippet};
use crate::annotations::alternatives::not_needed;
use crate::annotations::snippet_obstacle::Obstacle;
use crate::global::Globals;
use crate::snippet::{
    self, AuthRequest, Block, Comparable, CompileOptions, Compiled, HeaderOptions, compile,
};

/// Compiles a snippet, as far as the settings beside it let it.
pub(super) fn compiled(snippet: Snippet<'_>, context: Context<'_>) -> Result<Compiled, Obstacle> {
    let settings = context.settings;
    let block = snippet.block().ok_or(Obstacle::Kind)?;
    if block == Block::Location && settings.is_redirect {
        return Err(Obstacle::Conflict(
            "not supported beside a redirect of all requests".into(),
        ));
    }
    let is_set_elsewhere = |name: &HeaderName| is_set_elsewhere(name, settings);
    let compiled = with_options(context, &is_set_elsewhere, |options| {
        compile(snippet.text, block, options)
    });
    let compiled = compiled.map_err(Obstacle::Content)?;
    check(&compiled, block, context)?;
    Ok(compiled)
}

/// Compiles by the settings of an Ingress. `is_set_elsewhere`: another one has a say about the header.
pub(super) fn with_options<T>(
    context: Context<'_>,
    is_set_elsewhere: &dyn Fn(&HeaderName) -> bool,
    compile: impl FnOnce(CompileOptions<'_>) -> T,
) -> T {
    let Context {
        settings, hosts, ..
    } = context;
    compile(CompileOptions {
        headers: HeaderOptions {
            is_set_elsewhere,
            speaks_grpc: settings.speaks_grpc,
            underscores: settings.globals.config.underscores_in_headers,
            forwarded: &settings.globals.config.forwarded,
            knows_users: settings.knows_users(),
            hidden: &settings.globals.config.hidden_headers,
            adds_to_errors: false,
        },
        has_auth_service: settings
            .policy
            .authentication
            .as_ref()
            .is_some_and(|it| it.external.is_some()),
        comparable: Comparable::by(settings.data_plane, &settings.globals.config),
        hosts,
        header_buffers: settings.globals.config.http.header_buffers,
        of_all_servers: false,
        constants: Some(context.constants),
        data_plane: settings.data_plane,
        not_needed: &|name| not_needed(name, settings.data_plane),
    })
}

/// Checks that no other setting has a say about the same.
fn check(compiled: &Compiled, block: Block, context: Context<'_>) -> Result<(), Obstacle> {
    let Context {
        settings,
        allowlist,
        ..
    } = context;
    if block == Block::AuthRequest {
        check_auth_request(&compiled.auth_request, settings)?;
    }
    if let Some(reason) = policy_conflict(compiled, context) {
        return Err(Obstacle::Conflict(reason.into()));
    }
    if let Some(name) = set_by_operator(compiled, block, settings.globals) {
        let reason = format!(
            "variable ${name} is not always set, and a snippet of the ConfigMap has it, too; begin with `set ${name} \"\";`"
        );
        return Err(Obstacle::Conflict(reason.into()));
    }
    if !compiled.path_changes.is_empty() && settings.has_forwarded_prefix {
        let reason = "rewrite with break is not supported beside x-forwarded-prefix";
        return Err(Obstacle::Conflict(reason.into()));
    }
    let has_lists = |access: &IpAccess| *access != IpAccess::default();
    // nginx would put its lists behind those of the annotations.
    if block == Block::Location
        && has_lists(&compiled.access)
        && has_lists(&settings.policy.ip_access)
    {
        let reason =
            format!("allow and deny cannot be combined with {allowlist} and denylist-source-range");
        return Err(Obstacle::Conflict(reason.into()));
    }
    Ok(())
}

/// A variable that is taken to be empty, though a snippet of the ConfigMap may give it a value before.
fn set_by_operator(compiled: &Compiled, block: Block, globals: &Globals) -> Option<String> {
    let variables = &compiled.variables;
    let of_server = globals.server_snippet.as_ref();
    let of_server = of_server.filter(|_| block == Block::Location);
    let of_server = || variables.set_before(&of_server?.set_variables);
    let found = variables.set_before(&globals.http_variables);
    found.or_else(of_server).map(str::to_owned)
}

/// nginx takes no directive twice.
pub(super) fn policy_conflict(compiled: &Compiled, context: Context<'_>) -> Option<&'static str> {
    let (settings, upstream) = (context.settings, &compiled.upstream);
    if compiled.satisfy.is_some() && context.says_satisfy {
        Some("satisfy is set by the annotation, too")
    } else if upstream.bandwidth.rate.is_some() && settings.policy.bandwidth_limit.is_some() {
        Some("limit_rate is set by limit-rate, too")
    } else if upstream.bandwidth.after.is_some() && settings.policy.bandwidth_limit_after > 0 {
        Some("limit_rate_after is set by limit-rate-after, too")
    } else if upstream.server_name.is_some() && settings.has_upstream_tls {
        Some("proxy_ssl_server_name is set with proxy-ssl-secret, too")
    } else if (upstream.versions.is_some() || upstream.ciphers.is_some())
        && settings.has_upstream_tls
    {
        Some("proxy_ssl_protocols and proxy_ssl_ciphers are set with proxy-ssl-secret, too")
    } else {
        None
    }
}

/// The service has to be the Ingress's own, and a header is set by one setting alone.
fn check_auth_request(request: &AuthRequest, settings: Settings<'_>) -> Result<(), Obstacle> {
    let Some(service) = settings.own_auth_service() else {
        let reason = "requires auth-url, which is not set";
        return Err(Obstacle::Conflict(reason.into()));
    };
    let twice = (request.host.is_some() && service.host.is_some()).then_some("Host");
    let mut set = service.headers.iter().map(|header| &header.name);
    let twice = twice.or_else(|| set.find(|name| request.sets(name)).map(HeaderName::as_str));
    match twice {
        None => Ok(()),
        Some(name) => {
            let reason = format!("{name} is set by auth-proxy-set-headers, too");
            Err(Obstacle::Conflict(reason.into()))
        }
    }
}

/// Another setting has a say about the header, or says it in another one.
pub(super) fn is_set_elsewhere(name: &HeaderName, settings: Settings<'_>) -> bool {
    let (policy, global) = (settings.policy, &settings.globals.config);
    let set = || {
        policy
            .response_headers
            .iter()
            .chain(&global.response_headers)
            .chain(&global.request_headers)
    };
    let hosts = policy.host.iter().chain(&global.host);
    let values = set().map(|header| &header.value).chain(hosts);
    let is_read = values.flat_map(|value| &value.0).any(|part| {
        matches!(part, ExpressionPart::Variable(variable)
            if snippet::source_header(variable).is_some_and(|told| name.is_alike(told)))
    });
    let headers = set().map(|header| &header.name);
    let headers = headers.chain(&policy.auth_headers);
    let lower = name.as_str().to_ascii_lowercase();
    is_read
        || headers
            .into_iter()
            .any(|known| known.is_alike(name.as_str()))
        || policy.cors.is_some() && lower.starts_with("access-control-")
        || settings.has_forwarded_prefix && name.is_alike("x-forwarded-prefix")
}
