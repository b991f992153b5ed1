//! Settings for all connections and all requests.

use std::num::NonZeroU32;

use sluice_ir::{
    Cidr, GlobalConfig, Header, HeaderBuffers, HeaderName, InvalidHeaderName, ServerTls,
    TlsVersions,
};

use super::view::{CLOSES, View};
use crate::annotations::{Expected, Parsed, host_value, tls_versions, value};
use crate::references::References;
use crate::report::shortened;
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

/// What becomes of a header that is none.
const NOT_SET: (Severity, &str) = (Severity::Warning, "header not set");

/// `false` when something that guards access cannot be read.
pub(super) fn take(
    global: &mut GlobalConfig,
    view: &mut View<'_, '_>,
    references: References<'_>,
) -> bool {
    take_hsts(global, view);
    take_forwarded(global, view);
    take_headers(global, view);
    response_headers(global, view, references);
    take_tls(&mut global.tls, view);
    view.set(&mut global.http.http2, "use-http2", value::bool);
    view.set(
        &mut global.http.max_concurrent_streams,
        "http2-max-concurrent-streams",
        streams,
    );
    view.set(
        &mut global.http.keep_alive_timeout,
        "keep-alive",
        value::seconds,
    );
    view.set(
        &mut global.http.keep_alive_requests,
        "keep-alive-requests",
        value::count,
    );
    view.set(
        &mut global.http.header_timeout,
        "client-header-timeout",
        value::seconds,
    );
    view.set(
        &mut global.http.body_timeout,
        "client-body-timeout",
        value::seconds,
    );
    view.set(
        &mut global.http.header_buffers,
        "large-client-header-buffers",
        header_buffers,
    );
    request_headers(global, view, references)
}

/// Number of concurrent streams, as HTTP/2 can express it.
fn streams(text: &str) -> Parsed<u32> {
    const MOST: u32 = (1 << 31) - 1;
    let streams = text
        .parse()
        .ok()
        .filter(|streams| (1..=MOST).contains(streams));
    streams.ok_or_else(|| format!("an integer from 1 to {MOST}").into())
}

/// nginx: `4 8k`, a number of buffers and the size of each.
fn header_buffers(text: &str) -> Parsed<Option<HeaderBuffers>> {
    let expected =
        || Expected::from("a number from 1 to 1024 and a size from 1k to 8m, such as 4 8k");
    let (number, size) = text.split_once(' ').ok_or_else(expected)?;
    let (number, size) = (value::count(number)?, value::size(size.trim())?);
    let fits = (1..=1024).contains(&number) && (1 << 10..=8 << 20).contains(&size);
    if fits {
        Ok(Some(HeaderBuffers { number, size }))
    } else {
        Err(expected())
    }
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
    let curves = text
        .split(':')
        .filter(|_| text != AUTO)
        .map(|name| known(name.trim()).map(str::to_owned));
    curves.collect::<Option<_>>().ok_or_else(|| {
        "auto, or curves that BoringSSL has (X25519, prime256v1, secp384r1, secp521r1) with colons between".into()
    })
}

fn take_tls(tls: &mut ServerTls, view: &mut View<'_, '_>) {
    let newest = TlsVersions {
        v1_2: false,
        v1_3: true,
    };
    view.strict(
        &mut tls.versions,
        "ssl-protocols",
        tls_versions,
        (newest, "TLS 1.3 alone is spoken"),
    );
    view.set(&mut tls.curves, "ssl-ecdh-curve", curves);
    let rejects = (true, "handshakes for unknown hosts are rejected");
    view.strict(
        &mut tls.reject_unknown_names,
        "ssl-reject-handshake",
        value::bool,
        rejects,
    );
    view.set(&mut tls.session_timeout, "ssl-session-timeout", |text| {
        Ok(NonZeroU32::new(value::span(text)? / 1000))
    });
    let mut names = Vec::new();
    view.set(&mut names, "ssl-ciphers", |text| {
        Ok(cipher_names(text).collect())
    });
    for name in names {
        if CIPHERS.contains(&name) {
            tls.ciphers.push(name.to_owned());
        } else {
            let reason = format!(
                "expected ciphers of TLS 1.2 with ephemeral ECDH or AES, got {:?}",
                shortened(name)
            );
            view.say(
                Severity::Warning,
                "ssl-ciphers",
                reason,
                "this cipher is not offered",
            );
        }
    }
}

