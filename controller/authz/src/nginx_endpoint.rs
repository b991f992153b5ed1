//! Requests that nginx asks about, over plain HTTP: `auth_request` knows 2xx, 401 and 403, and the rest is in headers.

use axum::extract::State;
use axum::http::header::{HeaderName, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use sluice_nginx::auth_request::{
    CERTIFICATE, CLIENT, COOKIE, HOST, METHOD, MOST_COOKIES, RETRY_AFTER, ROUTE, SCHEME, SIGN_IN,
    UPSTREAM_HEADER, URI,
};
use sluice_xds_server::{AuthzDecision, AuthzRequest, ClientCertificate};

use crate::Authorizer;

/// Answers nginx's `auth_request` at [`sluice_nginx::auth_request::PATH`], which has the request in headers. 204: it is allowed, and
/// headers say what the pod and the client get; 400: these are no headers of ours; anything else is the answer for the client.
pub async fn auth_request(State(authorizer): State<Authorizer>, headers: HeaderMap) -> Response {
    let Some(check) = read(&headers) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    answer(authorizer.check(&check).await)
}

fn read(headers: &HeaderMap) -> Option<AuthzRequest> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
    };
    let owned = |name: &str| header(name).unwrap_or_default().to_owned();
    let is_ours = |name: &HeaderName| name.as_str().starts_with("sluice-");
    let clients = headers.iter().filter(|(name, _)| !is_ours(name));
    let [verify, subject, issuer, pem] = CERTIFICATE;
    let certificate = header(verify).map(|verify| ClientCertificate {
        verify: verify.to_owned(),
        subject: owned(subject),
        issuer: owned(issuer),
        pem: owned(pem),
    });
    Some(AuthzRequest {
        route: header(ROUTE)?.to_owned(),
        client: header(CLIENT).and_then(|address| address.parse().ok()),
        method: owned(METHOD),
        scheme: owned(SCHEME),
        host: owned(HOST),
        path: header(URI)?.to_owned(),
        headers: clients
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect(),
        certificate,
    })
}

fn answer(decision: AuthzDecision) -> Response {
    let (status, headers) = match decision {
        AuthzDecision::Allow(changes) => {
            let upstream_headers = changes
                .set
                .into_iter()
                .map(|(name, value)| (format!("{UPSTREAM_HEADER}{name}"), value));
            let cookies = changes.answer.into_iter().map(|(_, value)| value);
            let sign_in = changes.sign_in.map(|url| (SIGN_IN.to_owned(), url));
            let all = upstream_headers.chain(sign_in).chain(numbered(cookies));
            (StatusCode::NO_CONTENT, all.collect())
        }
        AuthzDecision::Deny { status, headers } => {
            let of = |wanted: &'static str| {
                headers
                    .iter()
                    .filter(move |(name, _)| name == wanted)
                    .map(|(_, value)| value.clone())
            };
            let asks =
                of(WWW_AUTHENTICATE.as_str()).map(|value| (WWW_AUTHENTICATE.to_string(), value));
            let place = of("location").map(|value| (SIGN_IN.to_owned(), value));
            let again = of(RETRY_AFTER).map(|value| (RETRY_AFTER.to_owned(), value));
            let all: Vec<_> = asks
                .chain(place)
                .chain(again)
                .chain(numbered(of("set-cookie")))
                .collect();
            // nginx redirects to the sign-in page itself.
            let status = if status == 302 { 401 } else { status };
            (
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                all,
            )
        }
    };
    let mut response = status.into_response();
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn numbered(cookies: impl Iterator<Item = String>) -> impl Iterator<Item = (String, String)> {
    cookies
        .take(MOST_COOKIES)
        .enumerate()
        .map(|(place, cookie)| (format!("{COOKIE}{place}"), cookie))
}

#[cfg(test)]
mod tests {
    use sluice_xds_server::Changes;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn a_request_without_a_route_is_invalid() {
        assert_eq!(read(&headers(&[(URI, "/")])), None);
        let read = read(&headers(&[
            (ROUTE, "a/"),
            (URI, "/x"),
            (CLIENT, "192.0.2.1"),
            ("cookie", "a"),
        ]))
        .unwrap();
        assert_eq!((read.route.as_str(), read.path.as_str()), ("a/", "/x"));
        assert_eq!(read.headers, [("cookie".to_owned(), b"a".to_vec())]);
    }

    #[test]
    fn what_nginx_does_not_understand_comes_in_headers() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let changes = Changes {
            set: vec![pair("x-user", "ada")],
            answer: vec![pair("set-cookie", "a=1")],
            sign_in: Some("/again".to_owned()),
            ..Changes::default()
        };
        let response = answer(AuthzDecision::Allow(changes));
        assert_eq!(response.status(), 204);
        assert_eq!(response.headers()[SIGN_IN], "/again");
        assert_eq!(response.headers()["sluice-pod-x-user"], "ada");
        assert_eq!(response.headers()["sluice-cookie-0"], "a=1");
        let signs_in = AuthzDecision::Deny {
            status: 302,
            headers: vec![pair("location", "/start"), pair("set-cookie", "b")],
        };
        let response = answer(signs_in);
        assert_eq!(
            (response.status().as_u16(), &response.headers()[SIGN_IN]),
            (401, &HeaderValue::from_static("/start"))
        );
        assert!(!response.headers().contains_key("location"));
        let status = |status| {
            answer(AuthzDecision::Deny {
                status,
                headers: Vec::new(),
            })
            .status()
        };
        assert_eq!(
            (status(403), status(503)),
            (StatusCode::FORBIDDEN, StatusCode::SERVICE_UNAVAILABLE)
        );
    }
}
