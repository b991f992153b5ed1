//! Client address, and the `X-Forwarded-*` headers to upstreams.
//!
//! ingress-nginx tells pods in `X-Forwarded-*` and `X-Real-IP` what it knows itself, and keeps what a client said in
//! `X-Original-Forwarded-*`. Envoy would add to what the client said, so what is not believed is moved away before
//! Envoy looks at it.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValueOption, TypedExtensionConfig};
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{
    KeyValuePair, Rule,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::ForwardProtoConfig;
use envoy_types::pb::envoy::extensions::http::original_ip_detection::xff::v3::{
    XffConfig, XffTrustedCidrs,
};
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_filter_config::host_contract::HEADER_PREFIX;
use sluice_ir::{Forwarded, GlobalConfig, SENT_HEADERS};

use super::cel;
use super::header::{add, append, remove, remove_prefix, set};
use super::proto::{cidr_range, extension, yes};

const FOR: &str = "x-forwarded-for";
const HOST: &str = "x-forwarded-host";
const ORIGINAL_FOR: &str = "x-original-forwarded-for";
const ORIGINAL_HOST: &str = "x-original-forwarded-host";
const PORT: &str = "x-forwarded-port";
const PROTO: &str = "x-forwarded-proto";
const HTTPS_PORT: u32 = 443;
/// Copy of a header about the client, as it was sent.
const SENT: &str = "x-sluice-sent-";
const CLIENT: &str = "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%";
/// The host that clients see, when what is in front is believed: of several, the first.
pub(super) const BELIEVED_HOST: &str = "%DYNAMIC_METADATA(sluice:host)%";

/// Headers of Envoy itself that upstreams do not get.
pub(super) const ENVOYS_OWN: [&str; 4] = [
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-external-address",
    "x-envoy-internal",
    "x-envoy-original-path",
];

/// Before Envoy looks at anything: no client header steers Envoy or the filter, and what is not trusted is moved away. `port` is
/// the one that clients know the listener by.
pub(super) fn early_header_mutations(global: &GlobalConfig, port: u16) -> Vec<HeaderMutation> {
    let forwarded = &global.forwarded;
    let client_header = forwarded
        .client_header
        .as_deref()
        .unwrap_or(FOR)
        .to_ascii_lowercase();
    let mut mutations = vec![
        remove_prefix(HEADER_PREFIX),
        remove_prefix("x-envoy-"),
        remove("proxy"),
    ];
    let copies = names_of_copies(global).zip(SENT_HEADERS);
    mutations.extend(copies.map(|(copy, name)| append(set(&copy, &format!("%REQ({name})%")))));
    for (original, header) in [
        (ORIGINAL_FOR, client_header.as_str()),
        (ORIGINAL_HOST, HOST),
    ] {
        mutations.extend([
            remove(original),
            append(set(original, &format!("%REQ({header})%"))),
        ]);
    }
    match &forwarded.client_header {
        None if forwarded.append_forwarded_for => {}
        None => mutations.push(remove(FOR)),
        Some(_) if client_header == FOR => mutations.push(append(set(FOR, &addresses(FOR)))),
        Some(_) => mutations.extend([
            remove(FOR),
            append(set(FOR, &format!("%REQ({client_header})%"))),
            append(set(FOR, &addresses(FOR))),
        ]),
    }
    let port = if forwarded.proxy_protocol {
        "%DOWNSTREAM_LOCAL_PORT%".to_owned()
    } else {
        port.to_string()
    };
    if forwarded.trust_forwarded {
        mutations.extend([
            append(add(PORT, &port)),
            append(add(HOST, "%REQ(:authority)%")),
        ]);
        // ingress-nginx: it counts more than what a header says.
        let is_https = format!("%CEL(destination.port == {HTTPS_PORT} ? 'https' : '')%");
        let by_port = append(set(PROTO, &is_https));
        mutations.extend(forwarded.proxy_protocol.then_some(by_port));
    } else {
        mutations.extend([remove(PROTO), append(set(PORT, &port))]);
    }
    mutations
}

/// A PROXY header that names the port of https: its load balancer has ended TLS. [`early_header_mutations`] say it where headers say
/// something of it, too.
pub(super) fn proto_by_port(forwarded: &Forwarded) -> Option<ForwardProtoConfig> {
    let by_port = ForwardProtoConfig {
        https_destination_ports: vec![HTTPS_PORT],
        ..ForwardProtoConfig::default()
    };
    forwarded.proxy_protocol.then_some(by_port)
}

/// The header that has what the client sent in this one, once [`early_header_mutations`] has moved it.
pub(super) fn as_sent(header: &str) -> &str {
    match header {
        FOR => ORIGINAL_FOR,
        HOST => ORIGINAL_HOST,
        other => other,
    }
}

/// Copies of headers about the client that conditions or pods read, for who hides them from pods.
pub(super) fn names_of_copies(global: &GlobalConfig) -> impl Iterator<Item = String> + use<> {
    let is_read = global.compares_sent_headers || has_chain_of_its_own(&global.forwarded);
    let names = is_read.then_some(SENT_HEADERS);
    names.into_iter().flatten().map(compared)
}

/// True if pods get the addresses as they were sent, and the client is known by a header. Envoy knows the client by this one only, so
/// it has what the other says, in Envoy's form.
fn has_chain_of_its_own(forwarded: &Forwarded) -> bool {
    forwarded.append_forwarded_for && forwarded.client_header.is_some()
}

/// The last addresses of a header as nginx reads them: with ports (`ip:port`, `[ip]:port`), up to what is no address, commas at the end
/// skipped. Envoy takes none with a port, and no list of more than 20. Nothing if the last one is no address.
///
/// Patterns of `re` are compiled for each request, and cost what the text is long, of which clients write the beginning: most lists
/// need none, and of a long one only the end is read.
fn addresses(header: &str) -> String {
    /// A few IPv4 addresses, which Envoy reads as nginx does.
    const PLAIN: &str = "^[0-9.]+(, ?[0-9.]+){0,3}$";
    /// One with a port, as load balancers write it.
    const ONE: &str = "^([0-9.]+):[0-9]+$";
    /// Bytes of a text that is read as a whole.
    const MOST_BYTES: usize = 200;
    let sent = cel::header(header);
    let (name, plain) = (cel::string_literal(header), cel::string_literal(PLAIN));
    let one = cel::regex_replaced(&sent, ONE, r"\1");
    let is_one = cel::string_literal(ONE);
    let is_short = |text: &str| format!("size({text}) <= {MOST_BYTES}");
    let last = |entries: usize| {
        let before = entries - 1;
        let end = format!("(?:(?:^|,)((?:[^,]*,){{0,{before}}}[^,]*)|)[, \t]*$");
        cel::regex_replaced(&sent, &end, r"\1")
    };
    // As many of the last entries as are short enough together; the last one first, which is looked at once if it is too long.
    let (whole, one_entry) = (without_ports(&sent), last(1));
    let more = [2, 3]
        .into_iter()
        .fold(without_ports(&one_entry), |fewer, entries| {
            let text = last(entries);
            format!("{} ? {} : {fewer}", is_short(&text), without_ports(&text))
        });
    let read = format!(
        "{} ? {whole} : {} ? ({more}) : ''",
        is_short(&sent),
        is_short(&one_entry)
    );
    format!(
        "%CEL(!({name} in request.headers) || {sent}.matches({plain}) ? '' : {sent}.matches({is_one}) ? {one} : {read})%"
    )
}

/// A list without ports, and without what is in front of the last text that is no address.
fn without_ports(text: &str) -> String {
    /// The last address with a port, which it loses; everything if there is none.
    const WITH_PORT: &str = r"^(?:((?:.*[, \t])?)(?:([0-9.]+):[0-9]+|\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?)([, \t].*)?|(.*))$";
    const LAST: &str = r"^(?:.*[^0-9A-Fa-f:., \t][^, \t]*)?[, \t]*([0-9A-Fa-f:., \t]*?)[, \t]*$";
    // A pattern cannot be applied to all of a text, and Envoy limits its size. There are hardly more proxies than that.
    const MOST: usize = 6;
    let without = (0..MOST).fold(text.to_owned(), |text, _| {
        cel::regex_replaced(&text, WITH_PORT, r"\1\2\3\4\5")
    });
    cel::regex_replaced(&without, LAST, r"\1")
}

/// Headers to remove on every host, and to set then: the addresses as the client sent them, in front of [`upstream_headers`].
pub(super) fn of_host(forwarded: &Forwarded) -> (Vec<String>, Option<HeaderValueOption>) {
    let is_apart = has_chain_of_its_own(forwarded);
    let removed = is_apart.then(|| FOR.to_owned());
    let set = is_apart.then(|| set(FOR, &format!("%REQ({})%", compared(FOR))));
    (removed.into_iter().collect(), set)
}

/// The header to compare where a condition compares this one: by the time that Envoy looks for a route some are its own.
pub(super) fn compared(header: &str) -> String {
    match SENT_HEADERS.contains(&header) {
        true => format!("{SENT}{header}"),
        false => header.to_owned(),
    }
}

/// Request headers to upstreams.
pub(super) fn upstream_headers(forwarded: &Forwarded) -> Vec<HeaderValueOption> {
    let chain = HeaderValueOption {
        append_action: HeaderAppendAction::AppendIfExistsOrAdd.into(),
        ..set(FOR, "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%")
    };
    vec![
        set("x-real-ip", CLIENT),
        if forwarded.append_forwarded_for {
            chain
        } else {
            set(FOR, CLIENT)
        },
        set("x-forwarded-scheme", "%REQ(x-forwarded-proto)%"),
        set("x-scheme", "%REQ(x-forwarded-proto)%"),
    ]
}

/// The header with the host that a client asked for, which is that of the virtual host.
pub(super) fn host(forwarded: &Forwarded, asked: &str) -> HeaderValueOption {
    let believed = forwarded.trust_forwarded.then_some(BELIEVED_HOST);
    set(HOST, believed.unwrap_or(asked))
}

/// Detection of the client address; without one it is the peer's.
pub(super) fn original_ip_detection(forwarded: &Forwarded) -> Option<TypedExtensionConfig> {
    forwarded.client_header.as_ref()?;
    let cidrs = XffTrustedCidrs {
        cidrs: forwarded
            .trusted_proxies
            .iter()
            .copied()
            .map(cidr_range)
            .collect(),
    };
    let xff = XffConfig {
        xff_trusted_cidrs: Some(cidrs),
        skip_xff_append: yes(),
        ..XffConfig::default()
    };
    Some(extension("envoy.http.original_ip_detection.xff", xff))
}

/// Keeps the first of the believed hosts for [`BELIEVED_HOST`].
pub(super) fn first_host() -> HeaderToMetadata {
    let first = RegexMatchAndSubstitute {
        pattern: Some(RegexMatcher {
            regex: r"^\s*([^,\s]*).*$".to_owned(),
            ..RegexMatcher::default()
        }),
        substitution: r"\1".to_owned(),
    };
    let key = KeyValuePair {
        metadata_namespace: "sluice".to_owned(),
        key: "host".to_owned(),
        r#type: 0,
        encode: 0,
        value: String::new(),
        regex_value_rewrite: Some(first),
    };
    let rule = Rule {
        header: HOST.to_owned(),
        on_header_present: Some(key),
        ..Rule::default()
    };
    HeaderToMetadata {
        request_rules: vec![rule],
        ..HeaderToMetadata::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(forwarded: &Forwarded) -> GlobalConfig {
        GlobalConfig {
            forwarded: forwarded.clone(),
            ..GlobalConfig::default()
        }
    }

    fn names(forwarded: &Forwarded) -> String {
        format!("{:?}", early_header_mutations(&global(forwarded), 80))
    }

    #[test]
    fn headers_that_are_compared_are_copied_before_anything_is_written_to_them() {
        let comparing = GlobalConfig {
            compares_sent_headers: true,
            ..GlobalConfig::default()
        };
        let early = early_header_mutations(&comparing, 80);
        let copied = early.iter().position(|it| {
            *it == append(set(
                "x-sluice-sent-x-forwarded-proto",
                "%REQ(x-forwarded-proto)%",
            ))
        });
        let removed = early.iter().position(|it| *it == remove(PROTO));
        let forged = early
            .iter()
            .position(|it| *it == remove_prefix(HEADER_PREFIX));
        assert!(forged < copied && copied < removed, "{early:?}");
        assert_eq!(
            early.len(),
            early_header_mutations(&GlobalConfig::default(), 80).len() + SENT_HEADERS.len()
        );
        assert_eq!(compared(PROTO), "x-sluice-sent-x-forwarded-proto");
        assert_eq!(compared("x-a"), "x-a");
    }

    #[test]
    fn what_clients_say_is_believed_only_when_the_operator_says_so() {
        let trusting = Forwarded {
            client_header: Some("X-Forwarded-For".into()),
            trust_forwarded: true,
            ..Forwarded::default()
        };
        assert!(names(&Forwarded::default()).contains(r#"Remove("x-forwarded-for")"#));
        assert!(names(&Forwarded::default()).contains(r#"Remove("x-forwarded-proto")"#));
        assert!(!names(&trusting).contains(r#"Remove("x-forwarded-for")"#));
        assert!(!names(&trusting).contains(r#"Remove("x-forwarded-proto")"#));
        assert_eq!(original_ip_detection(&Forwarded::default()), None);
        assert!(original_ip_detection(&trusting).is_some());
    }

    #[test]
    fn a_chain_is_kept_apart_from_the_addresses_that_envoy_reads() {
        let chain = |header: Option<&str>| Forwarded {
            client_header: header.map(str::to_owned),
            trust_forwarded: true,
            append_forwarded_for: true,
            ..Forwarded::default()
        };
        assert_eq!(of_host(&chain(None)), (Vec::new(), None));
        assert_eq!(names_of_copies(&global(&chain(None))).count(), 0);
        let copy = "x-sluice-sent-x-forwarded-for";
        for known_by in ["X-Forwarded-For", "x-forwarded-for", "X-Real-Client"] {
            let known = chain(Some(known_by));
            let (removed, added) = of_host(&known);
            assert_eq!(removed, [FOR]);
            assert_eq!(added, Some(set(FOR, &format!("%REQ({copy})%"))));
            assert!(names_of_copies(&global(&known)).any(|name| name == copy));
        }
    }

    #[test]
    fn nobody_steers_envoy_or_the_filter() {
        for forwarded in [
            Forwarded::default(),
            Forwarded {
                trust_forwarded: true,
                ..Forwarded::default()
            },
        ] {
            let early = early_header_mutations(&global(&forwarded), 80);
            assert_eq!(
                early[..2],
                [remove_prefix(HEADER_PREFIX), remove_prefix("x-envoy-")]
            );
        }
    }
}
