//! nginx's variables by the places where they are served, for the documentation. Each place is asked by the code that reads it.

use std::collections::BTreeSet;

use sluice_filter_config::{HashKey, Plain};
use sluice_ir::Forwarded;
use sluice_syntax::expression;
use sluice_syntax::settings::ext_auth::{sign_in, url_with_variables};
use sluice_syntax::template::Target;

use crate::annotations::longest_host_value;
use crate::route_names::RouteNames;
use crate::snippet::{Block, Comparable, CompileOptions, Constants, HeaderOptions, compile};

/// A place in which texts may have variables.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Annotations, keys of the ConfigMap or directives.
    pub title: &'static str,
    takes: fn(&str) -> bool,
}

impl Place {
    /// Its variables in the order of their names, without the dollar.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        let plain = Plain::ALL.iter().map(|variable| variable.name());
        let names: BTreeSet<&str> = plain.chain(OTHERS.iter().copied()).collect();
        names.into_iter().filter(move |name| (self.takes)(name))
    }
}

/// All places, but for formats of logs.
pub const PLACES: &[Place] = &[
    place(
        "`configuration-snippet`, `server-snippet`: values of response headers, in the latter without `$host`, `$server_name` and names of the Ingress",
        |name| is_served(&format!("more_set_headers \"X-A: ${{{name}}}\";")),
    ),
    place(
        "`configuration-snippet`: values of request headers",
        |name| is_served(&format!("proxy_set_header X-A ${{{name}}};")),
    ),
    place("snippets: conditions with `=`", |name| {
        ["a", "/a"]
            .iter()
            .any(|text| is_condition(name, &format!("= {text}")))
    }),
    place("snippets: conditions with `~`", |name| {
        is_condition(name, "~ a")
    }),
    place(
        "`permanent-redirect`, `temporal-redirect`; snippets: URLs of `return`",
        |name| expression::for_redirects(&format!("https://a.test/${{{name}}}")).is_ok(),
    ),
    place("`app-root`", |name| {
        expression::for_app_root(&format!("/${{{name}}}")).is_ok()
    }),
    place("`rewrite-target`, `x-forwarded-prefix`", |name| {
        let longest = RouteNames::longest();
        Target::for_route(&format!("/${{{name}}}"), |name| longest.get(name)).is_ok()
    }),
    place("`upstream-vhost`", |name| {
        // A cookie may not stand alone.
        longest_host_value(&format!("x-${{{name}}}"), true).is_ok()
    }),
    place("`proxy-set-headers` of the ConfigMap", |name| {
        expression::for_all_requests(&format!("${{{name}}}")).is_ok()
    }),
    place(
        "`add-headers` of the ConfigMap; `proxy-redirect-*`, `proxy-cookie-*`",
        |name| expression::for_headers(&format!("${{{name}}}")).is_ok(),
    ),
    place(
        "`upstream-hash-by` ([details](hash-variables.md))",
        |name| HashKey::parse(&format!("${{{name}}}")).1.is_empty(),
    ),
    place("`auth-url`", |name| {
        let longest = RouteNames::longest();
        let url = format!("https://a.test/${{{name}}}");
        url_with_variables(&url, |name| longest.get(name)).is_ok()
    }),
    place("`auth-signin`", |name| {
        let longest = RouteNames::longest();
        let url = format!("https://a.test/${{{name}}}");
        sign_in(&url, None, |name| longest.get(name)).is_ok()
    }),
    place(
        "`auth-proxy-set-headers`, `auth-snippet`, `auth-request-redirect`",
        |name| expression::for_ext_auth(&format!("${{{name}}}")).is_ok(),
    ),
    place("`auth-cache-key`", |name| {
        expression::for_cache_key(&format!("${{{name}}}"), RouteNames::is_constant).is_ok()
    }),
    place("`fastcgi-params-configmap`", |name| {
        expression::for_fastcgi(&format!("${{{name}}}")).is_ok()
    }),
];

/// Names beside those of [`Plain`].
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "arg_NAME", "cookie_NAME", "escaped_request_uri", "fastcgi_script_name", "http_NAME", "ingress_name", "location_path", "msec", "namespace",
    "proxy_upstream_name", "remote_user", "request_id", "service_name", "service_port", "status", "time_iso8601", "upstream_addr", "upstream_status",
];

const fn place(title: &'static str, takes: fn(&str) -> bool) -> Place {
    Place { title, takes }
}

fn is_condition(name: &str, operation: &str) -> bool {
    is_served(&format!("if (${name} {operation}) {{ return 403; }}"))
}

fn is_served(snippet: &str) -> bool {
    let names = ["ingress_name", "namespace", "service_name", "service_port"];
    let constants = Constants::new(names.map(|name| (name, "a".to_owned())));
    let constants = constants.with_host("a");
    let forwarded = Forwarded::default();
    let headers = HeaderOptions {
        knows_users: true,
        ..HeaderOptions::new(&forwarded)
    };
    let options = CompileOptions {
        constants: Some(&constants),
        ..CompileOptions::new(headers, Comparable::BY_NGINX)
    };
    compile(snippet, Block::Location, options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(begin: &str) -> Vec<&'static str> {
        let place = PLACES.iter().find(|place| place.title.starts_with(begin));
        place.unwrap().variables().collect()
    }

    #[test]
    fn each_place_has_variables_and_not_all() {
        for place in PLACES {
            let count = place.variables().count();
            assert!((1..30).contains(&count), "{}: {count}", place.title);
        }
        assert!(variables("`upstream-vhost`").contains(&"service_name"));
        assert!(variables("`upstream-vhost`").contains(&"server_name"));
        assert!(variables("`auth-cache-key`").contains(&"namespace"));
        assert!(!variables("`permanent-redirect`").contains(&"request_method"));
        assert!(variables("`auth-cache-key`").contains(&"remote_user"));
    }
}
