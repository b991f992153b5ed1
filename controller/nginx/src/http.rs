//! What holds for all hosts.

use askama::Template;
use sluice_ir::{Cidr, Config, Edge, Header, Hsts, LocationId, Server, ServerName};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression::{HOST, PORT, REQUEST_ID, SCHEME, expression};
use crate::server::ServerConf;
use crate::settings::Settings;

/// nginx reads at most 4096 bytes as one word.
const PART: usize = 2000;
/// What nginx hides of a pod's answer without being told to.
const HIDDEN_ALWAYS: &str = "server";

/// nginx.conf.
#[derive(Template)]
#[template(path = "main.conf")]
struct MainConf<'a> {
    settings: &'a Settings,
    module: Word,
    filter: Word,
    checkpoint: Vec<Word>,
    certificate: Word,
    key: Word,
    user: Option<Word>,
    workers: String,
    pid: Word,
    nobody: Word,
    edge: EdgeConf<'a>,
    servers: Vec<ServerConf<'a>>,
}

/// The edge.
#[derive(Template)]
#[template(path = "edge.conf")]
struct EdgeConf<'a> {
    edge: &'a Edge,
    hsts: Option<Value>,
    trusted: Vec<Cidr>,
    request_headers: Vec<(Word, Value)>,
    response_headers: Vec<(Word, Value)>,
    hidden: Vec<Word>,
    passes_server: bool,
}

pub(crate) fn render(config: &Config, settings: &Settings, refused: &mut Vec<LocationId>) -> String {
    let default = Server::default();
    let named = config.servers.iter().filter(|(name, _)| **name != ServerName::CatchAll);
    let catch_all = config.servers.get(&ServerName::CatchAll).unwrap_or(&default);
    let servers = std::iter::once((&ServerName::CatchAll, catch_all)).chain(named);
    let servers =
        servers.map(|(name, server)| ServerConf::new(name, server, config, settings, refused)).collect();
    let file = |path: &std::path::Path| word(path.display());
    let main = MainConf {
        settings,
        module: file(&settings.module),
        filter: file(&settings.filter),
        checkpoint: parts(&settings.checkpoint),
        certificate: file(&settings.certificate),
        key: file(&settings.key),
        user: settings.user.as_ref().map(word),
        workers: settings.workers.map_or_else(|| "auto".to_owned(), |workers| workers.to_string()),
        pid: file(&settings.folder.join("nginx.pid")),
        nobody: word(format!("unix:{}", crate::nobody(&settings.folder).display())),
        edge: EdgeConf::new(&config.edge),
        servers,
    };
    // Nothing in the templates can fail, and a String takes everything.
    main.render().unwrap_or_default() + "\n"
}

/// The checkpoint knows no variables; `sluice_filter` joins its words.
fn parts(text: &str) -> Vec<Word> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PART).map(|part| word(part.iter().collect::<String>())).collect()
}

impl<'a> EdgeConf<'a> {
    fn new(edge: &'a Edge) -> Self {
        let header = |header: &Header| (word(&header.name), expression(&header.value).quoted());
        let is_always = |name: &&String| name.eq_ignore_ascii_case(HIDDEN_ALWAYS);
        EdgeConf {
            edge,
            hsts: edge.hsts.as_ref().map(hsts),
            trusted: edge.forwarded.client.iter().flat_map(|_| edge.forwarded.trusted.clone()).collect(),
            request_headers: told(edge).into_iter().chain(edge.request_headers.iter().map(header)).collect(),
            response_headers: edge.response_headers.iter().map(header).collect(),
            hidden: edge.hidden_headers.iter().filter(|name| !is_always(name)).map(word).collect(),
            passes_server: !edge.hidden_headers.iter().any(|name| is_always(&name)),
        }
    }

    fn client_variable(&self) -> Value {
        client_variable(self.edge).quoted()
    }

    fn chain(&self) -> Value {
        client_variable(self.edge).then(", ").variable("realip_remote_addr").quoted()
    }

    fn client_header(&self) -> Word {
        word(client_header(self.edge))
    }
}

/// The header that says who the client is.
fn client_header(edge: &Edge) -> &str {
    edge.forwarded.client.as_deref().unwrap_or("x-forwarded-for")
}

fn client_variable(edge: &Edge) -> Text {
    Text::default().variable(&format!("http_{}", client_header(edge)))
}

/// What pods are told, as ingress-nginx tells them, except where the operator says otherwise.
fn told(edge: &Edge) -> Vec<(Word, Value)> {
    let forwarded = &edge.forwarded;
    let chain = if forwarded.keep_chain { "sluice_chain" } else { "remote_addr" };
    let variables = [
        ("Host", HOST),
        ("Upgrade", "http_upgrade"),
        ("Connection", "sluice_connection"),
        ("X-Request-ID", REQUEST_ID),
        ("X-Real-IP", "remote_addr"),
        ("X-Forwarded-For", chain),
        ("X-Forwarded-Host", HOST),
        ("X-Forwarded-Port", PORT),
        ("X-Forwarded-Proto", SCHEME),
        ("X-Forwarded-Scheme", SCHEME),
        ("X-Scheme", SCHEME),
        ("X-Forwarded-Prefix", "sluice_forwarded_prefix"),
        ("X-Original-Forwarded-Host", "http_x_forwarded_host"),
    ];
    let variables = variables.map(|(name, variable)| (name, Text::default().variable(variable)));
    let original_uri = ("X-Original-URI", Text::default().variable("request_uri"));
    let others = [("X-Original-Forwarded-For", client_variable(edge)), ("Proxy", Text::default())];
    let all = variables.into_iter().chain(others).chain(forwarded.original_uri.then_some(original_uri));
    // nginx would send both.
    let is_own = |name: &str| edge.request_headers.iter().any(|own| own.name.eq_ignore_ascii_case(name));
    all.filter(|(name, _)| !is_own(name)).map(|(name, text)| (word(name), text.quoted())).collect()
}

fn hsts(hsts: &Hsts) -> Value {
    let Hsts { max_age, include_subdomains, preload } = hsts;
    let subdomains = if *include_subdomains { "; includeSubDomains" } else { "" };
    let preload = if *preload { "; preload" } else { "" };
    value(format!("max-age={max_age}{subdomains}{preload}"))
}

#[cfg(test)]
mod tests {
    use sluice_ir::Expression;

    use super::*;

    #[test]
    fn a_header_of_the_operator_is_sent_once() {
        let header = Header { name: "x-real-ip".to_owned(), value: Expression::literal("mine") };
        let conf =
            EdgeConf::new(&Edge { request_headers: vec![header], ..Edge::default() }).render().unwrap();
        let lines: Vec<_> =
            conf.lines().filter(|line| line.to_ascii_lowercase().contains("x-real-ip")).collect();
        assert_eq!(lines, [r#"  proxy_set_header "x-real-ip" "mine";"#]);
    }
}
