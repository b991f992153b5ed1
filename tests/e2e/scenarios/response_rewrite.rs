//! Rewriting of pods' responses, in every data plane: clients get `Location` and cookies as the Ingress says, and the data
//! plane's own responses stay as they are.

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST};

/// The same pods under any name, with a rule that would show whether it is followed twice.
const ANY_HOST: &str = "*.any.test";
/// The same pods with patterns for all of them.
const PATTERN_HOST: &str = "pattern.test";
/// The same pods without a word of an Ingress.
const PLAIN_HOST: &str = "plain.test";
/// All paths lead elsewhere, without a pod.
const MOVED_HOST: &str = "moved.test";

/// The `Location` of a pod, and that of the client.
const REDIRECTS: &[(&str, &str, &str)] = &[
    (
        "location",
        "http://web.internal:8080/login?to=$host",
        "https://web.test/shop/login?to=$host",
    ),
    (
        "location",
        "http://web.internal:8080/",
        "https://web.test/shop/",
    ),
    (
        "location",
        "http://web.internal:8080",
        "http://web.internal:8080",
    ),
    (
        "location",
        "http://WEB.internal:8080/",
        "http://WEB.internal:8080/",
    ),
    ("location", "/login", "/login"),
    (
        "refresh",
        "3; URL=http://web.internal:8080/a",
        "3; URL=https://web.test/shop/a",
    ),
    ("refresh", "3; url=/a", "3; url=/a"),
];

const COOKIES: &[(&str, &str)] = &[
    (
        "a=1; Domain=web.internal; Path=/app/x",
        "a=1; Domain=web.test; Path=/shop/x",
    ),
    (
        "b=1; Domain=other.test;  Path=/other",
        "b=1; Domain=other.test;  Path=/other",
    ),
    (
        "c=1=2;domain = .WEB.internal ;Secure; HttpOnly",
        "c=1=2; domain=.web.test; Secure; HttpOnly",
    ),
    (
        "d=/app/; Max-Age=3; path=/app/",
        "d=/app/; Max-Age=3; path=/shop/",
    ),
    (
        "e=web.internal; Domain=x.web.internal",
        "e=web.internal; Domain=x.web.internal",
    ),
    ("Path=/app/; HttpOnly", "Path=/app/; HttpOnly"),
    ("f; Path=/app/", "f; Path=/app/"),
    ("g=1; Path=/App/; Path", "g=1; Path=/App/; Path"),
];

/// Of a host with patterns: names, values of the pod, and those of the client.
const BY_PATTERNS: &[(&str, &str, &str)] = &[
    (
        "location",
        "http://web.internal:8080/a?b=$1",
        "https://pattern.test/web/a?b=$1",
    ),
    ("location", "http://web.other/a", "http://web.other/a"),
    (
        "refresh",
        "3; url=http://api.internal/",
        "3; url=https://pattern.test/api/",
    ),
    (
        "set-cookie",
        "a=1; Domain=.API.internal; Path=/USER/me; Secure",
        "a=1; Domain=API.pattern.test; Path=/u/me; Secure",
    ),
    (
        "set-cookie",
        "a=1; Domain=internal; Path=/x/user/",
        "a=1; Domain=internal; Path=/x/user/",
    ),
];

