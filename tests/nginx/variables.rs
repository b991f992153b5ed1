//! Variables as the filter and the controller evaluate them are equal to those of a real nginx.

use std::borrow::Cow;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use sluice_filter_core::{Fact, variables};
use sluice_tests::http::{self, Request};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;

/// Those that are read out of what a client writes.
const VARIABLES: &[&str] = &[
    "cookie_sid",
    "cookie_a",
    "arg_a",
    "arg_sid",
    "args",
    "is_args",
    "host",
    "http_host",
    "http_cookie",
    "http_x_team",
    "request_method",
    "request_uri",
    "uri",
    "content_type",
    "remote_addr",
];

const COOKIES: &[&str] = &[
    "sid=1",
    "SID=1",
    "a=1; Sid=2",
    "sid=1; sid=2",
    "sid=; sid=2",
    "sid",
    "sid; sid=1",
    "xsid=1; sidx=2",
    "sid = 1 2 ; a",
    "sid=\"a;b\"; a=2",
    "a=1,sid=2",
    "sid=a,b",
    "a=sid=1",
    ";;sid=1",
    "sid==1",
    "a=1;sid=2",
    "a=1;  sid=2",
    "si",
    "sid=1;",
];

const TARGETS: &[&str] = &[
    "/",
    "/?a=1",
    "/?A=1&a=2",
    "/?xa=1&a=2",
    "/?a",
    "/?a&a=1",
    "/?a=",
    "/?&a=1",
    "/?",
    "/a%20b",
    "/a//b/./c/../d",
    "/a%2fb",
    "/%2e%2e",
    "/a/%2E%2e/b",
    "/a/..",
    "/a/.",
    "/a/...",
    "/%2541",
    "/a;b=c",
    "/a+b?sid=a+b%20c",
    "/a?b?a=1",
    "/\u{e9}",
];

const HOSTS: &[&str] = &[
    "a.test",
    "A.Test:8080",
    "a.test.",
    "a.test.:80",
    "[::1]",
    "[::1]:80",
    "127.0.0.1:80",
    "a_b.test",
];

/// The same request for our reader.
struct Read<'a>(&'a Request);

impl sluice_filter_core::Request for Read<'_> {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let Request {
            method,
            target,
            headers,
            ..
        } = self.0;
        let name = match name {
            ":method" => return Some(Cow::Borrowed(method.as_bytes())),
            ":path" => return Some(Cow::Borrowed(target.as_bytes())),
            ":authority" => "host",
            name => name,
        };
        let values = headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        // As HTTP has it: blanks around a value are none of it.
        let values: Vec<&str> = values.map(|(_, value)| value.trim_matches(' ')).collect();
        let separator = if name == "cookie" { "; " } else { ", " };
        (!values.is_empty()).then(|| Cow::Owned(values.join(separator).into_bytes()))
    }

    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
        matches!(fact, Fact::ClientAddress).then_some(Cow::Borrowed(b"127.0.0.1:1"))
    }
}

fn read(request: &Request) -> Result<Vec<Vec<u8>>> {
    let value = |name: &&str| {
        let mut value = Vec::new();
        let variable = name.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
        variables::append(&Read(request), &variable, &mut value);
        Ok(value)
    };
    VARIABLES.iter().map(value).collect()
}

async fn start() -> Result<(Nginx, SocketAddr, Port)> {
    let port = Port::reserve()?;
    let all: Vec<String> = VARIABLES.iter().map(|name| format!("${name}")).collect();
    let server = format!(
        "server {{ listen {}; server_name _; keepalive_requests 100000; default_type text/plain; return 200 \"{}\"; }}",
        port.addr(),
        all.join("\\n")
    );
    let nginx = Nginx::start(Conf::write("", &server)?).await?;
    let addr = port.addr();
    Ok((nginx, addr, port))
}

/// `None`: nginx does not take the request.
async fn ask(addr: SocketAddr, request: &Request) -> Result<Option<Vec<Vec<u8>>>> {
    let answer = http::send(addr, request).await?;
    if answer.status != 200 {
        return Ok(None);
    }
    Ok(Some(
        answer
            .body
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect(),
    ))
}

async fn compare(addr: SocketAddr, request: &Request) -> Result<bool> {
    let Some(expected) = ask(addr, request)
        .await
        .with_context(|| format!("{request:?}"))?
    else {
        return Ok(false);
    };
    for ((name, read), expected) in VARIABLES.iter().zip(read(request)?).zip(expected) {
        let (read, expected) = (
            String::from_utf8_lossy(&read),
            String::from_utf8_lossy(&expected),
        );
        ensure!(
            read == expected,
            "{request:?}: ${name}: nginx reads {expected:?}, and we read {read:?}"
        );
    }
    Ok(true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_match_nginx() -> Result<()> {
    let (nginx, addr, _port) = start().await?;
    let mut taken = 0;
    for cookie in COOKIES {
        taken += usize::from(
            compare(addr, &Request::get("a.test", "/").header("Cookie", cookie)).await?,
        );
        // HTTP/2 joins several of them, and so does our reader: a name without a value takes the next line along.
        let ends_well = cookie
            .rsplit(';')
            .next()
            .is_some_and(|last| last.is_empty() || last.contains('='));
        if ends_well {
            let twice = Request::get("a.test", "/")
                .header("cookie", cookie)
                .header("Cookie", "a=9; sid=9");
            taken += usize::from(compare(addr, &twice).await?);
        }
    }
    for target in TARGETS {
        taken += usize::from(compare(addr, &Request::get("a.test", target)).await?);
    }
    for host in HOSTS {
        let request = Request::new("OPTIONS", host, "/")
            .header("Content-Type", "text/plain")
            .header("X-Team", "a b");
        taken += usize::from(compare(addr, &request).await?);
    }
    ensure!(taken > 60, "nginx takes {taken} of them");
    nginx.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_match_nginx_for_random_requests() -> Result<()> {
    let (nginx, addr, _port) = start().await?;
    let anything = (
        proptest::string::string_regex("[sidSIDaA=;, \"]{0,16}")?,
        proptest::string::string_regex("/[a./%2eEfF5?&=+;sid]{0,16}")?,
        proptest::string::string_regex("[a-cA-C.0-9]{1,8}(:[0-9]{1,4})?")?,
    );
    let (mut runner, mut taken) = (TestRunner::deterministic(), 0);
    for _ in 0..600 {
        let (cookie, target, host) = anything
            .new_tree(&mut runner)
            .map_err(anyhow::Error::msg)?
            .current();
        let request = Request::get(&host, &target).header("Cookie", &cookie);
        taken += usize::from(compare(addr, &request).await?);
    }
    ensure!(taken > 100, "nginx takes {taken} of them");
    nginx.stop()
}
