//! nginx's strings with variables: `$remote_addr`, `${cookie_user}x`.

use sluice_ir::{Expression, ExpressionPart, Variable};

use crate::template::Target;
use crate::value::{self, Parsed};
use crate::variables::{Prefixed, Segment, canonical, segments};

/// Maximum bytes of a header that is set. Data planes take no more: Envoy 16 KiB when all is written down, nginx 4 KiB.
pub const MAX_HEADER_BYTES: usize = 3000;
/// Bytes of the name of a host.
const LONGEST_HOST: usize = 253;

/// Parses a text with variables that every data plane has; the error names the first that is not one.
pub fn parse(text: &str) -> Parsed<Expression> {
    parse_with(text, |_| None)
}

/// As [`parse`], for requests to an external authentication service, which the controller itself writes.
pub fn for_ext_auth(text: &str) -> Parsed<Expression> {
    parse_with(text, |name| of_ext_auth(name).map(ExpressionPart::Variable))
}

/// As [`for_ext_auth`], with constants in the place of variables.
pub fn for_ext_auth_with<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    parse_with(text, |name| {
        let known = of_ext_auth(name).map(ExpressionPart::Variable);
        known.or_else(|| constant(name).map(|value| ExpressionPart::Text(value.to_owned())))
    })
}

/// As [`for_ext_auth_with`], for a redirect of the client, which has its query, too.
pub fn for_sign_in<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    parse_with(text, |name| {
        let is_server = canonical(name) == "server_name";
        let known = of_ext_auth(name).or_else(|| of_query(name));
        let known = known.or_else(|| is_server.then_some(Variable::Hostname));
        let known = known.map(ExpressionPart::Variable);
        known.or_else(|| constant(name).map(|value| ExpressionPart::Text(value.to_owned())))
    })
}

fn of_ext_auth(name: &str) -> Option<Variable> {
    match name {
        "escaped_request_uri" => Some(Variable::EscapedRequestUri),
        _ => None,
    }
}

/// As [`for_ext_auth`], for a key of its cache. `$remote_user` is a part of `Authorization`, so that header distinguishes at least
/// as much. Each location has answers of its own, so whatever is constant there is a text, its name.
pub fn for_cache_key(text: &str, is_constant: impl Fn(&str) -> bool) -> Parsed<Expression> {
    parse_with(text, |name| {
        let is_user = name.eq_ignore_ascii_case("remote_user");
        let whole = is_user.then(|| Variable::Header("authorization".to_owned()));
        let variable = whole.or_else(|| of_ext_auth(name));
        let constant = is_constant(name).then(|| ExpressionPart::Text(name.to_owned()));
        variable.map(ExpressionPart::Variable).or(constant)
    })
}

/// As [`parse`], for parameters of FastCGI.
pub fn for_fastcgi(text: &str) -> Parsed<Expression> {
    parse_with(text, |name| {
        let is_script = canonical(name) == "fastcgi_script_name";
        is_script.then_some(ExpressionPart::Variable(Variable::ScriptName))
    })
}

/// As [`parse`], without what a data plane cannot put into a header.
pub fn for_headers(text: &str) -> Parsed<Expression> {
    for_headers_with(text, |_| None)
}

/// As [`for_headers`], of requests to pods, which also have the time (`$msec`, `$time_iso8601`) and the query (`$is_args$args`).
pub fn for_requests(text: &str) -> Parsed<Expression> {
    without_cookies(parse_with(text, |name| {
        let known = time(name).or_else(|| of_query(name));
        known.map(ExpressionPart::Variable)
    })?)
}

/// As [`for_headers`], of requests to all pods, which also have the time: it is never empty.
pub fn for_all_requests(text: &str) -> Parsed<Expression> {
    without_cookies(parse_with(text, |name| {
        time(name).map(ExpressionPart::Variable)
    })?)
}

fn time(name: &str) -> Option<Variable> {
    match canonical(name).as_str() {
        "msec" => Some(Variable::Time),
        "time_iso8601" => Some(Variable::IsoTime),
        _ => None,
    }
}

/// As [`for_headers`], of `Host`, which may have one cookie: each costs Envoy about 15 us for each request.
pub fn for_host_with<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    let host = parse_with(text, |name| {
        constant(name).map(|value| ExpressionPart::Text(value.to_owned()))
    })?;
    let is_cookie =
        |part: &&ExpressionPart| matches!(part, ExpressionPart::Variable(Variable::Cookie(_)));
    match host.0.iter().filter(is_cookie).count() {
        // A client without the cookie would choose its own `Host`.
        1 if host.0.len() == 1 => Err("a $cookie_NAME with a text beside it".into()),
        0 | 1 => Ok(host),
        _ => Err("at most one $cookie_NAME".into()),
    }
}

