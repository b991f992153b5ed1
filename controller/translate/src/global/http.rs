//! Settings for all connections and all requests.

use std::num::NonZeroU32;

use sluice_ir::{Cidr, GlobalConfig, HeaderBuffers, ReasonCode, ServerTls, TlsVersions};
use sluice_syntax::settings::tls::{is_obsolete, tls_versions};
use sluice_syntax::{Expected, Parsed, shortened, value};
use sluice_translate_engine::{References, Severity};

use super::headers::{request_headers, response_headers, take_headers};
use super::keys::{Key, key};
use super::view::View;
use crate::support::{Support, Supports};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key(BODY_TIMEOUT, "60").supported(BODY_TIMEOUTS),
    key("client-header-timeout", "60").full(),
    key("compute-full-forwarded-for", "false").full(),
    key("enable-real-ip", "false").full(),
    key("forwarded-for-header", "X-Forwarded-For").full(),
    key("hsts", "true").full(),
    key("hsts-include-subdomains", "true").full(),
    key("hsts-max-age", "31536000").full(),
    key("hsts-preload", "false").full(),
    key("http2-max-concurrent-streams", "128").full(),
    key("keep-alive", "75").full(),
    key("keep-alive-requests", "1000").full(),
    key("large-client-header-buffers", "4 8k").partly("the product limits all request headers together; the default is 60 KiB").nginx(Support::Partly("up to 1024 buffers, of 1k to 8m each")),
    key("proxy-add-original-uri-header", "false").full(),
    key("proxy-protocol-header-timeout", "5s").partly("together with the first message of TLS").nginx(Support::Unsupported("the PROXY header has the time of client-header-timeout")),
    key("proxy-real-ip-cidr", "0.0.0.0/0").full(),
    key("ssl-ciphers", "").partly("ciphers with ephemeral ECDH or AES that BoringSSL has; TLS 1.3 has its own").nginx(Support::Partly("ciphers with ephemeral ECDH or AES; TLS 1.3 has its own")),
    key("ssl-ecdh-curve", "auto").partly("curves that BoringSSL has").nginx(Support::Partly("of X25519, prime256v1, secp384r1, secp521r1 and X25519MLKEM768 those that its OpenSSL has; others are reported")),
    key("ssl-protocols", "TLSv1.2 TLSv1.3").partly("TLSv1.2 and TLSv1.3"),
    key("ssl-reject-handshake", "false").full(),
    key("ssl-session-timeout", "10m").full(),
    key("use-forwarded-headers", "false").full(),
    key("use-http2", "true").full(),
    key("use-proxy-protocol", "false").full(),
];

const BODY_TIMEOUT: &str = "client-body-timeout";
/// Envoy has one timeout of a request for both sides, from its beginning to its end.
const BODY_TIMEOUTS: Supports = Supports {
    envoy: Support::Partly(
        "a body that is forwarded may pause for as long as its pods may, if that is longer: for the longer of proxy-send-timeout and \
         proxy-read-timeout, once for each of proxy-next-upstream-tries, and a second",
    ),
    nginx: Support::Full,
};

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
    view.set(&mut global.http.body_timeout, BODY_TIMEOUT, value::seconds);
    view.set(
        &mut global.http.header_buffers,
        "large-client-header-buffers",
        header_buffers,
    );
    request_headers(global, view, references)
}

/// Reports a `client-body-timeout` that is shorter than the one that holds. `of_pods`: seconds that pods may take where no Ingress says
/// otherwise.
pub(super) fn report_body_timeout(view: &mut View<'_, '_>, of_pods: u64) {
    let given = view
        .given(BODY_TIMEOUT)
        .and_then(|text| value::seconds(text).ok());
    let is_shorter = given.is_some_and(|seconds| u64::from(seconds) <= of_pods);
    let Some(applies_to) = BODY_TIMEOUTS
        .partly(view.served_by())
        .filter(|_| is_shorter)
    else {
        return;
    };
    let holds = of_pods + 1;
    let reason = format!(
        "bodies that are forwarded may pause for {holds} s, because pods may: that is the longer of proxy-send-timeout and \
         proxy-read-timeout, times proxy-next-upstream-tries, and a second"
    );
    view.report(
        ReasonCode::PartiallySupported,
        Severity::Warning,
        BODY_TIMEOUT,
        applies_to.note(&reason),
        "slow clients keep their connections for as long; shorten what is named, for all or in Ingresses",
    );
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
        (newest, "only TLS 1.3 is accepted"),
    );
    let protocols = view.text("ssl-protocols").unwrap_or_default();
    let obsolete = protocols
        .split_whitespace()
        .filter(|name| is_obsolete(name));
    for name in obsolete {
        view.report(
            ReasonCode::Unsupported,
            Severity::Warning,
            "ssl-protocols",
            format!("expected TLSv1.2 or TLSv1.3, got {:?}", shortened(name)),
            "this version is not offered",
        );
    }
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
            view.report(
                ReasonCode::Unsupported,
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
    let is_asked = forwarded.trust_forwarded || real_ip || forwarded.proxy_protocol;
    let trusted = trusted(view, is_asked);
    let is_readable = header.is_some() && !trusted.is_empty();
    // With both, the list is of the proxies that PROXY headers name, and load balancers in front are believed.
    let lists_peers = !(forwarded.trust_forwarded && is_readable);
    if forwarded.proxy_protocol && lists_peers && trusted != everybody() {
        forwarded.proxy_protocol_peers = Some(trusted.clone());
    }
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

/// Header in which proxies in front of us send the client address; `None`: none is known.
fn believed_header(view: &mut View<'_, '_>) -> Option<String> {
    let mut header = Some("X-Forwarded-For".to_owned());
    let mut read = None;
    let nobody = (Severity::Error, "no proxy is trusted");
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

/// Trusted proxies, if any setting uses them. An entry that cannot be read is trusted by none; the others hold.
fn trusted(view: &mut View<'_, '_>, is_asked: bool) -> Vec<Cidr> {
    const KEY: &str = "proxy-real-ip-cidr";
    let Some(text) = view.given(KEY) else {
        if is_asked {
            let reason = "not set, so every address is a trusted proxy";
            view.report(
                ReasonCode::Insecure,
                Severity::Warning,
                KEY,
                reason,
                "clients can forge their address",
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
                view.report(
                    ReasonCode::InvalidValue,
                    Severity::Error,
                    KEY,
                    reason,
                    "entry ignored",
                );
            }
        }
    }
    if trusted.is_empty() && is_asked {
        let reason = "expected addresses of trusted proxies, got none that is valid";
        view.report(
            ReasonCode::InvalidValue,
            Severity::Error,
            KEY,
            reason,
            "no proxy is trusted",
        );
    }
    trusted.sort();
    trusted.dedup();
    trusted
}

fn everybody() -> Vec<Cidr> {
    value::cidrs("0.0.0.0/0,::/0").unwrap_or_default()
}
