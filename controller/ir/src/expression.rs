//! Texts with something of the request in them: nginx's variables, as far as every data plane has them.

use serde::{Serialize, Serializer};

/// Concatenation of its parts. A variable that a request does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression(pub Vec<ExpressionPart>);

/// A part of an [`Expression`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpressionPart {
    /// Taken as it is.
    Text(String),
    /// Taken from the request.
    Variable(Variable),
}

/// Variable of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// The address of the client, from headers where they are trusted.
    RemoteAddress,
    /// The `Host` header, with its port.
    Host,
    /// Its host in lower case, without a port. Headers that Envoy sets have it as [`Variable::Host`].
    Hostname,
    /// `http` or `https`.
    Scheme,
    /// `GET`.
    Method,
    /// The path and the query.
    RequestUri,
    /// The same, as a parameter of a URL. Only questions have it.
    EscapedRequestUri,
    /// The query, as it was sent. Only in redirects, texts and headers that snippets change.
    Query,
    /// A question mark where there is a query. Only where the query is.
    QuestionMark,
    /// The path.
    Path,
    /// The path, with the index behind a slash at its end. Only in parameters of FastCGI.
    ScriptName,
    /// `X-Request-ID`, the client's or a new one.
    RequestId,
    /// Seconds since 1970, with milliseconds, when the request came. Only in headers of requests.
    Time,
    /// The time at which the value is written. Only in headers that snippets change.
    IsoTime,
    /// The status of the response. Only in headers of responses, as the two that follow.
    Status,
    /// Address and port of the endpoint; nothing where there was none.
    UpstreamAddress,
    /// The status of the endpoint's response.
    UpstreamStatus,
    /// The port that the client connected to.
    ServerPort,
    /// A header, by its name in lower case.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// A parameter of the query.
    Argument(String),
}

impl Variable {
    /// Bytes of the name of a parameter or a cookie in a header of a response: data planes search for it by a pattern.
    pub const LONGEST_NAME: usize = 48;

    /// True if it is known when the response comes, and not before.
    #[must_use]
    pub fn is_of_response(&self) -> bool {
        matches!(
            self,
            Variable::Status | Variable::UpstreamAddress | Variable::UpstreamStatus
        )
    }

    /// True if Envoy has a program for it in headers.
    fn is_program(&self) -> bool {
        matches!(
            self,
            Variable::Query
                | Variable::QuestionMark
                | Variable::Status
                | Variable::UpstreamStatus
                | Variable::Argument(_)
                | Variable::Cookie(_)
        )
    }
}

impl Expression {
    /// Programs of its variables in headers of responses. They cost what those cost that errors do not have.
    #[must_use]
    pub fn programs(&self) -> usize {
        let is_program = |part: &&ExpressionPart| match part {
            ExpressionPart::Text(_) => false,
            ExpressionPart::Variable(variable) => variable.is_program(),
        };
        self.0.iter().filter(is_program).count()
    }

    /// A text and nothing of the request.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Expression(vec![ExpressionPart::Text(text.to_owned())])
    }

    /// The text, if there is nothing of the request in it.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [ExpressionPart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Variable::RemoteAddress => f.write_str("$remote_addr"),
            Variable::Host => f.write_str("$http_host"),
            Variable::Hostname => f.write_str("$host"),
            Variable::Scheme => f.write_str("$scheme"),
            Variable::Method => f.write_str("$request_method"),
            Variable::RequestUri => f.write_str("$request_uri"),
            Variable::EscapedRequestUri => f.write_str("$escaped_request_uri"),
            Variable::Query => f.write_str("$args"),
            Variable::QuestionMark => f.write_str("$is_args"),
            Variable::Path => f.write_str("$uri"),
            Variable::ScriptName => f.write_str("$fastcgi_script_name"),
            Variable::RequestId => f.write_str("$request_id"),
            Variable::Time => f.write_str("$msec"),
            Variable::IsoTime => f.write_str("$time_iso8601"),
            Variable::Status => f.write_str("$status"),
            Variable::UpstreamAddress => f.write_str("$upstream_addr"),
            Variable::UpstreamStatus => f.write_str("$upstream_status"),
            Variable::ServerPort => f.write_str("$server_port"),
            Variable::Header(name) => write!(f, "${{header {name}}}"),
            Variable::Cookie(name) => write!(f, "${{cookie {name}}}"),
            Variable::Argument(name) => write!(f, "${{argument {name}}}"),
        }
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            ExpressionPart::Text(text) => f.write_str(text),
            ExpressionPart::Variable(variable) => variable.fmt(f),
        })
    }
}

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