/// As [`for_headers`], of responses, which also have what came of the request, and cookies.
pub fn for_responses(text: &str) -> Parsed<Expression> {
    parse_with(text, |name| {
        let known = match canonical(name).as_str() {
            "status" => Some(Variable::Status),
            "time_iso8601" => Some(Variable::IsoTime),
            "upstream_addr" => Some(Variable::UpstreamAddress),
            "upstream_status" => Some(Variable::UpstreamStatus),
            _ => of_query(name),
        };
        known.map(ExpressionPart::Variable)
    })
}

/// A URL to redirect to, with `$scheme`, `$host`, `$request_uri`, `$is_args` and `$args` in it. A path is one of the same host.
pub fn for_redirects(text: &str) -> Parsed<Expression> {
    const EXPECTED: &str = "a URL with http://, https:// or $scheme://, or a path, of variables with $scheme, $host, $request_uri, $is_args and \
                            $args alone";
    // What clients asked for has the same path, encoded, and the same query.
    let text = text
        .replace("$uri$is_args$args", "$request_uri")
        .replace("$server_name", "$host");
    let written = if ["/", "$request_uri", "${request_uri}"]
        .iter()
        .any(|it| text.starts_with(it))
    {
        format!("$scheme://$host{text}")
    } else {
        text
    };
    let mut schemes = ["http://", "https://", "$scheme://"].into_iter();
    if !schemes.any(|scheme| written.starts_with(scheme)) {
        return Err(EXPECTED.into());
    }
    of_redirects(&written)?.ok_or_else(|| EXPECTED.into())
}

/// The path of a redirect to the same host, with the variables of [`for_redirects`] in it.
pub fn for_app_root(text: &str) -> Parsed<Expression> {
    const EXPECTED: &str = "an absolute path, of variables with $scheme, $host, $request_uri, $is_args and $args alone";
    let text = text
        .replace("$uri$is_args$args", "$request_uri")
        .replace("$server_name", "$host");
    let path = of_redirects(&text)?;
    let Expression(parts) = path.ok_or(EXPECTED)?;
    let part = |part| match part {
        ExpressionPart::Text(text) => {
            let target = Target::parse(&text).ok()?;
            let plain = target.literal()?;
            Some(ExpressionPart::Text(value::percent_encoded(plain)))
        }
        ExpressionPart::Variable(_) => Some(part),
    };
    let parts: Option<Vec<_>> = parts.into_iter().map(part).collect();
    let begins = |parts: &Vec<_>| match parts.first() {
        Some(ExpressionPart::Text(text)) => text.starts_with('/'),
        Some(ExpressionPart::Variable(variable)) => *variable == Variable::RequestUri,
        None => false,
    };
    let parts = parts.filter(begins).ok_or(EXPECTED)?;
    if bytes(&parts) > MAX_HEADER_BYTES {
        return Err(format!("a path of at most {MAX_HEADER_BYTES} bytes, percent-encoded").into());
    }
    Ok(Expression(parts))
}

/// `None`: it has a variable that a redirect has not. A path that is decoded may have ends of lines in it.
fn of_redirects(text: &str) -> Parsed<Option<Expression>> {
    let Expression(parts) = parse_with(text, |name| of_query(name).map(ExpressionPart::Variable))?;
    let part = |part| match part {
        ExpressionPart::Text(_) => Some(part),
        ExpressionPart::Variable(variable) => of_url(variable).map(ExpressionPart::Variable),
    };
    let parts = parts.into_iter().map(part).collect::<Option<Vec<_>>>();
    let longest = parts.iter().flatten().map(|part| match part {
        ExpressionPart::Text(text) => text.len(),
        ExpressionPart::Variable(_) => LONGEST_HOST,
    });
    // A data plane may write the host's name for it.
    if longest.sum::<usize>() > MAX_HEADER_BYTES {
        return Err(too_long().into());
    }
    Ok(parts.map(Expression))
}

/// The query, as clients sent it: no end of a line is in it.
fn of_query(name: &str) -> Option<Variable> {
    match canonical(name).as_str() {
        "args" | "query_string" => Some(Variable::Query),
        "is_args" => Some(Variable::QuestionMark),
        _ => None,
    }
}

/// A variable that a URL may have.
fn of_url(variable: Variable) -> Option<Variable> {
    match variable {
        Variable::Host | Variable::Hostname => Some(Variable::Hostname),
        Variable::Scheme | Variable::RequestUri | Variable::Query | Variable::QuestionMark => {
            Some(variable)
        }
        _ => None,
    }
}

