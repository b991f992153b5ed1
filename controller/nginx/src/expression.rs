//! Expressions as nginx's values, and the variables that `http.conf` defines for them.

use sluice_ir::{Expression, ExpressionPart, Template, TemplatePart, Variable};

use crate::conf::{Text, plain};

/// Scheme of the client's request, from trusted headers only.
pub(crate) const SCHEME: &str = "sluice_scheme";
/// The host whose server answers, with the port that the client wrote. `$http_host` may be another one.
pub(crate) const AUTHORITY: &str = "sluice_authority";
/// The host that the client asked for, as far as that is believed.
pub(crate) const HOST: &str = "sluice_host";
/// The same without its port, as URLs of another port or scheme have it. Defined where anybody is believed.
pub(crate) const HOSTNAME: &str = "sluice_hostname";
/// The decoded path, or the target as it was received where a header could not have it.
const PATH: &str = "sluice_uri";
/// The port that the client connected to, as far as that is believed.
pub(crate) const PORT: &str = "sluice_port";
/// The same for URLs: the other scheme's own port is not that of this one.
pub(crate) const URL_PORT: &str = "sluice_url_port";
/// The port that the client connected to.
pub(crate) const OWN_PORT: &str = "sluice_own_port";
/// The client's `X-Request-ID`, or a new one.
pub(crate) const REQUEST_ID: &str = "sluice_request_id";
/// The client's `Upgrade`, unless it asks for another HTTP.
pub(crate) const UPGRADE: &str = "sluice_upgrade";
/// The path without a slash at its end, and the query.
pub(crate) const UNSLASHED: &str = "sluice_unslashed";

/// A text with something of the request in it.
pub(crate) fn expression(expression: &Expression) -> Text {
    expression
        .0
        .iter()
        .fold(Text::default(), |text, part| match part {
            ExpressionPart::Text(literal) => text.then(literal),
            ExpressionPart::Variable(variable) => text.variable(&name(variable)),
        })
}

/// A body: a text whose lines and tabs stay.
pub(crate) fn body(text: &Expression) -> Text {
    text.0
        .iter()
        .fold(Text::default(), |body, part| match part {
            ExpressionPart::Text(literal) => body.then_lines(literal),
            ExpressionPart::Variable(variable) => body.variable(&name(variable)),
        })
}

/// A text with captured groups in it.
pub(crate) fn template(text: Text, template: &Template) -> Text {
    template.0.iter().fold(text, |text, piece| match piece {
        TemplatePart::Text(literal) => text.then(literal),
        TemplatePart::Group(group) => text.group(*group),
        TemplatePart::Host => text.variable("host"),
    })
}

/// The name of a variable for `if`, which knows none in braces.
pub(crate) fn name_of(variable: &Variable) -> String {
    plain(&name(variable))
}

fn name(variable: &Variable) -> String {
    match variable {
        Variable::RemoteAddress => "remote_addr".to_owned(),
        Variable::Host => AUTHORITY.to_owned(),
        Variable::Hostname => "host".to_owned(),
        Variable::Scheme => SCHEME.to_owned(),
        Variable::Method => "request_method".to_owned(),
        // Translation lets it through to questions only, which nginx does not ask.
        Variable::RequestUri | Variable::EscapedRequestUri => "request_uri".to_owned(),
        Variable::Query => "args".to_owned(),
        Variable::QuestionMark => "is_args".to_owned(),
        Variable::Path => PATH.to_owned(),
        Variable::ScriptName => "fastcgi_script_name".to_owned(),
        Variable::RequestId => REQUEST_ID.to_owned(),
        Variable::Time => "msec".to_owned(),
        Variable::IsoTime => "time_iso8601".to_owned(),
        Variable::Status => "status".to_owned(),
        Variable::UpstreamAddress => "upstream_addr".to_owned(),
        Variable::UpstreamStatus => "upstream_status".to_owned(),
        Variable::ServerPort => PORT.to_owned(),
        Variable::Header(name) => format!("http_{name}"),
        Variable::Cookie(name) => format!("cookie_{name}"),
        Variable::Argument(name) => format!("arg_{name}"),
    }
}
