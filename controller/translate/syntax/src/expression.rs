//! nginx's strings with variables: `$remote_addr`, `${cookie_user}x`.

use sluice_ir::{Expression, ExpressionPart, Variable};

use crate::value::Parsed;
use crate::variables::{Prefixed, Segment, canonical, segments};

/// Maximum bytes of a header that is set. Data planes take no more: Envoy 16 KiB when all is written down, nginx 4 KiB.
pub const MAX_HEADER_BYTES: usize = 3000;

/// Parses a text with variables that every data plane has; the error names the first that is not one.
pub fn parse(text: &str) -> Parsed<Expression> {
    parse_with(text, |_| None)
}

/// As [`parse`], for requests to an external authentication service, which the controller itself writes.
pub fn for_ext_auth(text: &str) -> Parsed<Expression> {
    parse_with(text, |name| match name {
        "host" => Some(Variable::Hostname),
        "escaped_request_uri" => Some(Variable::EscapedRequestUri),
        _ => None,
    })
}

/// As [`parse`], without what a data plane cannot put into a header.
pub fn for_headers(text: &str) -> Parsed<Expression> {
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

fn parse_with(text: &str, more: impl Fn(&str) -> Option<Variable>) -> Parsed<Expression> {
    if text.len() > MAX_HEADER_BYTES || text.chars().any(char::is_control) {
        return Err(format!("one line of at most {MAX_HEADER_BYTES} bytes").into());
    }
    let part = |segment: Segment<'_>| match segment {
        Segment::Text(text) => Ok(ExpressionPart::Text(text.to_owned())),
        Segment::Dollar => Err("a name of a variable after each $".into()),
        Segment::Variable { name, .. } => more(name)
            .or_else(|| variable(name))
            .map(ExpressionPart::Variable)
            .ok_or_else(|| unknown(name).into()),
    };
    segments(text)
        .map(part)
        .collect::<Parsed<_>>()
        .map(Expression)
}

fn unknown(name: &str) -> String {
    format!(
        "variables that Sluice supports ($remote_addr, $host, $scheme, $request_uri, $http_NAME, ...), not ${name}"
    )
}

fn variable(name: &str) -> Option<Variable> {
    Some(match canonical(name).as_str() {
        "remote_addr" | "proxy_protocol_addr" | "binary_remote_addr" => Variable::RemoteAddress,
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
