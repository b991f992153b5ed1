//! Expressions in headers of responses, as Envoy's substitution formats.
//!
//! When a response comes, the request is what its pod got: its path may be another one, and headers of ours are gone. An operator that
//! has no value writes nothing, and a header whose value is empty is not sent, as in nginx.

use sluice_ir::{Expression, ExpressionPart, STATUSES_WITHOUT_ERROR, Variable};

use super::cel;
use super::encoded::DECODED_TARGET;
use super::format::operator;
use super::header::literal;
use super::policy::TARGET;

/// The status of a response. When a pod is not reached, Envoy says 503 first, and 502 when its page is made ([`super::local_reply`]).
const STATUS: &str = "(response.headers[':status'] == '503' && response.code_details.startsWith('upstream_reset') ? '502' : \
                      response.headers[':status'])";

pub(super) fn format(expression: &Expression) -> String {
    let parts = expression.0.iter().map(|part| match part {
        ExpressionPart::Text(text) => literal(text),
        ExpressionPart::Variable(variable) => of_response(variable),
    });
    parts.collect()
}

/// A header whose value is empty is not sent, so it is the value that errors do not have.
pub(super) fn format_unless_error(expression: &Expression) -> String {
    let statuses = STATUSES_WITHOUT_ERROR.map(|status| format!("'{status}'"));
    let statuses = statuses.join(",");
    let parts = expression.0.iter().map(|part| {
        let value = match part {
            ExpressionPart::Text(text) => cel::string_literal(text),
            ExpressionPart::Variable(variable) => cel_variable(variable),
        };
        format!("%CEL(response.headers[':status'] in [{statuses}] ? {value} : '')%")
    });
    parts.collect()
}

fn of_response(variable: &Variable) -> String {
    match variable {
        Variable::RequestUri => {
            let (filter, key) = DECODED_TARGET;
            let kept = format!("{TARGET}:PLAIN");
            let kept = serde_json::json!({"command": "FILTER_STATE", "param": kept});
            let decoded = format!("{filter}:{key}");
            let decoded = serde_json::json!({"command": "DYNAMIC_METADATA", "param": decoded});
            let sent = serde_json::json!({"command": "PATH", "param": "WQ:PATH"});
            let config = serde_json::json!({"operators": [kept, decoded, sent]});
            format!("%COALESCE({config})%")
        }
        Variable::Query => "%QUERY_PARAMS(ORIG)%".to_owned(),
        // Also of one that could not be connected to.
        Variable::UpstreamAddress => "%UPSTREAM_HOST%".to_owned(),
        Variable::Status
        | Variable::UpstreamStatus
        | Variable::Argument(_)
        | Variable::Cookie(_) => format!("%CEL({})%", cel_variable(variable)),
        other => operator(other),
    }
}

/// Translation lets those through alone that CEL has.
fn cel_variable(variable: &Variable) -> String {
    match variable {
        Variable::Scheme => cel::header("x-forwarded-proto"),
        Variable::Method => "request.method".to_owned(),
        Variable::RequestId => cel::header("x-request-id"),
        Variable::Header(name) => cel::header(&name.to_ascii_lowercase()),
        Variable::RequestUri => {
            let (filter, key) = DECODED_TARGET;
            format!(
                "('{TARGET}' in filter_state ? filter_state['{TARGET}'] : '{filter}' in metadata.filter_metadata ? \
                 metadata.filter_metadata['{filter}']['{key}'] : request.path)"
            )
        }
        Variable::Query => "request.query".to_owned(),
        Variable::QuestionMark => "(request.query == '' ? '' : '?')".to_owned(),
        Variable::Argument(name) => {
            cel::regex_capture("request.query", &cel::argument_pattern(name))
        }
        Variable::Cookie(name) => cel::cookie(name),
        Variable::Status => STATUS.to_owned(),
        Variable::UpstreamAddress => "upstream.address".to_owned(),
        Variable::UpstreamStatus => format!("(has(upstream.address) ? {STATUS} : '')"),
        _ => "''".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{AddedHeader, Header, HeaderName};

    use super::*;

    /// Envoy refuses a table with a longer one.
    const LONGEST: usize = 16_384;

    fn repeated(parts: usize, part: &dyn Fn() -> ExpressionPart) -> Expression {
        Expression(std::iter::repeat_with(part).take(parts).collect())
    }

    fn of_added(value: Expression) -> usize {
        let name = HeaderName::from_static("x-a");
        let added = AddedHeader::unless_error(Header { name, value }).unwrap();
        format_unless_error(&added.header.value).len()
    }

    #[test]
    fn expression_is_no_longer_than_a_value_may_be() {
        let parts = AddedHeader::MOST_PARTS;
        let each = AddedHeader::MOST_BYTES / parts;
        let text = || ExpressionPart::Text("%".repeat(each));
        let header = || ExpressionPart::Variable(Variable::Header("x".repeat(each)));
        assert!(of_added(repeated(parts, &text)) <= LONGEST);
        assert!(of_added(repeated(parts, &header)) <= LONGEST);
        let name = || "x".repeat(Variable::LONGEST_NAME);
        for variable in [
            Variable::RequestUri,
            Variable::Query,
            Variable::QuestionMark,
            Variable::Argument(name()),
            Variable::Cookie(name()),
            Variable::Status,
            Variable::UpstreamAddress,
            Variable::UpstreamStatus,
        ] {
            let part = || ExpressionPart::Variable(variable.clone());
            let value = repeated(parts, &part);
            assert!(format(&value).len() + 2 * 3000 <= LONGEST, "{variable}");
            assert!(of_added(value) <= LONGEST, "{variable}");
        }
    }
}
