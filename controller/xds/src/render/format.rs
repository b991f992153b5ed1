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
        Variable::Query => "%CEL(request.query)%".to_owned(),
        Variable::QuestionMark => "%CEL(request.query == '' ? '' : '?')%".to_owned(),
        Variable::Path | Variable::ScriptName => "%PATH(NQ)%".to_owned(),
        Variable::RequestId => "%REQ(x-request-id)%".to_owned(),
        Variable::Time => "%START_TIME(%s.%3f)%".to_owned(),
        Variable::ServerPort => "%REQ(x-forwarded-port)%".to_owned(),
        Variable::Header(name) => format!("%REQ({name})%"),
        // Envoy has no operator for one, so translation lets none of them through to headers.
        Variable::Cookie(_) => "-".to_owned(),
        Variable::Argument(name) => format!("%QUERY_PARAM({name})%"),
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{AddedHeader, Header, HeaderName};

    use super::*;

    #[test]
    fn text_is_never_an_operator() {
        let expression = Expression(vec![
            ExpressionPart::Text("100% ".into()),
            ExpressionPart::Variable(Variable::Header("x-a".into())),
        ]);
        assert_eq!(format(&expression), "100%% %REQ(x-a)%");
    }

    /// Envoy refuses a table with a longer one.
    #[test]
    fn expression_is_no_longer_than_a_value_may_be() {
        const LONGEST: usize = 16_384;
        let parts = AddedHeader::MOST_PARTS;
        let text = |bytes: usize| ExpressionPart::Text("%".repeat(bytes));
        let variable = |bytes: usize| ExpressionPart::Variable(Variable::Header("x".repeat(bytes)));
        let of_parts = |part: &dyn Fn(usize) -> ExpressionPart| {
            let each = AddedHeader::MOST_BYTES / parts;
            Expression(std::iter::repeat_with(|| part(each)).take(parts).collect())
        };
        for value in [of_parts(&text), of_parts(&variable)] {
            let name = HeaderName::from_static("x-a");
            let added = AddedHeader::unless_error(Header { name, value }).unwrap();
            assert!(format_unless_error(&added.header.value).len() <= LONGEST);
        }
    }

    #[test]
    fn text_does_not_end_a_text_of_cel_nor_its_operator() {
        for letter in (0..=0x24F).filter_map(char::from_u32) {
            let written = cel_text(&format!("a{letter}"));
            let within = written
                .strip_prefix("'a")
                .and_then(|it| it.strip_suffix('\''));
            let within = within.unwrap_or_else(|| panic!("{written}"));
            let is_itself = within.chars().eq([letter]) && !r"'\()%:".contains(letter);
            let is_escape = within == format!("\\u{:04X}", u32::from(letter));
            assert!(is_itself || is_escape, "{letter:?}: {written}");
        }
    }
}
