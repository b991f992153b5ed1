//! What holds for all connections and all requests.

use std::num::NonZeroU32;

use sluice_ir::{Cidr, Edge, Header, HeaderBuffers, ServerTls};

use super::view::View;
use crate::annotations::{Expected, Parsed, tls_versions, value};
use crate::object::shortened;
use crate::references::References;
use crate::{Severity, expression};

/// In OpenSSL's words.
pub(crate) const CIPHERS: &[&str] = &[
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA",
    "AES256-SHA",
];

pub(super) fn take(edge: &mut Edge, view: &mut View<'_, '_>, references: References<'_>) {
    take_hsts(edge, view);
    take_forwarded(edge, view);
    take_headers(edge, view, references);
    take_tls(&mut edge.tls, view);
    view.set(&mut edge.http.http2, "use-http2", value::bool);
    view.set(&mut edge.http.streams, "http2-max-concurrent-streams", streams);
    view.set(&mut edge.http.keep_alive, "keep-alive", value::seconds);
    view.set(&mut edge.http.requests, "keep-alive-requests", value::count);
    view.set(&mut edge.http.header_timeout, "client-header-timeout", value::seconds);
    view.set(&mut edge.http.body_timeout, "client-body-timeout", value::seconds);
    view.set(&mut edge.http.headers, "large-client-header-buffers", header_buffers);
}

/// What HTTP/2 can say.
fn streams(text: &str) -> Parsed<u32> {
    const MOST: u32 = (1 << 31) - 1;
    let streams = text.parse().ok().filter(|streams| (1..=MOST).contains(streams));
    streams.ok_or_else(|| format!("an integer from 1 to {MOST}").into())
}

/// nginx: `4 8k`, a number of buffers and the size of each.
fn header_buffers(text: &str) -> Parsed<Option<HeaderBuffers>> {
    let expected = || Expected::from("a number from 1 to 1024 and a size from 1k to 8m, such as 4 8k");
    let (number, size) = text.split_once(' ').ok_or_else(expected)?;
    let (number, size) = (value::count(number)?, value::size(size.trim())?);
    let fits = (1..=1024).contains(&number) && (1 << 10..=8 << 20).contains(&size);
    if fits { Ok(Some(HeaderBuffers { number, size })) } else { Err(expected()) }
}

/// Names with colons, blanks or commas between.
pub(crate) fn cipher_names(text: &str) -> impl Iterator<Item = &str> {
    text.split([':', ' ', ',']).filter(|name| !name.is_empty())
}

/// nginx: `X25519:prime256v1`.
fn curves(text: &str) -> Parsed<Vec<String>> {
    const AUTO: &str = "auto";
    let known = |name: &str| match name {
        "X25519" | "x25519" => Some("X25519"),
        "prime256v1" | "P-256" | "secp256r1" => Some("P-256"),
        "secp384r1" | "P-384" => Some("P-384"),
        "secp521r1" | "P-521" => Some("P-521"),
        "X25519MLKEM768" => Some("X25519MLKEM768"),
        _ => None,
    };
    let curves = text.split(':').filter(|_| text != AUTO).map(|name| known(name.trim()).map(str::to_owned));
    curves.collect::<Option<_>>().ok_or_else(|| {
        "auto, or curves that BoringSSL has (X25519, prime256v1, secp384r1, secp521r1) with colons between".into()
    })
}

fn take_tls(tls: &mut ServerTls, view: &mut View<'_, '_>) {
    view.set(&mut tls.versions, "ssl-protocols", tls_versions);
    view.set(&mut tls.curves, "ssl-ecdh-curve", curves);
    view.set(&mut tls.rejects_unknown, "ssl-reject-handshake", value::bool);
    view.set(&mut tls.session, "ssl-session-timeout", |text| Ok(NonZeroU32::new(value::span(text)? / 1000)));
    let mut names = Vec::new();
    view.set(&mut names, "ssl-ciphers", |text| Ok(cipher_names(text).collect()));
    for name in names {
        if CIPHERS.contains(&name) {
            tls.ciphers.push(name.to_owned());
        } else {
            let reason =
                format!("expected ciphers of TLS 1.2 with ephemeral ECDH or AES, got {:?}", shortened(name));
            view.say(Severity::Warning, "ssl-ciphers", reason, "this cipher is not offered");
        }
    }
}