fn take_hsts(global: &mut GlobalConfig, view: &mut View<'_, '_>) {
    let mut hsts = global.hsts.take().unwrap_or_default();
    let mut wanted = true;
    view.set(&mut wanted, "hsts", value::bool);
    view.set(
        &mut hsts.include_subdomains,
        "hsts-include-subdomains",
        value::bool,
    );
    view.set(&mut hsts.preload, "hsts-preload", value::bool);
    view.set(&mut hsts.max_age, "hsts-max-age", |text| {
        text.parse()
            .map_err(|_| Expected::from("a number of seconds"))
    });
    global.hsts = wanted.then_some(hsts);
}

fn take_forwarded(global: &mut GlobalConfig, view: &mut View<'_, '_>) {
    let forwarded = &mut global.forwarded;
    let (mut real_ip, mut keep_chain) = (false, false);
    view.set(
        &mut forwarded.proxy_protocol,
        "use-proxy-protocol",
        value::bool,
    );
    view.set(
        &mut forwarded.proxy_timeout,
        "proxy-protocol-header-timeout",
        |text| Ok(Some(value::span(text)?)),
    );
    view.set(
        &mut forwarded.trust_forwarded,
        "use-forwarded-headers",
        value::bool,
    );
    view.set(&mut real_ip, "enable-real-ip", value::bool);
    view.set(&mut keep_chain, "compute-full-forwarded-for", value::bool);
    view.set(
        &mut forwarded.original_uri,
        "proxy-add-original-uri-header",
        value::bool,
    );
    let header = believed_header(view);
    let trusted = trusted(view, forwarded.trust_forwarded || real_ip);
    let (Some(header), false) = (header, trusted.is_empty()) else {
        forwarded.trust_forwarded = false;
        return;
    };
    // ingress-nginx: a chain is kept where it is believed.
    forwarded.append_forwarded_for = keep_chain && forwarded.trust_forwarded;
    if forwarded.trust_forwarded || real_ip {
        forwarded.client_header = Some(header);
        forwarded.trusted_proxies = trusted;
    }
}

/// Where proxies in front say who the client is; `None`: nobody knows which header is theirs.
fn believed_header(view: &mut View<'_, '_>) -> Option<String> {
    let mut header = Some("X-Forwarded-For".to_owned());
    let mut read = None;
    let nobody = (Severity::Error, "no proxy in front is believed");
    let is_readable = view.set_or(
        &mut read,
        "forwarded-for-header",
        |text| value::header_name(text).map(Some),
        nobody,
    );
    if !is_readable {
        header = None;
    }
    read.or(header)
}

/// The proxies in front, as far as somebody asks. An entry that cannot be read is nobody, and the others hold.
fn trusted(view: &mut View<'_, '_>, is_asked: bool) -> Vec<Cidr> {
    const KEY: &str = "proxy-real-ip-cidr";
    let Some(text) = view.given(KEY) else {
        if is_asked {
            let reason =
                "expected the addresses of the proxies in front, got none, which means everybody";
            view.say(
                Severity::Warning,
                KEY,
                reason,
                "every client can say who it is",
            );
        }
        return everybody();
    };
    let mut trusted = Vec::new();
    for entry in value::list(text) {
        match value::cidrs(entry) {
            Ok(cidrs) => trusted.extend(cidrs),
            Err(expected) => {
                let reason = format!("expected {expected}, got {:?}", shortened(entry));
                view.say(Severity::Error, KEY, reason, "this entry is not believed");
            }
        }
    }
    if trusted.is_empty() && is_asked {
        let reason = "expected the addresses of the proxies in front, got none that can be read";
        view.say(
            Severity::Error,
            KEY,
            reason,
            "no proxy in front is believed",
        );
    }
    trusted.sort();
    trusted.dedup();
    trusted
}

fn everybody() -> Vec<Cidr> {
    value::cidrs("0.0.0.0/0,::/0").unwrap_or_default()
}

