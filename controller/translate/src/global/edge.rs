//! What holds for all connections and all requests.

use sluice_ir::{Cidr, Edge, Header};

use super::view::View;
use crate::annotations::{Expected, value};
use crate::references::References;
use crate::{Severity, expression};

pub(super) fn take(edge: &mut Edge, view: &mut View<'_, '_>, references: References<'_>) {
    take_hsts(edge, view);
    take_forwarded(edge, view);
    take_headers(edge, view, references);
    view.set(&mut edge.http.http2, "use-http2", value::bool);
    view.set(&mut edge.http.streams, "http2-max-concurrent-streams", value::count);
    view.set(&mut edge.http.keep_alive, "keep-alive", value::seconds);
    view.set(&mut edge.http.requests, "keep-alive-requests", value::count);
    view.set(&mut edge.http.header_timeout, "client-header-timeout", value::seconds);
    view.set(&mut edge.http.body_timeout, "client-body-timeout", value::seconds);
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
        Err(reason) => {
            view.say(Severity::Warning, key, reason, "headers not set");
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
