//! TLS settings of hosts, and versions of TLS.

use askama::Template;
use sluice_host_table::variables;
use sluice_ir::{
    CLIENT_CERTIFICATE_HEADERS, ClientCertificates, ServerName, TlsVersions, VerifyClient,
};

use crate::conf::{Text, Value, Word, map_key, value, word};
use crate::files::cert_links::{self, CertLinks};
use crate::files::{self, Pinned};
use crate::settings::Settings;
use crate::tracked_config::TrackedConfig;

/// The name of the certificate for a handshake.
const CERTIFICATE: &str = "sluice_certificate";

/// Versions as nginx calls them. Written wherever TLS is spoken: nginx's own default depends on its version.
pub(crate) fn version_names(versions: TlsVersions) -> Vec<&'static str> {
    let names = [(versions.v1_2, "TLSv1.2"), (versions.v1_3, "TLSv1.3")];
    let offered = names.into_iter().filter(|(is_offered, _)| *is_offered);
    offered.map(|(_, name)| name).collect()
}

/// TLS settings of all hosts.
#[derive(Template)]
#[template(path = "server/tls.conf")]
pub(crate) struct TlsConf {
    /// The module finds them in the host table.
    by_table: bool,
    /// By the name that the client asks for.
    names: Vec<(Word, Value)>,
    default: Value,
    file: Value,
    /// A client that was checked for one host could go on with another one, by a session that both know.
    sessions: bool,
}

impl TlsConf {
    /// `validates`: clients of some hosts have to have certificates.
    pub(crate) fn new(
        links: &CertLinks,
        validates: bool,
        settings: &Settings,
        by_table: bool,
    ) -> Self {
        let link = |name| value(cert_links::link_name(name));
        let named = links.hosts().take_while(|_| !by_table);
        let named = named.filter_map(|name| Some((asked(name)?, link(name))));
        let variable = if by_table {
            variables::CERTIFICATE
        } else {
            CERTIFICATE
        };
        TlsConf {
            by_table,
            names: named.collect(),
            default: link(&ServerName::CatchAll),
            file: files::path_of(variable, settings),
            sessions: !validates,
        }
    }
}

/// A key of nginx's `map`, which looks at patterns when no name is the same.
fn asked(name: &ServerName) -> Option<Word> {
    match name {
        ServerName::CatchAll => None,
        ServerName::Exact(name) => Some(map_key(name.as_str())),
        ServerName::Wildcard(suffix) => Some(word(format!(
            r"~*^[^.]+\.{}$",
            suffix.as_str().replace('.', r"\.")
        ))),
    }
}

/// Client certificate verification of a server.
pub(crate) struct ClientTls {
    pub(crate) authorities: Pinned,
    /// nginx's word.
    pub(crate) verify: &'static str,
    pub(crate) depth: u32,
}

impl ClientTls {
    /// `None` where no certificate is requested.
    pub(crate) fn new(
        clients: &ClientCertificates,
        config: &TrackedConfig<'_>,
        settings: &Settings,
    ) -> Option<Self> {
        let verify = match clients.verify {
            VerifyClient::Required => "on",
            VerifyClient::Optional => "optional",
            VerifyClient::Untrusted => "optional_no_ca",
            VerifyClient::Off => return None,
        };
        let ca = &clients.validation.ca;
        Some(ClientTls {
            authorities: files::pinned(ca, config.secret(ca), settings)?,
            verify,
            depth: clients.validation.depth,
        })
    }
}

/// ingress-nginx: `ssl-client-*`. What a client says about itself is replaced.
pub(crate) fn client_certificate_headers(clients: &ClientCertificates) -> Vec<(String, Text)> {
    let names = CLIENT_CERTIFICATE_HEADERS.map(str::to_owned).into_iter();
    names.zip(client_certificate(clients)).collect()
}

/// Result of the verification, subject, issuer, and the certificate where it is forwarded.
pub(crate) fn client_certificate(clients: &ClientCertificates) -> [Text; 4] {
    let asked = clients.verify != VerifyClient::Off;
    let variable = |name: &str| Text::default().variable(name);
    let of_certificate = |name: &str, there| {
        if there {
            variable(name)
        } else {
            Text::default()
        }
    };
    // The result of a handshake for another host is not passed on.
    let verdict = if asked {
        variable("sluice_client_verdict")
    } else {
        Text::default().then("NONE")
    };
    let forwards = asked && clients.forward_certificate;
    [
        verdict,
        of_certificate("ssl_client_s_dn", asked),
        of_certificate("ssl_client_i_dn", asked),
        of_certificate("ssl_client_escaped_cert", forwards),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_certificate_is_for_one_label() {
        let name = asked(&ServerName::parse("*.b.test").unwrap()).unwrap();
        assert_eq!(name.0.to_string(), r#""~*^[^.]+\\.b\\.test$""#);
    }
}
