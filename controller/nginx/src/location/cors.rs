//! Pages of other origins: what answers to them say, and what `OPTIONS` is answered with.

use sluice_ir::{AllowedOrigin, AllowedOrigins, Cors};

use crate::conf::{Text, Value, Word, word};

/// Variables that are set before the response, and are empty for an origin that is not allowed.
pub(crate) struct CorsConf {
    /// Allowed origins, as patterns; `None` allows all.
    pub(crate) origins: Option<Vec<Word>>,
    pub(crate) variables: Vec<(String, Value)>,
}

/// Allowed origins in one pattern: as many as fit into what nginx reads as one word, each with the longest name that a host can
/// have.
const AT_ONCE: usize = 6;

/// Nothing where no origin is allowed.
pub(crate) fn conf(cors: &Cors) -> Option<CorsConf> {
    let origins = match &cors.origins {
        AllowedOrigins::Any => None,
        AllowedOrigins::Only(origins) if origins.is_empty() => return None,
        AllowedOrigins::Only(origins) => Some(origins.chunks(AT_ONCE).map(one_of).collect()),
    };
    let values = values(cors).into_iter();
    let variables = values
        .map(|(name, text)| (variable(name), text.quoted()))
        .collect();
    Some(CorsConf { origins, variables })
}

/// The headers of the answer.
pub(crate) fn headers(cors: &Cors) -> Vec<(String, Text)> {
    if matches!(&cors.origins, AllowedOrigins::Only(origins) if origins.is_empty()) {
        return Vec::new();
    }
    let values = values(cors).into_iter();
    values
        .map(|(name, _)| (name.to_owned(), Text::default().variable(&sent(name))))
        .collect()
}

/// A header that is sent: of an allowed origin, else what the pod says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    /// The variable with the value.
    pub(crate) name: String,
    /// The value for an allowed origin; empty for others.
    pub(crate) allowed: String,
    /// The header of the pod.
    pub(crate) upstream: String,
}

/// The headers of a route with CORS.
pub(crate) fn all_sent(cors: &Cors) -> impl Iterator<Item = Sent> {
    values(cors).into_iter().map(|(name, _)| Sent {
        name: sent(name),
        allowed: variable(name),
        upstream: in_variable(name),
    })
}

fn variable(name: &str) -> String {
    format!("sluice_{}", in_variable(name))
}

fn sent(name: &str) -> String {
    format!("sluice_sent_{}", in_variable(name))
}

fn in_variable(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

fn values(cors: &Cors) -> Vec<(&'static str, Text)> {
    let text = |text: &str| Text::default().then(text);
    let origin = match cors.origins {
        AllowedOrigins::Any => text("*"),
        AllowedOrigins::Only(_) => Text::default().variable("http_origin"),
    };
    let mut values = vec![
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Methods", text(&cors.allow_methods)),
        ("Access-Control-Allow-Headers", text(&cors.allow_headers)),
        ("Access-Control-Max-Age", text(&cors.max_age.to_string())),
    ];
    values.extend(
        cors.allow_credentials
            .then(|| ("Access-Control-Allow-Credentials", text("true"))),
    );
    values.extend(
        cors.expose_headers
            .as_ref()
            .map(|exposed| ("Access-Control-Expose-Headers", text(exposed))),
    );
    values
}

fn one_of(origins: &[AllowedOrigin]) -> Word {
    let patterns: Vec<String> = origins.iter().map(pattern).collect();
    word(format!("^(?:{})$", patterns.join("|")))
}

fn pattern(origin: &AllowedOrigin) -> String {
    match origin {
        AllowedOrigin::Exact(text) => escaped(text),
        AllowedOrigin::Wildcard { scheme, suffix } => {
            format!("{}[a-z0-9-]+{}", escaped(scheme), escaped(suffix))
        }
    }
}

/// Whatever an origin holds, only letters, digits and these are taken as they are.
fn escaped(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '-');
    text.chars()
        .map(|c| {
            if plain(c) {
                c.to_string()
            } else {
                format!("\\{c}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_no_pattern() {
        assert_eq!(escaped("https://a.b:1"), r"https://a\.b:1");
        let wildcard = AllowedOrigin::Wildcard {
            scheme: "https://".into(),
            suffix: ".a.example".into(),
        };
        assert_eq!(pattern(&wildcard), r"https://[a-z0-9-]+\.a\.example");
    }
}