/// Clients see redirects and cookies where they see the pod.
pub(crate) async fn rewrites_redirects_and_cookies(
    data_plane: &str,
    arguments: &[&str],
) -> Result<()> {
    let fixture = fixture().await?;
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let options = Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .arguments(arguments);
    let sluice = options.start().await?;
    for host in [HOST, PLAIN_HOST, PATTERN_HOST] {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    redirects_are_rewritten(&fixture, &sluice).await?;
    cookies_are_rewritten(&fixture, &sluice).await?;
    cookies_are_rewritten_once(&fixture, &sluice).await?;
    patterns_are_found(&fixture, &sluice).await?;
    let moved = sluice.get(MOVED_HOST, "/").await?;
    ensure!(
        moved.header("location") == Some("http://web.internal:8080/own"),
        "{moved:?}"
    );
    sluice.stop()
}

async fn fixture() -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    let known = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80);
        ingress
            .annotation("proxy-redirect-from", "http://web.internal:8080/")
            .annotation("proxy-redirect-to", "https://$http_host/shop/")
            .annotation("proxy-cookie-domain", ".web.internal .web.test")
            .annotation("proxy-cookie-path", "/app/ /shop/")
    };
    let sticky = known("web", HOST)
        .annotation("affinity", "cookie")
        .annotation("session-cookie-path", "/app/");
    fixture.manifests.ingress(&sticky)?;
    let moved = known("moved", MOVED_HOST);
    fixture
        .manifests
        .ingress(&moved.annotation("permanent-redirect", "http://web.internal:8080/own"))?;
    let any = Ingress::new("default", "any")
        .host(ANY_HOST)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&any.annotation("proxy-cookie-path", "/ /shop/"))?;
    let pattern = Ingress::new("default", "pattern")
        .host(PATTERN_HOST)
        .path("/", "web", 80)
        .annotation(
            "proxy-redirect-from",
            r"~^http://(\w+)\.internal(?::[0-9]+)?/(.*)$",
        )
        .annotation("proxy-redirect-to", "https://$http_host/$1/$2")
        .annotation("proxy-cookie-domain", r"~(\w+)\.internal $1.pattern.test")
        .annotation("proxy-cookie-path", "~*^/user/(.+) /u/$1");
    fixture.manifests.ingress(&pattern)?;
    fixture.manifests.ingress(
        &Ingress::new("default", "plain")
            .host(PLAIN_HOST)
            .path("/", "web", 80),
    )?;
    Ok(fixture)
}

/// The pod answers with these headers.
fn script_response(fixture: &Fixture, status: u16, headers: &[(&str, &str)]) {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    fixture.pods[0].script(Script::echo().answer(
        "/go",
        Answer {
            status,
            headers,
            ..Answer::default()
        },
    ));
}

async fn redirects_are_rewritten(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    for (name, sent, seen) in REDIRECTS {
        script_response(fixture, 302, &[(name, sent)]);
        let (known, plain) = (
            sluice.get(HOST, "/go").await?,
            sluice.get(PLAIN_HOST, "/go").await?,
        );
        ensure!(
            known.status == 302 && known.header(name) == Some(seen),
            "{sent}: {known:?}"
        );
        ensure!(plain.header(name) == Some(sent), "{sent}: {plain:?}");
    }
    Ok(())
}

async fn patterns_are_found(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    for (name, sent, seen) in BY_PATTERNS {
        script_response(fixture, 200, &[(name, sent)]);
        let answer = sluice.get(PATTERN_HOST, "/go").await?;
        ensure!(answer.header(name) == Some(seen), "{sent}: {answer:?}");
    }
    Ok(())
}

async fn cookies_are_rewritten_once(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    script_response(fixture, 200, &[("Set-Cookie", "a=1; Path=/")]);
    let answer = sluice.get("some.any.test", "/go").await?;
    ensure!(
        answer.header("set-cookie") == Some("a=1; Path=/shop/"),
        "{answer:?}"
    );
    Ok(())
}

/// One after the other, in one answer and in their order; the last one is that of the session, which begins here.
async fn cookies_are_rewritten(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    let sent: Vec<_> = COOKIES
        .iter()
        .map(|(sent, _)| ("Set-Cookie", *sent))
        .collect();
    script_response(fixture, 200, &sent);
    let answer = http::send(sluice.http(), &Request::get(HOST, "/go")).await?;
    let seen: Vec<&str> = answer.headers("set-cookie").collect();
    let (session, pods) = seen.split_last().unwrap_or((&"", &[]));
    let expected: Vec<&str> = COOKIES.iter().map(|(_, seen)| *seen).collect();
    ensure!(pods == expected, "{pods:#?}");
    ensure!(
        session.starts_with("INGRESSCOOKIE=") && session.contains("; Path=/app/;"),
        "{session}"
    );
    Ok(())
}
