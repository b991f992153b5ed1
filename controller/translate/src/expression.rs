//! nginx's strings with variables: `$remote_addr`, `${cookie_user}x`.

use sluice_ir::{Expression, ExpressionPart, Variable};

use crate::annotations::{MOST_HEADER_BYTES, Parsed};

/// Longer ones are not names, and no data plane would take them.
const LONGEST: usize = MOST_HEADER_BYTES;

/// Every variable must be one that all data planes have; the error names the first that is not.
pub(crate) fn parse(text: &str) -> Parsed<Expression> {
    parse_with(text, |_| None)
}

/// As [`parse`], for what the controller itself puts together.
pub(crate) fn for_questions(text: &str) -> Parsed<Expression> {
    parse_with(text, |name| match name {
        "host" => Some(Variable::Hostname),
        "escaped_request_uri" => Some(Variable::EscapedRequestUri),
        _ => None,
    })
}

fn parse_with(text: &str, more: impl Fn(&str) -> Option<Variable>) -> Parsed<Expression> {
    if text.len() > LONGEST || text.chars().any(char::is_control) {
        return Err(format!("one line of at most {LONGEST} bytes").into());
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('$') {
        push(&mut parts, plain);
        let (name, after) = name(behind).ok_or("a name of a variable after each $")?;
        let variable = more(name).or_else(|| variable(name)).ok_or_else(|| {
            format!("variables that Sluice has ($remote_addr, $host, $scheme, $request_uri, $http_NAME, ...), not ${name}")
        })?;
        parts.push(ExpressionPart::Variable(variable));
        rest = after;
    }
    push(&mut parts, rest);
    Ok(Expression(parts))
}

/// As [`parse`], without what a data plane cannot put into a header.
pub(crate) fn for_headers(text: &str) -> Parsed<Expression> {
    let expression = parse(text)?;
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

fn push(parts: &mut Vec<ExpressionPart>, plain: &str) {
    if !plain.is_empty() {
        parts.push(ExpressionPart::Text(plain.to_owned()));
    }
}

/// The name behind a dollar, with or without braces, and what follows.
pub(crate) fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(braced) = text.strip_prefix('{') {
        return braced
            .split_once('}')
            .filter(|(name, _)| !name.is_empty() && name.bytes().all(is_name));
    }
    let end = text
        .bytes()
        .position(|byte| !is_name(byte))
        .unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn variable(name: &str) -> Option<Variable> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "remote_addr" | "the_real_ip" | "proxy_protocol_addr" | "binary_remote_addr" => {
            Variable::RemoteAddress
        }
        "host" | "http_host" | "best_http_host" => Variable::Host,
        "scheme" | "pass_access_scheme" => Variable::Scheme,
        "request_method" => Variable::Method,
        "request_uri" => Variable::RequestUri,
        "uri" | "document_uri" => Variable::Path,
        "req_id" | "request_id" => Variable::RequestId,
        "server_port" | "pass_server_port" | "pass_port" => Variable::ServerPort,
        other => {
            let (kind, rest) = other.split_once('_')?;
            // Only the names of cookies and arguments have a case of their own.
            let cased = &name[kind.len() + 1..];
            match kind {
                _ if rest.is_empty() => return None,
                "http" => Variable::Header(rest.replace('_', "-")),
                "cookie" => Variable::Cookie(cased.to_owned()),
                "arg" => Variable::Argument(cased.to_owned()),
                _ => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        serde_json::to_string(&parse(text).unwrap()).unwrap()
    }

    #[test]
    fn variables_stand_between_texts() {
        assert_eq!(
            shown("a-${remote_addr}b$scheme"),
            "\"a-$remote_addrb$scheme\""
        );
        assert_eq!(
            shown("$http_X_User_Id/$cookie_Sid"),
            "\"${header x-user-id}/${cookie Sid}\""
        );
        assert_eq!(shown("plain"), "\"plain\"");
    }

    #[test]
    fn what_no_data_plane_has_is_named() {
        assert!(
            parse("$upstream_addr")
                .unwrap_err()
                .contains("$upstream_addr")
        );
        for bad in ["$", "a$ b", "${}", "${a", "$http_", "a\nb"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