/// A text to send, of several lines, with variables that every request has: those of URLs, the method and the address of the
/// client. Not `$request_id`, which is any text of the client where it sends one, and may be read as HTML.
pub fn for_bodies(text: &str) -> Parsed<Expression> {
    const EXPECTED: &str = "a text of variables with $host, $scheme, $request_method, $request_uri, $is_args, $args and \
                            $remote_addr alone";
    let known = |name: &str| match variable(name).or_else(|| of_query(name))? {
        known @ (Variable::Method | Variable::RemoteAddress) => Some(known),
        other => of_url(other),
    };
    let part = |segment| match segment {
        Segment::Text(text) => Some(ExpressionPart::Text(text.to_owned())),
        Segment::Variable {
            name: "server_name",
            ..
        } => Some(ExpressionPart::Variable(Variable::Hostname)),
        Segment::Variable { name, .. } => known(name).map(ExpressionPart::Variable),
        Segment::Dollar => None,
    };
    let parts: Option<Vec<_>> = segments(text).map(part).collect();
    Ok(Expression(parts.ok_or(EXPECTED)?))
}

/// As [`for_headers`], with constants in the place of variables.
pub fn for_headers_with<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    without_cookies(parse_with(text, |name| {
        constant(name).map(|value| ExpressionPart::Text(value.to_owned()))
    })?)
}

fn without_cookies(expression: Expression) -> Parsed<Expression> {
    let has_cookie = expression
        .0
        .iter()
        .any(|part| matches!(part, ExpressionPart::Variable(Variable::Cookie(_))));
    if has_cookie {
        Err("variables that a header can have, not $cookie_NAME".into())
    } else {
        Ok(expression)
    }
}

fn parse_with(text: &str, more: impl Fn(&str) -> Option<ExpressionPart>) -> Parsed<Expression> {
    if text.len() > MAX_HEADER_BYTES || text.chars().any(char::is_control) {
        return Err(too_long().into());
    }
    let mut parts = Vec::new();
    for segment in segments(text) {
        let part = match segment {
            Segment::Text(text) => ExpressionPart::Text(text.to_owned()),
            Segment::Dollar => return Err("a name of a variable after each $".into()),
            Segment::Variable { name, .. } => more(name)
                .or_else(|| variable(name).map(ExpressionPart::Variable))
                .ok_or_else(|| unknown(name))?,
        };
        match (parts.last_mut(), part) {
            (Some(ExpressionPart::Text(before)), ExpressionPart::Text(text)) => {
                before.push_str(&text);
            }
            (_, part) => parts.push(part),
        }
    }
    if bytes(&parts) > MAX_HEADER_BYTES {
        return Err(too_long().into());
    }
    Ok(Expression(parts))
}

fn too_long() -> String {
    format!("one line of at most {MAX_HEADER_BYTES} bytes")
}

fn bytes(parts: &[ExpressionPart]) -> usize {
    let bytes = parts.iter().map(|part| match part {
        ExpressionPart::Text(text) => text.len(),
        ExpressionPart::Variable(_) => 0,
    });
    bytes.sum()
}

fn unknown(name: &str) -> String {
    let instead = match canonical(name).as_str() {
        "msec" | "time_iso8601" | "time_local" => {
            " (the time is in headers of requests, $msec or $time_iso8601, and of responses, $time_iso8601)"
        }
        "request_time"
        | "upstream_connect_time"
        | "upstream_header_time"
        | "upstream_response_time" => {
            " (durations are in the access log, log-format-upstream, and in metrics)"
        }
        _ => "",
    };
    format!(
        "variables that Sluice supports ($remote_addr, $host, $scheme, $request_uri, $http_NAME, ...), not ${name}{instead}"
    )
}

fn variable(name: &str) -> Option<Variable> {
    Some(match canonical(name).as_str() {
        "remote_addr" | "proxy_protocol_addr" | "binary_remote_addr" => Variable::RemoteAddress,
        // Its other names are of the header.
        "host" if name.eq_ignore_ascii_case("host") => Variable::Hostname,
        "host" => Variable::Host,
        "scheme" => Variable::Scheme,
        "request_method" => Variable::Method,
        "request_uri" => Variable::RequestUri,
        "uri" => Variable::Path,
        "request_id" => Variable::RequestId,
        "server_port" => Variable::ServerPort,
        _ => match Prefixed::parse(name)? {
            Prefixed::RequestHeader(name) => Variable::Header(name),
            Prefixed::Cookie(name) => Variable::Cookie(name),
            Prefixed::Argument(name) => Variable::Argument(name),
            Prefixed::ResponseHeader(_) => return None,
        },
    })
}

#[cfg(test)]
mod tests;
