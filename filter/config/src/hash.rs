//! Hash keys of requests: literals and variables.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most variables that a key may have: each of them reads what the client sent, and adds it to the key.
pub const MOST_VARIABLES: usize = 16;

/// A text with variables in it, in parts. The value of a key is the values of its parts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HashKey(pub Vec<KeyPart>);

/// A part of a [`HashKey`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPart {
    /// This text.
    Literal(String),
    /// Value from the request; empty if it has none.
    Variable(Variable),
}

/// A variable of nginx that a request can answer on every host, on the wire by its nginx name.
///
/// `docs/hash-variables.md` says where each value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Variable {
    /// `arg_NAME`: a parameter of the query.
    Arg(String),
    /// `cookie_NAME`
    Cookie(String),
    /// `http_NAME`: a request header, in lower case and with `_` for `-`.
    Header(String),
    /// One that has no parameter.
    Plain(Plain),
}

/// A name that is no [`Variable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariable(String);

macro_rules! plain {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Variables without a parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Plain { $($(#[$doc])* $variant),* }

        impl Plain {
            /// All of them, in the order of their names.
            pub const ALL: &'static [Plain] = &[$(Plain::$variant),*];

            /// The name in nginx, without `$`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Plain::$variant => $name),* }
            }
        }
    };
}

plain! {
    /// The query, without `?`.
    Args = "args",
    /// The client's address in 4 or 16 bytes.
    BinaryRemoteAddr = "binary_remote_addr",
    /// The header `Content-Length`.
    ContentLength = "content_length",
    /// The header `Content-Type`.
    ContentType = "content_type",
    /// The path, decoded, without the query.
    DocumentUri = "document_uri",
    /// The host of the request, in lower case and without its port.
    Host = "host",
    /// `on` on TLS, else nothing.
    Https = "https",
    /// `?` when there is a query, else nothing.
    IsArgs = "is_args",
    /// The query, without `?`.
    QueryString = "query_string",
    /// The client's address.
    RemoteAddr = "remote_addr",
    /// The client's port.
    RemotePort = "remote_port",
    /// The first line of the request.
    Request = "request",
    /// The method.
    RequestMethod = "request_method",
    /// The path and the query as the client sent them.
    RequestUri = "request_uri",
    /// `http` or `https`.
    Scheme = "scheme",
    /// The address that the client connected to.
    ServerAddr = "server_addr",
    /// The host of the server that the request matched, `_` for the catch-all.
    ServerName = "server_name",
    /// The port that the client connected to.
    ServerPort = "server_port",
    /// `HTTP/1.1`, `HTTP/2.0` ...
    ServerProtocol = "server_protocol",
    /// The host of the TLS handshake.
    SslServerName = "ssl_server_name",
    /// The path, decoded, without the query.
    Uri = "uri",
}

impl HashKey {
    /// Reads `upstream-hash-by`: `$name`, `${name}`, other text. `\$name` and a single `$` stand for themselves, any
    /// other `\` is dropped: the grammar of ingress-nginx's `parse_complex_value`.
    ///
    /// Variables that no request can answer come back by name; they contribute nothing to the key, as in nginx.
    #[must_use]
    pub fn parse(expression: &str) -> (HashKey, Vec<UnknownVariable>) {
        let mut key = HashKey::default();
        let mut unknown = Vec::new();
        let mut rest = expression;
        while let Some((token, behind)) = token(rest) {
            rest = behind;
            match token {
                Token::Text(text) => key.push(text),
                Token::Variable(name) => match name.parse() {
                    Ok(variable) => key.0.push(KeyPart::Variable(variable)),
                    Err(error) => unknown.push(error),
                },
            }
        }
        (key, unknown)
    }

    /// How many variables it has.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.0
            .iter()
            .filter(|part| matches!(part, KeyPart::Variable(_)))
            .count()
    }

    fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(KeyPart::Literal(literal)) => literal.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(KeyPart::Literal(text.to_owned())),
        }
    }
}

/// The key as `upstream-hash-by` spells it.
impl fmt::Display for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match (part, self.0.get(at + 1)) {
                (KeyPart::Literal(text), _) => f.write_str(text)?,
                (KeyPart::Variable(name), Some(KeyPart::Literal(next)))
                    if !word(next).is_empty() =>
                {
                    write!(f, "${{{name}}}")?;
                }
                (KeyPart::Variable(name), _) => write!(f, "${name}")?,
            }
        }
        Ok(())
    }
}