fn take_headers(global: &mut GlobalConfig, view: &mut View<'_, '_>) {
    view.set(
        &mut global.generate_request_id,
        "generate-request-id",
        value::bool,
    );
    view.set(
        &mut global.underscores_in_headers,
        "enable-underscores-in-headers",
        value::bool,
    );
    let mut shows_server = false;
    view.set(
        &mut shows_server,
        "allow-backend-server-header",
        value::bool,
    );
    global.hidden_headers = hidden(view);
    global
        .hidden_headers
        .retain(|name| *name != HeaderName::server());
    if !shows_server {
        global.hidden_headers.push(HeaderName::server());
    }
    global.hidden_headers.sort();
    global.hidden_headers.dedup();
}

/// In lower case. One that cannot be hidden is reported, and the others are.
fn hidden(view: &mut View<'_, '_>) -> Vec<HeaderName> {
    const KEY: &str = "hide-headers";
    let mut hidden = Vec::new();
    for name in view.text(KEY).map(value::list).unwrap_or_default() {
        match value::own_header(name) {
            Ok(name) => hidden.push(name.to_lowercase()),
            Err(expected) => {
                let reason = format!("expected {expected}, got {:?}", shortened(name));
                view.say(Severity::Warning, KEY, reason, "header not hidden");
            }
        }
    }
    hidden
}

/// Headers of requests: what cannot be made is taken away, so that no client says it in its place. `false`: nobody knows which
/// there are, or one of them cannot be taken away.
fn request_headers(
    global: &mut GlobalConfig,
    view: &mut View<'_, '_>,
    references: References<'_>,
) -> bool {
    const KEY: &str = "proxy-set-headers";
    let Ok(data) = named(view, KEY, references, CLOSES) else {
        return false;
    };
    let mut is_known = true;
    for (name, text) in data {
        let mut say =
            |expected: &str, consequence| refuse(view, KEY, expected, (name, text), consequence);
        let value = expression::for_headers(text);
        match value::own_header(name) {
            _ if name.eq_ignore_ascii_case("host") => match host_value(text) {
                Ok(host) => global.host = Some(host),
                Err(expected) => say(&expected, NOT_SET),
            },
            Ok(name) => {
                if let Err(expected) = &value {
                    say(expected, (Severity::Warning, "header taken away"));
                }
                global.request_headers.push(Header {
                    name,
                    value: value.unwrap_or_default(),
                });
            }
            Err(expected) if is_of_clients(name) => {
                say(&expected, CLOSES);
                is_known = false;
            }
            Err(expected) => say(&expected, NOT_SET),
        }
    }
    is_known
}

/// RFC 9110: a name that a client can say, and that is no [`HeaderName`].
fn is_of_clients(name: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty()
        && name.bytes().all(is_of_token)
        && HeaderName::parse(name) == Err(InvalidHeaderName::Syntax)
}

/// Headers of answers. One that cannot be read is reported, and the others hold.
fn response_headers(
    global: &mut GlobalConfig,
    view: &mut View<'_, '_>,
    references: References<'_>,
) {
    const KEY: &str = "add-headers";
    let missing = (Severity::Warning, "headers not set");
    for (name, text) in named(view, KEY, references, missing).unwrap_or_default() {
        let read = value::own_header(name).and_then(|name| {
            Ok(Header {
                name,
                value: expression::for_headers(text)?,
            })
        });
        match read {
            Ok(header) => global.response_headers.push(header),
            Err(expected) => refuse(view, KEY, &expected, (name, text), NOT_SET),
        }
    }
}

/// The content of the ConfigMap that a key names; an error when it names none that there is.
fn named<'a>(
    view: &mut View<'_, '_>,
    key: &'static str,
    references: References<'a>,
    (severity, consequence): (Severity, &str),
) -> Result<Vec<(&'a str, &'a str)>, ()> {
    let Some(text) = view.text(key) else {
        return Ok(Vec::new());
    };
    let namespace = view.namespace();
    // The operator may name what there is.
    match (References {
        across_namespaces: true,
        ..references
    })
    .config_map(&namespace, text)
    {
        Ok(data) => Ok(data
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect()),
        Err(error) => {
            view.say(severity, key, error.reason, consequence);
            Err(())
        }
    }
}

fn refuse(
    view: &mut View<'_, '_>,
    key: &str,
    expected: &str,
    (name, text): (&str, &str),
    (severity, consequence): (Severity, &str),
) {
    let got = shortened(&format!("{name}: {text}"));
    view.say(
        severity,
        key,
        format!("expected {expected}, got {got:?}"),
        consequence,
    );
}
