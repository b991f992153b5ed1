//! Expressions as Envoy's substitution formats.

use sluice_ir::{Expression, ExpressionPart, Variable};

use super::cel;
use super::encoded::SENT_TARGET;
use super::header::literal;

/// The query with its question mark, where there is one. Envoy's CEL joins no texts.
pub(super) const QUERY: &str = "%CEL(request.query == '' ? '' : '?')%%CEL(request.query)%";

pub(super) fn format(expression: &Expression) -> String {
    let parts = expression.0.iter().map(|part| match part {
        ExpressionPart::Text(text) => literal(text),
        ExpressionPart::Variable(variable) => operator(variable),
    });
    parts.collect()
}

pub(super) fn operator(variable: &Variable) -> String {
    match variable {
        Variable::RemoteAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%".to_owned(),
        // A pattern for each `$host` would cost more than all else of a request.
        Variable::Host | Variable::Hostname => "%REQ(:authority)%".to_owned(),
        Variable::Scheme => "%REQ(x-forwarded-proto)%".to_owned(),
        Variable::Method => "%REQ(:method)%".to_owned(),
        // Translation lets the one of questions through to questions only.
        Variable::RequestUri | Variable::EscapedRequestUri => SENT_TARGET.to_owned(),
        Variable::Query => "%CEL(request.query)%".to_owned(),
        Variable::QuestionMark => "%CEL(request.query == '' ? '' : '?')%".to_owned(),
        Variable::Path | Variable::ScriptName => "%PATH(NQ)%".to_owned(),
        Variable::RequestId => "%REQ(x-request-id)%".to_owned(),
        Variable::Time => "%START_TIME(%s.%3f)%".to_owned(),
        // Envoy's own offset has no colon.
        Variable::IsoTime => "%EMIT_TIME(%Y-%m-%dT%H:%M:%S+00:00)%".to_owned(),
        Variable::ServerPort => "%REQ(x-forwarded-port)%".to_owned(),
        Variable::Header(name) => format!("%REQ({name})%"),
        Variable::Cookie(name) => format!("%CEL({})%", cel::cookie_or_empty(name)),
        // Translation lets them through to responses only.
        Variable::Status | Variable::UpstreamAddress | Variable::UpstreamStatus => String::new(),
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

    #[test]
    fn a_cookie_that_is_not_there_is_empty() {
        let cookie = ExpressionPart::Variable(Variable::Cookie("user".into()));
        assert_eq!(
            format(&Expression(vec![cookie])),
            "%CEL(re.capture(('cookie' in request.headers ? request.headers['cookie'] : ''), \
             '\\u0028?is\\u0029\\u0028?\\u003A\\u005CC*?[;,] *\\u0029??user *= *\\u0028\\u005CC*?\\u0029\\u0028?\\u003A;\\u005CC*\\u0029?|\\u005CC*'))%"
        );
    }
}