enum Token<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// The first token and what is behind it; nothing at the end.
fn token(text: &str) -> Option<(Token<'_>, &str)> {
    if let Some(rest) = text.strip_prefix('\\') {
        // `\$name` is text, backslash and all; a backslash before anything else is not there.
        let escaped = rest.strip_prefix('$').map_or(0, |rest| word(rest).len());
        let end = if escaped == 0 { 0 } else { escaped + 2 };
        let behind = if escaped == 0 { rest } else { text.get(end..)? };
        return Some((Token::Text(text.get(..end)?), behind));
    }
    let Some(rest) = text.strip_prefix('$') else {
        let end = text.find(['$', '\\']).unwrap_or(text.len());
        let (plain, behind) = text.split_at(end);
        return (!plain.is_empty()).then_some((Token::Text(plain), behind));
    };
    Some(match variable_name(rest) {
        Some((name, behind)) => (Token::Variable(name), behind),
        None => (Token::Text("$"), rest),
    })
}

/// The name of a variable after its `$`, with or without braces, and the text behind it: nginx's grammar of variables, for
/// every text that has some.
#[must_use]
pub fn variable_name(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = match text.strip_prefix('{') {
        Some(braced) => {
            let name = word(braced);
            (name, braced.get(name.len()..)?.strip_prefix('}')?)
        }
        None => text.split_at(word(text).len()),
    };
    (!name.is_empty()).then_some((name, behind))
}

/// The leading letters, digits and underscores.
fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.split_at(end).0
}

impl FromStr for Variable {
    type Err = UnknownVariable;

    /// By the name in nginx, which has no case.
    fn from_str(name: &str) -> Result<Self, UnknownVariable> {
        let lower = name.to_ascii_lowercase();
        let after = |prefix| {
            lower
                .strip_prefix(prefix)
                .filter(|rest: &&str| !rest.is_empty())
                .map(str::to_owned)
        };
        if let Some(header) = after("http_") {
            return Ok(Variable::Header(header));
        }
        if let Some(cookie) = after("cookie_") {
            return Ok(Variable::Cookie(cookie));
        }
        if let Some(arg) = after("arg_") {
            return Ok(Variable::Arg(arg));
        }
        let plain = Plain::ALL.iter().find(|plain| plain.name() == lower);
        plain
            .map(|plain| Variable::Plain(*plain))
            .ok_or_else(|| UnknownVariable(name.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Variable {
    type Error = UnknownVariable;

    fn try_from(name: String) -> Result<Self, UnknownVariable> {
        name.parse()
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variable::Arg(name) => write!(f, "arg_{name}"),
            Variable::Cookie(name) => write!(f, "cookie_{name}"),
            Variable::Header(name) => write!(f, "http_{name}"),
            Variable::Plain(plain) => f.write_str(plain.name()),
        }
    }
}

impl From<Variable> for String {
    fn from(variable: Variable) -> String {
        variable.to_string()
    }
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a variable that a request can answer, got ${}",
            self.0
        )
    }
}

impl std::error::Error for UnknownVariable {}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> KeyPart {
        KeyPart::Literal(text.to_owned())
    }

    fn parts(expression: &str) -> Vec<KeyPart> {
        let (key, unknown) = HashKey::parse(expression);
        assert_eq!(unknown, [], "{expression}");
        key.0
    }

    #[test]
    fn a_key_is_shown_as_it_is_written() {
        for text in [
            "$remote_addr",
            "a${arg_b}c-$cookie_d",
            "$uri$args",
            "${uri}_",
        ] {
            let (key, unknown) = HashKey::parse(text);
            assert_eq!((key.to_string().as_str(), unknown.len()), (text, 0));
        }
    }

    #[test]
    fn names_stand_alone_in_braces_and_beside_text() {
        let uri = KeyPart::Variable(Variable::Plain(Plain::Uri));
        let user = KeyPart::Variable(Variable::Header("x_user".into()));
        assert_eq!(parts("$uri"), std::slice::from_ref(&uri));
        assert_eq!(parts("${uri}-x"), [uri.clone(), literal("-x")]);
        assert_eq!(
            parts("a$http_X_User:$uri"),
            [literal("a"), user, literal(":"), uri]
        );
        assert_eq!(parts(""), []);
    }

    #[test]
    fn what_is_no_variable_stands_for_itself() {
        assert_eq!(parts(r"\$uri"), [literal(r"\$uri")]);
        assert_eq!(parts("$-${}${uri"), [literal("$-${}${uri")]);
        assert_eq!(parts(r"a\b"), [literal("ab")]);
        assert_eq!(parts("é$"), [literal("é$")]);
    }

    #[test]
    fn an_unknown_variable_is_named_and_contributes_nothing() {
        let (key, unknown) = HashKey::parse("a$1$foo_bar$http_-b");
        assert_eq!(key.0, [literal("a-b")]);
        let names: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3);
        assert!(names[1].ends_with("got $foo_bar"), "{names:?}");
    }

    #[test]
    fn every_variable_has_one_name_and_the_list_is_sorted() {
        for plain in Plain::ALL {
            assert_eq!(plain.name().parse(), Ok(Variable::Plain(*plain)));
        }
        assert!(Plain::ALL.is_sorted_by_key(|plain| plain.name()));
        assert_eq!(
            "COOKIE_Sid".parse::<Variable>().unwrap().to_string(),
            "cookie_sid"
        );
    }
}
