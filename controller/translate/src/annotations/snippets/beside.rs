//! Snippets beside the other settings of their Ingress.

use sluice_ir::{ExpressionPart, HeaderName, Hostname, IpAccess};

use super::{Settings, Snippet};
use crate::annotations::alternatives::not_needed;
use crate::annotations::snippet_obstacle::Obstacle;
use crate::snippet::{
    self, AuthRequest, Block, Comparable, CompileOptions, Compiled, HeaderOptions, Upstream,
    compile,
};
use crate::support::DataPlane;

/// Compiles a snippet, as far as the settings beside it let it. `allowlist`: the annotation of allowed networks, as it is written.
/// `hosts`: all that it is for, where they are known.
pub(super) fn compiled(
    snippet: Snippet<'_>,
    settings: Settings<'_>,
    allowlist: &str,
    hosts: Option<&[Hostname]>,
) -> Result<Compiled, Obstacle> {
    let block = snippet.block().ok_or(Obstacle::Kind)?;
    if block == Block::Location && settings.is_redirect {
        return Err(Obstacle::Conflict(
            "not supported beside a redirect of all requests".into(),
        ));
    }
    let options = CompileOptions {
        headers: HeaderOptions {
            is_set_elsewhere: &|name| is_set_elsewhere(name, settings),
            speaks_grpc: settings.speaks_grpc,
            underscores: settings.globals.config.underscores_in_headers,
            forwarded: &settings.globals.config.forwarded,
        },
        has_auth_service: settings
            .policy
            .authentication
            .as_ref()
            .is_some_and(|it| it.external.is_some()),
        comparable: Comparable::by(settings.data_plane, &settings.globals.config),
        hosts,
        of_all_servers: false,
        data_plane: settings.data_plane,
        not_needed: &|name| not_needed(name, settings.data_plane),
    };
    let compiled = compile(snippet.text, block, options).map_err(|mut errors| {
        if settings.data_plane == Some(DataPlane::Envoy) {
            let comparable = Comparable::BY_NGINX;
            let with_nginx = compile(
                snippet.text,
                block,
                CompileOptions {
                    comparable,
                    ..options
                },
            );
            errors.mark_served_by_nginx(with_nginx.err());
        }
        Obstacle::Content(errors)
    })?;
    check(&compiled, block, settings, allowlist)?;
    Ok(compiled)
}

/// Checks that no other setting has a say about the same.
fn check(
    compiled: &Compiled,
    block: Block,
    settings: Settings<'_>,
    allowlist: &str,
) -> Result<(), Obstacle> {
    if block == Block::AuthRequest {
        check_auth_request(&compiled.auth_request, settings)?;
    }
    check_upstream(&compiled.upstream, settings)?;
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

/// nginx takes no directive twice.
fn check_upstream(upstream: &Upstream, settings: Settings<'_>) -> Result<(), Obstacle> {
    let reason = if upstream.bandwidth_limit.is_some() && settings.policy.bandwidth_limit.is_some()
    {
        "limit_rate is set by limit-rate, too"
    } else if upstream.server_name.is_some() && settings.has_upstream_tls {
        "proxy_ssl_server_name is set with proxy-ssl-secret, too"
    } else {
        return Ok(());
    };
    Err(Obstacle::Conflict(reason.into()))
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
fn is_set_elsewhere(name: &HeaderName, settings: Settings<'_>) -> bool {
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
            if snippet::told_by(variable).is_some_and(|told| name.is_alike(told)))
    });
    let headers = set().map(|header| &header.name);
    let headers = headers
        .chain(&policy.auth_headers)
        .chain(&global.hidden_headers);
    let lower = name.as_str().to_ascii_lowercase();
    is_read
        || headers
            .into_iter()
            .any(|known| known.is_alike(name.as_str()))
        || policy.cors.is_some() && lower.starts_with("access-control-")
        || settings.has_forwarded_prefix && name.is_alike("x-forwarded-prefix")
}
