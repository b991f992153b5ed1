//! Features of nginx alone, such as buffered bodies, and those that nginx has by itself where Envoy needs the filter.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{Fixture, HOST, page};
use crate::scenarios::{lookahead, lookaround, response_patterns, response_rewrite};

async fn start(fixture: &Fixture) -> Result<Sluice> {
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxy_redirect_and_cookie_rules_rewrite_responses() -> Result<()> {
    response_rewrite::rewrites_redirects_and_cookies("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_replace_in_responses_what_the_filter_replaces() -> Result<()> {
    response_patterns::patterns_replace_the_same("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookahead_excludes_texts_from_paths() -> Result<()> {
    lookahead::excludes_texts("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookaround_and_possessives_are_as_in_pcre() -> Result<()> {
    lookaround::is_as_in_pcre("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_http_version_is_honored() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("proxy-http-version", "1.0"))?;
    let sluice = start(&fixture).await?;
    let spoken = sluice.get(HOST, "/").await?.json()?;
    ensure!(
        spoken["http"]
            .as_str()
            .is_some_and(|http| http.ends_with("1.0")),
        "{spoken}"
    );
    sluice.stop()
}

/// A request whose body is half there.
async fn half_a_request(sluice: &Sluice, host: &str) -> Result<TcpStream> {
    let mut client = TcpStream::connect(sluice.http()).await?;
    client
        .write_all(
            format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 10\r\n\r\nfirst")
                .as_bytes(),
        )
        .await?;
    Ok(client)
}

/// Reads until a suffix.
async fn read_until(stream: &mut TcpStream, end: &str) -> Result<String> {
    let mut said = Vec::new();
    let mut bytes = [0; 1024];
    while !said.ends_with(end.as_bytes()) {
        let count = tokio::time::timeout(wait::LIMIT, stream.read(&mut bytes))
            .await
            .context(end.to_owned())??;
        ensure!(
            count > 0,
            "the end, before {end:?}: {}",
            String::from_utf8_lossy(&said)
        );
        said.extend_from_slice(&bytes[..count]);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// A pod that answers by hand, and its Ingress.
async fn scripted_pod(
    fixture: &Fixture,
    name: &str,
    addr: SocketAddr,
    buffering: &str,
) -> Result<TcpListener> {
    let pod = TcpListener::bind(addr).await?;
    fixture.manifests.service("default", name, 80, &[addr])?;
    let host = format!("{name}.test");
    let ingress = Ingress::new("default", name)
        .host(&host)
        .path("/", name, 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("proxy-request-buffering", buffering))?;
    Ok(pod)
}

async fn finish_exchange(mut pod: TcpStream, mut client: TcpStream) -> Result<String> {
    pod.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    read_until(&mut client, "\r\n\r\n").await
}

/// The pod has the first half of a body before the client sends the second.
async fn body_is_streamed(sluice: &Sluice, pod: &TcpListener) -> Result<()> {
    let mut client = half_a_request(sluice, "stream.test").await?;
    let (mut asked, _) = tokio::time::timeout(wait::LIMIT, pod.accept())
        .await
        .context("a connection")??;
    ensure!(
        read_until(&mut asked, "first")
            .await?
            .starts_with("POST / HTTP/1.1")
    );
    client.write_all(b"later").await?;
    read_until(&mut asked, "later").await?;
    ensure!(
        finish_exchange(asked, client)
            .await?
            .starts_with("HTTP/1.1 204")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_buffering_is_honored() -> Result<()> {
    let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
    let whole = scripted_pod(&fixture, "whole", network.pod(0), "on").await?;
    let stream = scripted_pod(&fixture, "stream", network.pod(1), "off").await?;
    let sluice = start(&fixture).await?;

    // Kong's host reads all of it, whatever is said, and the Ingress is told so.
    if artifacts::ngx_wasm().is_none() {
        body_is_streamed(&sluice, &stream).await?;
    }

    let mut client = half_a_request(&sluice, "whole.test").await?;
    // By then nginx has read the half.
    for _ in 0..20 {
        ensure!(http::send(sluice.http(), &page()).await?.status == 200);
    }
    let early = tokio::time::timeout(std::time::Duration::from_millis(200), whole.accept()).await;
    ensure!(early.is_err(), "the pod is asked before the body is there");
    client.write_all(b"later").await?;
    let (mut pod, _) = tokio::time::timeout(wait::LIMIT, whole.accept())
        .await
        .context("a connection")??;
    read_until(&mut pod, "firstlater").await?;
    ensure!(
        finish_exchange(pod, client)
            .await?
            .starts_with("HTTP/1.1 204")
    );
    sluice.stop()
}

/// As in ingress-nginx: one buffer of 4k, unless somebody says more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_header_is_limited_to_one_buffer() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let large = Ingress::new("default", "large")
        .host("large.test")
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&large.annotation("proxy-buffer-size", "16k"))?;
    let sluice = start(&fixture).await?;
    let headers = vec![("x-long".to_owned(), "a".repeat(6000))];
    fixture.pods[0].script(Script::echo().answer(
        "/long",
        Answer {
            headers,
            ..Answer::default()
        },
    ));
    let status = async |host| {
        sluice
            .get(host, "/long")
            .await
            .map(|answer: Response| answer.status)
    };
    let (usual, large) = (status(HOST).await?, status("large.test").await?);
    ensure!((usual, large) == (502, 200), "{usual} {large}");
    sluice.stop()
}

/// A tenant's values that nginx would refuse, and all of its configuration with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_nginx_would_reject_affect_nothing_else() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let bad = Ingress::new("default", "bad")
        .host("bad.test")
        .path("/", "web", 80);
    let bad = bad
        .annotation("proxy-buffers-number", "2")
        .annotation("proxy-busy-buffers-size", "900k")
        .annotation("proxy-max-temp-file-size", "1")
        .annotation("proxy-redirect-from", "$nonsense")
        .annotation("proxy-cookie-path", "/ \"/; Secure\"")
        .annotation("ssl-ciphers", "NONSENSE");
    fixture.manifests.ingress(&bad)?;
    let sluice = start(&fixture).await?;
    sluice.wait_for_status("bad.test", "/", 200).await?;
    for name in [
        "proxy-busy-buffers-size",
        "proxy-max-temp-file-size",
        "proxy-redirect-from",
        "proxy-cookie-path",
        "ssl-ciphers",
    ] {
        let field = format!("default/bad: annotation {name}: expected");
        ensure!(
            sluice
                .log()
                .lines()
                .iter()
                .any(|line| line.contains(&field)),
            "{name}:\n{}",
            sluice.log().tail()
        );
    }
    let request = Request::get("bad.test", "/");
    ensure!(http::send(sluice.http(), &request).await?.pod() == Some("web-0"));
    sluice.stop()
}

/// Texts that are longer than nginx reads, wherever an operator or a tenant can write one.
fn long_texts(fixture: &Fixture) -> Result<()> {
    let headers = json!({"x-long": "a".repeat(4050), "x-short": "here"});
    let map = |name: &str, data: Value| {
        let metadata = json!({"namespace": "default", "name": name});
        fixture.manifests.object(
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
        )
    };
    map("headers", headers)?;
    let long = |letter: &str, length| letter.repeat(length);
    let data = json!({
        "block-user-agents": format!("{},bad", long("b", 600)),
        "block-referers": long("c", 3000),
        "add-headers": "default/headers",
        "proxy-set-headers": "default/headers",
        "ssl-ecdh-curve": "X25519MLKEM768:X25519",
        "use-gzip": "true",
        "gzip-types": "text/plain application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    });
    map("sluice", data)?;
    let classes: String = ('b'..='u')
        .map(|letter| format!("[a-{letter}1-9]"))
        .collect();
    let pattern = Ingress::new("default", "pattern")
        .host("pattern.test")
        .annotation("use-regex", "true");
    fixture
        .manifests
        .ingress(&pattern.path(&format!("/(?:{classes}){{120}}"), "web", 80))?;
    let named = Ingress::new("default", "named")
        .host("named.test")
        .path("/", "web", 80);
    let named = named
        .annotation("auth-url", "http://auth.test/")
        .annotation("proxy-body-size", "9000000000g");
    let named = named.annotation("auth-response-headers", &format!("x-{}", long("n", 200)));
    fixture.manifests.ingress(&named)?;
    let mut grpc = named.annotation("backend-protocol", "GRPC").to_json();
    grpc["metadata"]["name"] = "grpc".into();
    grpc["spec"]["rules"][0]["host"] = "grpc.test".into();
    fixture.manifests.object(&grpc)?;
    Ok(())
}

/// A text that nginx could not read costs its own feature, and later changes still arrive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_text_does_not_break_the_configuration() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    long_texts(&fixture)?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    sluice.wait_for_status("grpc.test", "/", 503).await?;
    let page = sluice.get(HOST, "/").await?;
    ensure!(
        page.header("x-short") == Some("here") && page.header("x-long").is_none(),
        "{page:?}"
    );
    for agent in ["b".repeat(600), "bad".to_owned()] {
        let blocked = http::send(sluice.http(), &self::page().header("user-agent", &agent)).await?;
        ensure!(blocked.status == 403, "{agent}: {blocked:?}");
    }
    let referred = http::send(
        sluice.http(),
        &self::page().header("referer", &"c".repeat(3000)),
    )
    .await?;
    ensure!(referred.status == 403, "{referred:?}");
    for (said, why) in [
        ("data.add-headers: ", "expected one line"),
        ("data.proxy-set-headers: ", "expected one line"),
        ("data.gzip-types: ", "nginx data plane"),
        ("data.ssl-ecdh-curve: ", "nginx data plane"),
        ("default/pattern: ", "more than 2000"),
    ] {
        let is_said = sluice
            .log()
            .lines()
            .iter()
            .any(|line| line.contains(said) && line.contains(why));
        // An OpenSSL from 3.5 on has the curve.
        let is_good = said == "data.ssl-ecdh-curve: " && has_new_openssl()?;
        ensure!(is_said || is_good, "{said}\n{}", sluice.log().tail());
    }
    sluice.stop()
}

/// A block list that nginx cannot read denies everybody: without it, nobody could be told from a blocked client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_block_list_denies_every_client() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let data = json!({"block-user-agents": "a".repeat(5000)});
    let metadata = json!({"namespace": "default", "name": "sluice"});
    fixture.manifests.object(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
    )?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 403).await?;
    let said = "ConfigMap default/sluice: data.block-user-agents: 1 texts that are longer than nginx reads";
    let is_said = |line: &String| line.contains(said) && line.contains("every request answers 403");
    ensure!(
        sluice.log().lines().iter().any(is_said),
        "{}",
        sluice.log().tail()
    );
    sluice.stop()
}

fn has_new_openssl() -> Result<bool> {
    let output = std::process::Command::new(artifacts::nginx()?)
        .arg("-V")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, version) = said.rsplit_once("OpenSSL ").context("an OpenSSL")?;
    let old = ["1.", "3.0", "3.1", "3.2", "3.3", "3.4"];
    Ok(!old.iter().any(|old| version.starts_with(old)))
}
