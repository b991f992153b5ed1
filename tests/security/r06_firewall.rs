//! R6: rules of a web application firewall that cannot be enforced close their paths, and nobody else's. None of their text is
//! configuration. What they reject gets past them in no disguise.

use anyhow::{Context as _, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(
    firewall_that_cannot_be_enforced_closes_its_paths_alone,
    hostile_requests_get_past_no_firewall,
    access_control_holds_behind_a_firewall,
);

const RULES: &str = "SecRuleEngine On\nSecRequestBodyAccess On\nSecRequestBodyLimit 10000\nSecRequestBodyNoFilesLimit 10000\n\
    SecRequestBodyLimitAction Reject\nSecRule ARGS:q \"@streq bad\" \"id:1,phase:2,t:none,deny\"\n\
    SecRule REQUEST_HEADERS:X-Q \"@contains bad\" \"id:2,phase:1,deny\"\n\
    SecRule REQUEST_URI \"@contains bad\" \"id:3,phase:1,t:none,t:urlDecode,deny\"";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// Heads and bodies of requests that the rules reject.
fn disguised() -> Vec<String> {
    let get = |target: &str, headers: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: own.test\r\n{headers}\r\n")
    };
    let post = |headers: &str, body: &str| {
        format!("POST / HTTP/1.1\r\nHost: own.test\r\n{FORM}{headers}\r\n{body}")
    };
    let long = "x".repeat(20_000);
    vec![
        get("/?q=bad", ""),
        get("/?q=%62ad", ""),
        get("//a/../?q=bad", ""),
        get("/%2561%2f..%2f?q=bad", ""),
        get("/b%61d", ""),
        get("http://own.test/?q=bad", ""),
        get(
            "/?q=bad",
            "X-Sluice-Path: /\r\nx-sluice-rules: none\r\nsluice-rules: none\r\n",
        ),
        get(
            "/?q=bad",
            "X-Original-Url: /\r\nX-Envoy-Original-Path: /\r\n",
        ),
        get("/?q=bad", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
        get("/", "X-Q: good\r\nX-Q: bad\r\n"),
        get("/", "x-q:bad\r\n"),
        post("Content-Length: 5\r\n", "q=bad"),
        post(
            "Transfer-Encoding: chunked\r\n",
            "3\r\nq=b\r\n2\r\nad\r\n0\r\n\r\n",
        ),
        post(
            "Transfer-Encoding: chunked\r\n",
            "5\r\nq=bad\r\n0\r\nX-T: 1\r\n\r\n",
        ),
        post("Content-Length: 20000\r\n", &long),
        post(
            "Transfer-Encoding: chunked\r\n",
            &format!("4e20\r\n{long}\r\n0\r\n\r\n"),
        ),
    ]
}

async fn hostile_requests_get_past_no_firewall(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let ingress = Ingress::new(OWNER, "own")
        .host("own.test")
        .annotation("enable-modsecurity", "true")
        .annotation("modsecurity-snippet", RULES);
    let ingress = ingress.path("/", "web", 80).to_json();
    tenants.write("all.yaml", &[ingress, snippets_permitted()])?;
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(snippet_flags()).start().await?;
    sluice.wait_for_status("own.test", "/", 200).await?;
    for request in disguised() {
        let shown = request.get(..request.len().min(200)).unwrap_or_default();
        let mut connection = Connection::open(sluice.http()).await?;
        let answer = connection.send_bytes(request.as_bytes(), false).await;
        let answer = answer.with_context(|| shown.to_owned())?;
        let is_rejected = (400..500).contains(&answer.status);
        ensure!(is_rejected, "{shown}: {} {}", answer.status, answer.text());
    }
    sluice.stop()
}

/// Settings that let nobody in.
const DENYING: &[&[(&str, &str)]] = &[
    &[("auth-url", "http://nobody.owner.svc/")],
    &[("auth-type", "basic"), ("auth-secret", "absent")],
    &[("denylist-source-range", "127.0.0.0/8")],
    &[("allowlist-source-range", "10.0.0.0/8")],
    &[
        ("allowlist-source-range", "10.0.0.0/8"),
        ("auth-url", "http://nobody.owner.svc/"),
        ("satisfy", "any"),
    ],
    &[
        ("auth-url", "http://nobody.owner.svc/"),
        ("limit-rps", "1000"),
    ],
    &[
        ("denylist-source-range", "127.0.0.0/8"),
        ("limit-rps", "1000"),
    ],
];

/// The engine takes its time over each request, and what comes after it has to wait for that.
async fn access_control_holds_behind_a_firewall(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut all = vec![snippets_permitted()];
    let mut hosts = Vec::new();
    for (number, denying) in DENYING.iter().enumerate() {
        for (kind, host) in [
            ("exact", format!("d{number}.test")),
            ("wildcard", format!("*.d{number}.test")),
        ] {
            let ingress = Ingress::new(OWNER, &format!("d{number}-{kind}"))
                .annotation("enable-modsecurity", "true")
                .annotation("modsecurity-snippet", RULES);
            let ingress = denying.iter().fold(ingress, |ingress, (name, value)| {
                ingress.annotation(name, value)
            });
            all.push(ingress.host(&host).path("/", "web", 80).to_json());
            hosts.push(host.replace('*', "any"));
        }
    }
    let open = Ingress::new(OWNER, "open")
        .annotation("enable-modsecurity", "true")
        .annotation("modsecurity-snippet", RULES);
    all.push(open.host("open.test").path("/", "web", 80).to_json());
    tenants.write("all.yaml", &all)?;
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(snippet_flags()).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    let mut let_in = Vec::new();
    for host in &hosts {
        for target in ["/", "/%61", "/a?q=good"] {
            let get = Request::get(host, target);
            let handshake = Request::get(host, target)
                .header("connection", "Upgrade")
                .header("upgrade", "websocket");
            let post = Request::new("POST", host, target)
                .header("content-type", "application/x-www-form-urlencoded")
                .body("q=good");
            for request in [get, handshake, post] {
                let answer = http::send(sluice.http(), &request).await?;
                if answer.pod().is_some() || answer.status < 400 {
                    let_in.push(format!("{request:?}: {}", answer.status));
                }
            }
        }
    }
    ensure!(let_in.is_empty(), "{}", let_in.join("\n"));
    sluice.stop()
}

/// Rules that may reject requests, with something that ModSecurity would do to others.
const HOSTILE: &[&str] = &[
    "SecRuleEngine On\nSecRule ARGS \"@inspectFile /bin/sh\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny,exec:/bin/sh\"",
    "SecRuleEngine On\nSecRuleScript /tmp/x.lua \"id:1,deny\"",
    "SecRuleEngine On\nSecRemoteRules key https://rules.test/",
    "SecRuleEngine On\nInclude /etc/passwd",
    "SecRuleEngine On\nSecGeoLookupDb /etc\nSecTmpDir /etc",
    "SecRuleEngine On\nSecRule ENV:HOME \"@beginsWith /\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS \"@streq %{ENV.HOME}\" \"id:1,deny\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,redirect:https://evil.test\"",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny,initcol:ip=%{REMOTE_ADDR}\"",
    "SecRuleEngine On\nSecRule ARGS \"50%\" \"id:1,deny,msg:'50%'\"",
    "SecRuleEngine On\nSecAction \"id:1,pass,msg:'\\\\\"'\"",
    "SecRuleEngine On'; } location /x { return 200; } #",
    "SecRuleEngine On\nSecRule ARGS x \"id:1,deny",
    "SecAction \"id:1,pass,ctl:ruleEngine=On,ctl:unheardOf=1\"",
];

async fn firewall_that_cannot_be_enforced_closes_its_paths_alone(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let host = |number: usize| format!("h{number}.test");
    let mut all: Vec<_> = HOSTILE
        .iter()
        .enumerate()
        .map(|(number, rules)| {
            let ingress = Ingress::new(OWNER, &format!("h{number}"))
                .host(&host(number))
                .annotation("enable-modsecurity", "true")
                .annotation("modsecurity-snippet", rules);
            ingress.path("/", "web", 80).to_json()
        })
        .collect();
    let open = |namespace: &str, name: &str, host: &str| {
        let ingress = Ingress::new(namespace, name).host(host);
        ingress.path("/open", "web", 80).to_json()
    };
    all.push(open(OWNER, "beside", &host(0)));
    all.push(open(FOREIGN, "foreign", "last.test"));
    all.push(snippets_permitted());
    tenants.write("all.yaml", &all)?;
    let options = plane.options(&tenants.manifests);
    let sluice = options.arguments(snippet_flags()).start().await?;
    sluice.wait_for_status("last.test", "/open", 200).await?;
    for (number, rules) in HOSTILE.iter().enumerate() {
        let answer = sluice.get(&host(number), "/").await?;
        ensure!(answer.status == 503, "{rules}: {}", answer.status);
    }
    let beside = sluice.get(&host(0), "/open").await?;
    ensure!(beside.status == 200, "another Ingress: {}", beside.status);
    sluice.stop()
}
