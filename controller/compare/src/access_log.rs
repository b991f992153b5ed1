//! Access logs: lines in formats of nginx, or JSON.

use serde_json::Value;
use sluice_explain::Request;

use crate::log_format::LogFormat;
use crate::plan::reasons;
use crate::recorded::Recorded;

/// Names of a value, those of nginx's variables first, then those that JSON logs of nginx, Envoy and Sluice have.
const HOST: &[&str] = &[
    "host",
    "http_host",
    "best_http_host",
    "server_name",
    "vhost",
    "authority",
    ":authority",
];
const REQUEST: &[&str] = &["request"];
const METHOD: &[&str] = &["request_method", "method", ":method"];
const URI: &[&str] = &[
    "request_uri",
    "uri",
    "path",
    ":path",
    "x-envoy-original-path",
];
const QUERY: &[&str] = &["args", "query_string", "request_query"];
const SCHEME: &[&str] = &[
    "scheme",
    "x_scheme",
    "x_forwarded_proto",
    "http_x_forwarded_proto",
];
const UPSTREAM: &[&str] = &["proxy_upstream_name"];
const USER_AGENT: &[&str] = &["http_user_agent", "user_agent", "user-agent"];

/// The request of a line.
///
/// # Errors
/// When none can be read from it, or nothing in it says whose it was: one of [`reasons`].
pub fn read_line(line: &str, formats: &[LogFormat]) -> Result<Recorded, &'static str> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.trim_start().starts_with('{') {
        let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
            return Err(reasons::UNREADABLE);
        };
        return recorded(&|names| {
            let value = names.iter().find_map(|name| fields.get(*name))?;
            value.as_str().map(str::to_owned)
        });
    }
    let read = formats.iter().filter_map(|format| {
        let values = format.read(line)?;
        Some(recorded(&|names| {
            let mut known = names.iter();
            known.find_map(|name| {
                let mut values = values.iter();
                let (_, value) = values.find(|(variable, _)| variable == name)?;
                Some(value.clone())
            })
        }))
    });
    let mut reason = reasons::UNREADABLE;
    for read in read {
        match read {
            Ok(recorded) => return Ok(recorded),
            Err(reasons::UNREADABLE) => {}
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

/// The request of named values; a missing one is logged as `-`.
fn recorded(value: &dyn Fn(&[&str]) -> Option<String>) -> Result<Recorded, &'static str> {
    let value = |names: &[&str]| value(names).filter(|value| !value.is_empty() && value != "-");
    let (method, target) = line_of(&value).ok_or(reasons::UNREADABLE)?;
    let host = value(HOST).filter(|host| host != "_");
    let upstream = value(UPSTREAM).filter(|_| host.is_none());
    if host.is_none() && upstream.is_none() {
        return Err(reasons::NAMELESS);
    }
    let scheme = value(SCHEME).filter(|scheme| scheme == "http" || scheme == "https");
    // A name in the place of the one that is not known yet.
    let host = host.as_deref().unwrap_or("unknown.invalid");
    let url = format!("{}://{host}{target}", scheme.as_deref().unwrap_or("http"));
    let agent = value(USER_AGENT).map(|agent| format!("User-Agent: {agent}"));
    let headers: Vec<String> = agent.into_iter().collect();
    let request = Request::parse(&url, &method, &headers);
    Ok(Recorded {
        request: request.map_err(|_| reasons::UNREADABLE)?,
        has_scheme: scheme.is_some(),
        upstream,
        body: None,
    })
}

/// Method, and path with query.
fn line_of(value: &dyn Fn(&[&str]) -> Option<String>) -> Option<(String, String)> {
    let line = value(REQUEST);
    let mut words = line.as_deref().unwrap_or_default().split(' ');
    let (first, second) = (words.next(), words.next());
    let method = value(METHOD).or_else(|| second.and(first).map(str::to_owned))?;
    let mut target = value(URI).or_else(|| second.map(str::to_owned))?;
    if !target.contains('?')
        && let Some(query) = value(QUERY)
    {
        target = format!("{target}?{query}");
    }
    let is_method = method.bytes().all(|b| b.is_ascii_uppercase());
    (is_method && target.starts_with('/')).then_some((method, target))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Result<Recorded, &'static str> {
        read_line(line, &LogFormat::usual())
    }

    #[test]
    fn a_line_of_ingress_nginx_says_its_upstream() {
        let line = r#"10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] "GET /cart?id=1 HTTP/2.0" 200 512 "-" "curl/8" 93 0.004 [shop-web-80] [] 10.1.0.4:8080 512 0.004 200 0f1e"#;
        let found = read(line).unwrap();
        assert_eq!(found.request.target, "/cart?id=1");
        assert_eq!(found.upstream.as_deref(), Some("shop-web-80"));
        assert!(!found.has_scheme);
        assert_eq!(
            found.request.header("user-agent").as_deref(),
            Some("curl/8")
        );
    }

    #[test]
    fn a_host_is_read_in_front_behind_and_in_json() {
        for line in [
            r#"a.b 10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] "HEAD /x HTTP/1.1" 200 5 "-" "-""#,
            r#"10.0.0.7 - u [10/Oct/2025:13:55:36 +0000] "HEAD /x HTTP/1.1" 200 5 "-" "-" "a.b""#,
            r#"{"host": "a.b", "method": "HEAD", "uri": "/x", "status": 200}"#,
            r#"{"http_host": "A.b", "request": "HEAD /x HTTP/1.1", "status": 200}"#,
            r#"{"authority": "a.b", "method": "HEAD", "path": "/x"}"#,
        ] {
            let found = read(line).unwrap_or_else(|reason| panic!("{line}: {reason}"));
            assert_eq!(found.request.to_string(), "HEAD http://a.b/x", "{line}");
        }
        let json = r#"{"host": "a.b", "request_method": "GET", "uri": "/x", "args": "y=1", "scheme": "https"}"#;
        let found = read(json).unwrap();
        assert_eq!(found.request.to_string(), "GET https://a.b/x?y=1");
        assert!(found.has_scheme);
    }

    #[test]
    fn what_is_no_request_is_none() {
        for line in [
            "",
            "I1010 13:55:36 controller.go:1] started",
            r#"{"host": "a.b"}"#,
            r#"{"host": "a.b", "request": "\u0016\u0003\u0001"}"#,
            r#"a.b 10.0.0.7 - - [x] "CONNECT a:1 HTTP/1.1" 400 5 "-" "-""#,
            r#"a.b 10.0.0.7 - - [x] "-" 400 5 "-" "-""#,
        ] {
            assert_eq!(read(line), Err(reasons::UNREADABLE), "{line}");
        }
    }

    /// Of a request that the data plane answered itself, ingress-nginx logs neither.
    #[test]
    fn a_request_without_a_host_and_an_upstream_is_one_all_the_same() {
        let line = |upstreams: &str| {
            format!(
                r#"10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] "GET /x HTTP/1.1" 308 164 "-" "curl/8" 93 0.000 {upstreams} - - - - 0f1e"#
            )
        };
        for line in [
            line("[] []"),
            line("[-] []"),
            r#"{"host": "_", "method": "GET", "uri": "/"}"#.to_owned(),
        ] {
            assert_eq!(read(&line), Err(reasons::NAMELESS), "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_request_that_is_read_has_a_path_and_a_name(line in ".{0,200}", value in ".{0,40}") {
            let json = serde_json::json!({"host": value, "method": "GET", "uri": format!("/{value}")});
            for line in [line, json.to_string()] {
                if let Ok(found) = read(&line) {
                    prop_assert!(found.request.target.starts_with('/'));
                    prop_assert!(!found.request.host.is_empty());
                }
            }
        }
    }
}