fn take_hsts(edge: &mut Edge, view: &mut View<'_, '_>) {
    let mut hsts = edge.hsts.take().unwrap_or_default();
    let mut wanted = true;
    view.set(&mut wanted, "hsts", value::bool);
    view.set(&mut hsts.include_subdomains, "hsts-include-subdomains", value::bool);
    view.set(&mut hsts.preload, "hsts-preload", value::bool);
    view.set(&mut hsts.max_age, "hsts-max-age", |text| {
        text.parse().map_err(|_| Expected::from("a number of seconds"))
    });
    edge.hsts = wanted.then_some(hsts);
}

fn take_forwarded(edge: &mut Edge, view: &mut View<'_, '_>) {
    let forwarded = &mut edge.forwarded;
    let (mut real_ip, mut header) = (false, "X-Forwarded-For".to_owned());
    view.set(&mut forwarded.proxy_protocol, "use-proxy-protocol", value::bool);
    view.set(&mut forwarded.proxy_timeout, "proxy-protocol-header-timeout", |text| {
        Ok(Some(value::span(text)?))
    });
    view.set(&mut forwarded.origin, "use-forwarded-headers", value::bool);
    view.set(&mut real_ip, "enable-real-ip", value::bool);
    view.set(&mut header, "forwarded-for-header", value::header_name);
    view.set(&mut forwarded.keep_chain, "compute-full-forwarded-for", value::bool);
    view.set(&mut forwarded.original_uri, "proxy-add-original-uri-header", value::bool);
    let mut trusted = Vec::new();
    view.set(&mut trusted, "proxy-real-ip-cidr", value::cidrs);
    if !(forwarded.origin || real_ip) {
        return;
    }
    if trusted.is_empty() {
        let reason = "expected the addresses of the proxies in front, got none, which means everybody";
        let consequence = "every client can say who it is";
        view.say(Severity::Warning, "proxy-real-ip-cidr", reason, consequence);
        trusted = everybody();
    }
    forwarded.client = Some(header);
    forwarded.trusted = trusted;
}

fn everybody() -> Vec<Cidr> {
    value::cidrs("0.0.0.0/0,::/0").unwrap_or_default()
}

fn take_headers(edge: &mut Edge, view: &mut View<'_, '_>, references: References<'_>) {
    edge.request_headers = headers(view, "proxy-set-headers", references);
    edge.response_headers = headers(view, "add-headers", references);
    view.set(&mut edge.request_id, "generate-request-id", value::bool);
    view.set(&mut edge.underscores, "enable-underscores-in-headers", value::bool);
    let mut shows_server = false;
    view.set(&mut shows_server, "allow-backend-server-header", value::bool);
    view.set(&mut edge.hidden_headers, "hide-headers", |text| {
        value::list(text).into_iter().map(|name| value::header_name(&name.to_ascii_lowercase())).collect()
    });
    edge.hidden_headers.retain(|name| name != "server");
    if !shows_server {
        edge.hidden_headers.push("server".to_owned());
    }
    edge.hidden_headers.sort();
    edge.hidden_headers.dedup();
}

/// The headers of the ConfigMap that a key names. One that cannot be read is reported, and the others hold.
fn headers(view: &mut View<'_, '_>, key: &'static str, references: References<'_>) -> Vec<Header> {
    let Some(text) = view.text(key) else { return Vec::new() };
    let namespace = view.namespace();
    // The operator may name what there is.
    let data = match (References { across_namespaces: true, ..references }).config_map(&namespace, text) {
        Ok(data) => data,
        Err(fault) => {
            view.say(Severity::Warning, key, fault.reason, "headers not set");
            return Vec::new();
        }
    };
    let mut headers = Vec::new();
    for (name, text) in data {
        let read = value::header_name(name)
            .and_then(|name| Ok(Header { name, value: expression::for_headers(text)? }));
        match read {
            Ok(header) => headers.push(header),
            Err(expected) => {
                let reason = format!(
                    "expected {expected}, got {:?}",
                    crate::object::shortened(&format!("{name}: {text}"))
                );
                view.say(Severity::Warning, key, reason, "header not set");
            }
        }
    }
    headers
}
