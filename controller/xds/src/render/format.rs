//! Expressions as Envoy's substitution formats.

use sluice_ir::{Expression, Part, Variable};

use super::header::literal;

pub(super) fn format(expression: &Expression) -> String {
    let parts = expression.0.iter().map(|part| match part {
        Part::Text(text) => literal(text),
        Part::Variable(variable) => operator(variable),
    });
    parts.collect()
}

fn operator(variable: &Variable) -> String {
    match variable {
        Variable::RemoteAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%".to_owned(),
        // Translation lets the ones of questions through to questions only.
        Variable::Host | Variable::Hostname => "%REQ(:authority)%".to_owned(),
        Variable::Scheme => "%REQ(x-forwarded-proto)%".to_owned(),
        Variable::Method => "%REQ(:method)%".to_owned(),
        Variable::RequestUri | Variable::EscapedRequestUri => "%REQ(:path)%".to_owned(),
        Variable::Path => "%PATH(NQ)%".to_owned(),
        Variable::RequestId => "%REQ(x-request-id)%".to_owned(),
        Variable::ServerPort => "%REQ(x-forwarded-port)%".to_owned(),
        Variable::Header(name) => format!("%REQ({name})%"),
        Variable::Cookie(name) => format!("%COOKIE({name})%"),
        Variable::Argument(name) => format!("%QUERY_PARAM({name})%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_an_operator() {
        let expression =
            Expression(vec![Part::Text("100% ".into()), Part::Variable(Variable::Header("x-a".into()))]);
        assert_eq!(format(&expression), "100%% %REQ(x-a)%");
    }
}
