//! Names of an Ingress and of its Service, which ingress-nginx sets as variables in each location, in front of its snippets.
//!
//! ```text
//!   more_set_headers "X-A: $namespace"    as if it said     more_set_headers "X-A: default"
//!   if ($service_name = shop)             compared here     all requests, or none
//! ```
//!
//! A location within a location has none of them in nginx, nor has a server. In headers of requests each path has its own
//! ([`RouteHeader`](crate::route_names::RouteHeader)).

use std::ops::Range;

use super::set_variables::{self, Expanded, SetVariables, VariableValue};
use crate::snippet::error::SnippetError;
use crate::snippet::syntax::tree::Directive;

const SERVER_NAME: &str = "server_name";

/// Values by the names of their variables. Without those that the paths of the Ingress do not have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Constants {
    names: SetVariables,
    /// The same, and the host where there is one alone: values of headers have it.
    of_headers: SetVariables,
}

impl Constants {
    /// Leaves out a value that is no name: in a text it could be more than one.
    pub(crate) fn new<'a>(all: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let is_plain = |value: &str| {
            let is_of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
            !value.is_empty() && value.chars().all(is_of_names)
        };
        let all = all.into_iter().filter(|(_, value)| is_plain(value));
        let names: SetVariables = all
            .map(|(name, value)| (name.to_owned(), VariableValue::Text(value)))
            .collect();
        Constants {
            of_headers: names.clone(),
            names,
        }
    }

    /// With the only host of the Ingress. When a response comes, Envoy knows the one alone that its pod was told.
    pub(crate) fn with_host(mut self, host: &str) -> Self {
        for name in ["host", SERVER_NAME] {
            let value = VariableValue::Text(host.to_owned());
            self.of_headers.insert(name.to_owned(), value);
        }
        self
    }

    pub(in crate::snippet) fn variables(&self) -> &SetVariables {
        &self.names
    }

    /// The directives with values in place of these variables, but for those in conditions with patterns, in names and in headers of
    /// requests to pods.
    pub(in crate::snippet) fn within(&self, all: Vec<Directive>) -> Vec<Directive> {
        all.into_iter().map(|one| self.within_one(one)).collect()
    }

    fn within_one(&self, mut directive: Directive) -> Directive {
        let values = values(&directive.words());
        let has_names = directive.name() == "more_set_headers";
        let variables = match directive.name() {
            "add_header" | "more_set_headers" => self.of_headers.clone(),
            // Each path has the others.
            "proxy_set_header" | "grpc_set_header" => self.server_name(),
            _ => self.names.clone(),
        };
        let words = directive.words.iter_mut();
        for word in words.take(values.end).skip(values.start) {
            *word = match word.split_once(':') {
                Some((name, value)) if has_names => format!("{name}:{}", text(value, &variables)),
                None if has_names => continue,
                _ => text(word, &variables),
            };
        }
        if directive.name() == "if" {
            directive.block = directive.block.map(|block| self.within(block));
        }
        directive
    }

    /// A text with values in place of these variables.
    pub(crate) fn text(&self, text: &str) -> String {
        self::text(text, &self.names)
    }

    fn server_name(&self) -> SetVariables {
        let mut variables = self.of_headers.clone();
        variables.retain(|name, _| name == SERVER_NAME);
        variables
    }

    /// Checks that a location within that of the path reads none of them.
    pub(in crate::snippet) fn check_nested(
        &self,
        nested: &[Directive],
    ) -> Result<(), SnippetError> {
        for directive in nested {
            let is_one = |name: &str| self.names.contains_key(name);
            if !set_variables::read_by(&directive.words(), is_one).is_empty() {
                return Err(directive.unsupported());
            }
            self.check_nested(directive.block.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}

fn text(text: &str, variables: &SetVariables) -> String {
    match set_variables::expanded(&[text], variables, None) {
        Some(Expanded::Words(words, _)) => words.concat(),
        _ => text.to_owned(),
    }
}

/// Words of a directive in which nginx knows variables.
fn values(words: &[&str]) -> Range<usize> {
    let all = words.len();
    match words {
        [
            "set" | "rewrite" | "add_header" | "proxy_set_header" | "grpc_set_header",
            ..,
        ] => 2..3,
        // To nginx a variable is no status, whatever is in it.
        ["return", first, ..] => 1 + usize::from(first.starts_with('$'))..all,
        ["proxy_ssl_name" | "more_set_headers", ..] => 1..all,
        ["if", condition @ ..] => {
            let operator = condition.iter().position(|it| matches!(*it, "=" | "!="));
            operator.map_or(0..0, |operator| operator + 2..all)
        }
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::syntax::tree::directives;

    fn within(text: &str) -> String {
        let constants = Constants::new([
            ("namespace", "demo".to_owned()),
            ("service_port", "443".to_owned()),
            ("ingress_name", "$host".to_owned()),
        ]);
        let constants = constants.with_host("a.test");
        let all = constants.within(directives(text).unwrap());
        let words = all.iter().flat_map(|it| {
            let block = it.block.iter().flatten();
            std::iter::once(it).chain(block).flat_map(Directive::words)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_are_where_nginx_has_variables() {
        for (text, expected) in [
            ("set $a x-$namespace;", "set $a x-demo"),
            (
                "add_header X-A $host/$server_name;",
                "add_header X-A a.test/a.test",
            ),
            (
                "proxy_set_header X-A '$server_name $host $namespace';",
                "proxy_set_header X-A a.test $host $namespace",
            ),
            (
                "add_header X-A $Namespace always;",
                "add_header X-A demo always",
            ),
            (
                "more_set_headers 'X-A: ${namespace}b';",
                "more_set_headers X-A: demob",
            ),
            ("return 200 '$host$namespace';", "return 200 ${host}demo"),
            (
                "return https://$namespace.test/;",
                "return https://demo.test/",
            ),
            (
                "rewrite ^/a /$namespace? redirect;",
                "rewrite ^/a /demo? redirect",
            ),
            (
                "if ($http_a = $namespace) { return 200 $namespace; }",
                "if ($http_a = demo) return 200 demo",
            ),
        ] {
            assert_eq!(within(text), expected);
        }
        for same in [
            "set $namespace a",
            "add_header $namespace a",
            "more_set_headers $namespace $namespace:a",
            "return $service_port",
            "rewrite $namespace /a",
            "proxy_set_header X-A $namespace",
            // It would be a variable.
            "return 200 $ingress_name",
        ] {
            assert_eq!(within(&format!("{same};")), same);
        }
        let pattern = "if ($http_a ~ $namespace) { return 403; }";
        assert_eq!(within(pattern), "if ($http_a ~ $namespace) return 403");
    }
}
