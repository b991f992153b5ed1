//! Expressions as Envoy's substitution formats.

use std::fmt::Write;

use sluice_ir::{Expression, ExpressionPart, STATUSES_WITHOUT_ERROR, Variable};

use super::encoded::SENT_TARGET;
use super::header::literal;

/// The query with its question mark, where there is one.
pub(super) const QUERY: &str = "%CEL(request.query == '' ? '' : '?' + request.query)%";

pub(super) fn format(expression: &Expression) -> String {
    let parts = expression.0.iter().map(|part| match part {
        ExpressionPart::Text(text) => literal(text),
        ExpressionPart::Variable(variable) => operator(variable),
    });
    parts.collect()
}

/// A header whose value is empty is not sent, so it is the value that errors do not have.
pub(super) fn format_unless_error(expression: &Expression) -> String {
    let statuses = STATUSES_WITHOUT_ERROR.map(|status| format!("'{status}'"));
    let statuses = statuses.join(",");
    let parts = expression.0.iter().map(|part| {
        let value = match part {
            ExpressionPart::Text(text) => cel_text(text),
            ExpressionPart::Variable(variable) => cel_variable(variable),
        };
        format!("%CEL(response.headers[':status'] in [{statuses}] ? {value} : '')%")
    });
    parts.collect()
}

/// A text of CEL in which nothing ends the text, or the operator that it is in.
fn cel_text(text: &str) -> String {
    let mut written = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' | '(' | ')' | '%' | ':' => {
                // A text takes all that is written to it.
                let _ = write!(written, "\\u{:04X}", u32::from(letter));
            }
            letter => written.push(letter),
        }
    }
    written + "'"
}

/// Translation lets those through alone that CEL has.
fn cel_variable(variable: &Variable) -> String {
    let header = |name: &str| format!("request.headers[{}]", cel_text(name));
    match variable {
        Variable::Scheme => header("x-forwarded-proto"),
        Variable::Method => "request.method".to_owned(),
        Variable::RequestId => header("x-request-id"),
        Variable::Header(name) => header(&name.to_ascii_lowercase()),
        _ => "''".to_owned(),
    }
}

fn operator(variable: &Variable) -> String {
    match variable {
        Variable::RemoteAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%".to_owned(),
        // Translation lets the ones of questions through to questions only.
        Variable::Host | Variable::Hostname => "%REQ(:authority)%".to_owned(),
        Variable::Scheme => "%REQ(x-forwarded-proto)%".to_owned(),
        Variable::Method => "%REQ(:method)%".to_owned(),
        Variable::RequestUri | Variable::EscapedRequestUri => SENT_TARGET.to_owned(),
        Variable::Path | Variable::ScriptName => "%PATH(NQ)%".to_owned(),
        Variable::RequestId => "%REQ(x-request-id)%".to_owned(),
        Variable::ServerPort => "%REQ(x-forwarded-port)%".to_owned(),
        Variable::Header(name) => format!("%REQ({name})%"),
        // Envoy has no operator for one, so translation lets none of them through to headers.
        Variable::Cookie(_) => "-".to_owned(),
        Variable::Argument(name) => format!("%QUERY_PARAM({name})%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_an_operator() {
        let expression = Expression(vec![
            ExpressionPart::Text("100% ".into()),
            ExpressionPart::Variable(Variable::Header("x-a".into())),
        ]);
        assert_eq!(format(&expression), "100%% %REQ(x-a)%");
    }
}
