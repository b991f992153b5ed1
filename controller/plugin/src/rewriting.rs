//! Rewriting of locations in responses.

use sluice_filter_config::{self as wire, HashKey, KeyPart, Plain};
use sluice_ir::{
    Expression, ExpressionPart, Replacement, ResponseRewrite, SubstitutionPart, Variable,
};

/// `None` where nothing is replaced.
pub(crate) fn rewriting(rewritten: &ResponseRewrite) -> Option<wire::Rewriting> {
    let ResponseRewrite {
        redirects,
        cookie_domains,
        cookie_paths,
    } = rewritten;
    let rewriting = wire::Rewriting {
        redirects: redirects.as_ref().map(replaced),
        cookie_domains: cookie_domains.as_ref().map(replaced).map(without_dots),
        cookie_paths: cookie_paths.as_ref().map(replaced),
    };
    (rewriting != wire::Rewriting::default()).then_some(rewriting)
}

fn replaced(replaced: &Replacement) -> wire::Replaced {
    match replaced {
        Replacement::Text { from, to } => wire::Replaced::Text(wire::ReplacedText {
            from: key(from),
            to: key(to),
        }),
        Replacement::Pattern {
            pattern,
            any_case,
            backtracking,
            to,
        } => wire::Replaced::Pattern(wire::ReplacedPattern {
            pattern: pattern.clone(),
            any_case: *any_case,
            backtracking: *backtracking,
            to: to.0.iter().map(part).collect(),
        }),
    }
}

fn part(part: &SubstitutionPart) -> wire::SubstitutionPart {
    match part {
        SubstitutionPart::Text(text) => wire::SubstitutionPart::Text(key(text)),
        SubstitutionPart::Group(group) => wire::SubstitutionPart::Group(*group),
    }
}

/// nginx leaves a dot out that either text begins with.
fn without_dots(mut replaced: wire::Replaced) -> wire::Replaced {
    let wire::Replaced::Text(wire::ReplacedText { from, to }) = &mut replaced else {
        return replaced;
    };
    for key in [from, to] {
        if let Some(KeyPart::Literal(text)) = key.0.first_mut()
            && let Some(bare) = text.strip_prefix('.')
        {
            *text = bare.to_owned();
        }
    }
    replaced
}

fn key(expression: &Expression) -> HashKey {
    let part = |part: &ExpressionPart| match part {
        ExpressionPart::Text(text) => KeyPart::Literal(text.clone()),
        ExpressionPart::Variable(known) => KeyPart::Variable(variable(known)),
    };
    HashKey(expression.0.iter().map(part).collect())
}

/// The client's scheme and port are in headers that the data plane writes itself where nobody is believed.
fn variable(variable: &Variable) -> wire::Variable {
    let header = |name: &str| wire::Variable::Header(name.replace('-', "_"));
    match variable {
        Variable::RemoteAddress => wire::Variable::Plain(Plain::RemoteAddr),
        Variable::Host => header("host"),
        Variable::Hostname => wire::Variable::Plain(Plain::Host),
        Variable::Scheme => header("x-forwarded-proto"),
        Variable::Method => wire::Variable::Plain(Plain::RequestMethod),
        // Translation lets the escaped one through to questions only.
        Variable::RequestUri | Variable::EscapedRequestUri => {
            wire::Variable::Plain(Plain::RequestUri)
        }
        Variable::Query => wire::Variable::Plain(Plain::Args),
        Variable::QuestionMark => wire::Variable::Plain(Plain::IsArgs),
        Variable::Path | Variable::ScriptName => wire::Variable::Plain(Plain::Uri),
        Variable::RequestId => header("x-request-id"),
        // Translation lets them through to headers of snippets only; no header has this name.
        Variable::Time
        | Variable::IsoTime
        | Variable::Status
        | Variable::UpstreamAddress
        | Variable::UpstreamStatus => header(""),
        Variable::ServerPort => header("x-forwarded-port"),
        Variable::Header(name) => header(name),
        Variable::Cookie(name) => wire::Variable::Cookie(name.to_ascii_lowercase()),
        Variable::Argument(name) => wire::Variable::Arg(name.to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ExpressionPart {
        ExpressionPart::Text(text.to_owned())
    }

    #[test]
    fn a_dot_in_front_of_a_domain_says_nothing() {
        let domains = Replacement::Text {
            from: Expression::literal(".pod"),
            to: Expression(vec![
                text("."),
                ExpressionPart::Variable(Variable::Header("x-shop".into())),
            ]),
        };
        let rewritten = ResponseRewrite {
            cookie_domains: Some(domains.clone()),
            ..ResponseRewrite::default()
        };
        let expected = r#"{"cookie_domains":{"from":[{"literal":"pod"}],"to":[{"literal":""},{"variable":"http_x_shop"}]}}"#;
        assert_eq!(
            serde_json::to_string(&rewriting(&rewritten)).unwrap(),
            expected
        );
        let paths = ResponseRewrite {
            cookie_paths: Some(domains),
            ..ResponseRewrite::default()
        };
        assert!(
            serde_json::to_string(&rewriting(&paths))
                .unwrap()
                .contains(".pod")
        );
    }

    #[test]
    fn every_variable_is_one_that_the_filter_reads() {
        let all = [
            Variable::RemoteAddress,
            Variable::Host,
            Variable::Hostname,
            Variable::Scheme,
            Variable::Method,
            Variable::RequestUri,
            Variable::EscapedRequestUri,
            Variable::Path,
            Variable::RequestId,
            Variable::ServerPort,
            Variable::Header("x-user-id".into()),
            Variable::Cookie("Sid".into()),
            Variable::Argument("Page".into()),
        ];
        for known in all {
            let variable = variable(&known);
            assert_eq!(variable.to_string().parse(), Ok(variable), "{known}");
        }
    }

    #[test]
    fn without_a_rule_there_is_nothing_to_say() {
        assert_eq!(rewriting(&ResponseRewrite::default()), None);
    }
}
