//! The services that cases name without describing them, because everybody's test suite has them.
//!
//! | name | what it is |
//! |---|---|
//! | `httpbun`, `httpbin`, `authsvc`, `auth-service`, `status-svc` | answers by path: `/status/N`, `/basic-auth/U/P`, `/cookies/set/NAME/VALUE`, `/error` |
//! | `slow-echo`, `slow` | echoes; `/sleep/N` after N seconds |
//! | `ext`, `ext-invalid` | an ExternalName service whose name can, and cannot, be resolved |
//! | `invalid` | there is none |
//! | any other | echoes; the query may ask for more |
//!
//! The query of an echo service: `hsts=true` sends Strict-Transport-Security; `xstatus=N` answers with that status and the text
//! `status N`, `xheader=NAME:VALUE` (percent-encoded) with that header, `xsize=N` with a body of N bytes, `xdelay=N` after
//! N seconds. It answers an upgrade to WebSocket with 101.
//!
//! A case that describes a service under one of these names has its own.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;

use crate::echo::Received;
use crate::script::Answer;

/// A service that is known by its name and is not just pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixture {
    /// There is no such service.
    Missing,
    /// An ExternalName service.
    Outside {
        /// Its name can be resolved.
        resolvable: bool,
    },
}

/// The fixture of this name.
pub fn of(name: &str) -> Option<Fixture> {
    match name {
        "invalid" => Some(Fixture::Missing),
        "ext" => Some(Fixture::Outside { resolvable: true }),
        "ext-invalid" => Some(Fixture::Outside { resolvable: false }),
        _ => None,
    }
}

/// Response of a pod whose script has nothing for the path.
pub fn reflex(received: &Received) -> Option<Answer> {
    match received.service.as_str() {
        "httpbun" | "httpbin" | "authsvc" | "auth-service" | "status-svc" => by_path(received),
        "slow-echo" | "slow" => slow(received),
        _ => as_asked(received),
    }
}

fn by_path(received: &Received) -> Option<Answer> {
    let segments: Vec<&str> = received.path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["status", status] => Some(status_of(status.parse().ok()?)),
        ["error"] => Some(status_of(503)),
        ["basic-auth", user, password] => Some(basic_auth(received, user, password)),
        ["cookies", "set", name, value] => Some(Answer {
            headers: vec![("Set-Cookie".to_owned(), format!("{name}={value}; Path=/"))],
            ..Answer::default()
        }),
        _ => slow(received),
    }
}

fn status_of(status: u16) -> Answer {
    Answer {
        status,
        body: Some(format!("status {status}\n")),
        ..Answer::default()
    }
}

fn basic_auth(received: &Received, user: &str, password: &str) -> Answer {
    let expected = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
    if received.header("authorization") == Some(expected) {
        return Answer::default();
    }
    let challenge = (
        "WWW-Authenticate".to_owned(),
        "Basic realm=\"fixture\"".to_owned(),
    );
    Answer {
        headers: vec![challenge],
        ..status_of(401)
    }
}

fn slow(received: &Received) -> Option<Answer> {
    let seconds = ["/sleep/", "/delay/"]
        .iter()
        .find_map(|prefix| received.path.strip_prefix(prefix))?;
    let delay = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    Some(Answer {
        delay,
        ..Answer::default()
    })
}

fn as_asked(received: &Received) -> Option<Answer> {
    if received
        .header("upgrade")
        .is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket"))
    {
        return Some(switching());
    }
    let (mut answer, mut is_asked) = (Answer::default(), false);
    for word in received.query.as_ref()?.split('&') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut text = |body: String, content_type: &str| {
            answer.body = Some(body);
            answer.headers.push(header("Content-Type", content_type));
        };
        match name {
            "hsts" if value == "true" => {
                answer
                    .headers
                    .push(header("Strict-Transport-Security", "max-age=3600; preload"));
            }
            "xstatus" => {
                text(format!("status {value}"), "text/plain");
                answer.status = value.parse().ok()?;
            }
            "xsize" => text("x".repeat(value.parse().ok()?), "application/json"),
            "xheader" => {
                let decoded = percent_decode_str(value).decode_utf8().ok()?;
                let (name, value) = decoded.split_once(':')?;
                answer.headers.push(header(name, value.trim()));
            }
            "xdelay" => answer.delay = Duration::try_from_secs_f64(value.parse().ok()?).ok()?,
            _ => continue,
        }
        is_asked = true;
    }
    is_asked.then_some(answer)
}

fn switching() -> Answer {
    Answer {
        status: 101,
        headers: vec![
            header("Connection", "upgrade"),
            header("Upgrade", "websocket"),
        ],
        body: Some(String::new()),
        ..Answer::default()
    }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(
        service: &str,
        path: &str,
        query: Option<&str>,
        authorization: &str,
    ) -> Option<Answer> {
        let mut received = Received {
            service: service.to_owned(),
            path: path.to_owned(),
            ..Received::default()
        };
        received.query = query.map(str::to_owned);
        received
            .headers
            .insert("authorization".to_owned(), vec![authorization.to_owned()]);
        reflex(&received)
    }

    #[test]
    fn services_answer_as_their_names_promise() {
        let status = |service: &str, path: &str, authorization: &str| {
            answer(service, path, None, authorization).map(|answer| answer.status)
        };
        assert_eq!(status("httpbun", "/status/418", ""), Some(418));
        assert_eq!(
            status(
                "authsvc",
                "/basic-auth/user/password",
                "Basic dXNlcjpwYXNzd29yZA=="
            ),
            Some(200)
        );
        assert_eq!(
            status("authsvc", "/basic-auth/user/password", "Basic dXNlcjpub3Bl"),
            Some(401)
        );
        assert_eq!(status("status-svc", "/error", ""), Some(503));
        assert_eq!(status("echo", "/status/418", ""), None);
        let rests = answer("slow-echo", "/sleep/10", None, "").map(|answer| answer.delay);
        assert_eq!(rests, Some(Duration::from_secs(10)));
        assert!(answer("echo", "/", Some("hsts=true"), "").is_some());
    }
}
