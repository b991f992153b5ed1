//! nginx's variables and what is known of them, each with how it differs.

use sluice_ir::Fact;

use crate::support::DataPlane;

/// How a fact differs from nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Not at all.
    None,
    /// In every data plane.
    Always(&'static str),
    /// In Envoy.
    Envoy(&'static str),
    /// Envoy does not know it.
    NotInEnvoy,
}

impl Difference {
    /// What there is to say to whom this one serves; of several that may, the worst.
    pub(super) fn told(self, served_by: Option<DataPlane>) -> Told {
        match self {
            Difference::Always(text) => Told::Differs(text),
            Difference::Envoy(text) if served_by != Some(DataPlane::Nginx) => Told::Differs(text),
            Difference::NotInEnvoy if served_by != Some(DataPlane::Nginx) => Told::Missing,
            Difference::None | Difference::Envoy(_) | Difference::NotInEnvoy => Told::Nothing,
        }
    }
}

/// What is said of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    Differs(&'static str),
    Missing,
}

const SAME: Difference = Difference::None;
const MILLISECONDS: Difference = Difference::Envoy("in milliseconds");
const ID: Difference = Difference::Always("namespace/service/port");

/// Of requests.
pub(super) fn of_request(name: &str) -> Option<(Fact, Difference)> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "remote_addr" | "the_real_ip" => (Fact::ClientAddress, SAME),
        "request" => (Fact::RequestLine, SAME),
        "request_method" => (Fact::Method, SAME),
        "request_uri" => (Fact::RequestUri, SAME),
        "uri" | "document_uri" => (Fact::Path, SAME),
        "host" | "http_host" | "best_http_host" => (Fact::Host, SAME),
        "scheme" | "pass_access_scheme" => (Fact::Scheme, SAME),
        "server_protocol" => (Fact::Protocol, SAME),
        "body_bytes_sent" => (Fact::BytesSent, SAME),
        "bytes_sent" => (Fact::WireBytesSent, SAME),
        "request_length" => (Fact::WireBytesReceived, SAME),
        "status" => (Fact::Status, SAME),
        "request_time" => (Fact::Milliseconds, MILLISECONDS),
        "upstream_response_time" => (Fact::PodMilliseconds, MILLISECONDS),
        "upstream_connect_time" => (Fact::ConnectMilliseconds, MILLISECONDS),
        "upstream_header_time" => (Fact::HeaderMilliseconds, MILLISECONDS),
        "req_id" | "request_id" => (Fact::RequestId, SAME),
        "proxy_upstream_name" => (Fact::Backend, ID),
        "remote_user" => (Fact::User, Difference::NotInEnvoy),
        "upstream_status" => (Fact::PodStatus, Difference::NotInEnvoy),
        "upstream_response_length" => (Fact::PodBytes, Difference::NotInEnvoy),
        other => return of_any(other).or_else(|| named(name, other)),
    })
}

/// Of connections without HTTP.
pub(super) fn of_connection(name: &str) -> Option<(Fact, Difference)> {
    Some(match name {
        "remote_addr" => (Fact::ClientAddress, SAME),
        "bytes_sent" => (Fact::BytesSent, SAME),
        "bytes_received" => (Fact::BytesReceived, SAME),
        "session_time" => (Fact::Milliseconds, MILLISECONDS),
        "upstream_connect_time" => (Fact::ConnectMilliseconds, MILLISECONDS),
        "proxy_upstream_name" => (Fact::Backend, ID),
        "protocol" => (Fact::Layer, Difference::NotInEnvoy),
        "status" => (Fact::SessionStatus, Difference::NotInEnvoy),
        "ssl_preread_server_name" => (Fact::TlsName, SAME),
        other => return of_any(other),
    })
}

fn of_any(name: &str) -> Option<(Fact, Difference)> {
    let fact = match name {
        "realip_remote_addr" => Fact::PeerAddress,
        "remote_port" => Fact::PeerPort,
        "server_addr" => Fact::OwnAddress,
        "server_port" | "pass_server_port" | "pass_port" => Fact::OwnPort,
        "time_local" => Fact::CommonTime,
        "time_iso8601" => Fact::IsoTime,
        "msec" => Fact::UnixTime,
        "upstream_addr" => {
            return Some((
                Fact::PodAddress,
                Difference::Envoy("the last pod that was tried"),
            ));
        }
        "connection" => Fact::Connection,
        "ssl_protocol" => Fact::TlsVersion,
        "ssl_cipher" => Fact::TlsCipher,
        "ssl_server_name" => Fact::TlsName,
        "ssl_client_s_dn" => Fact::ClientSubject,
        "ssl_client_i_dn" => Fact::ClientIssuer,
        "ssl_client_serial" => Fact::ClientSerial,
        "hostname" => Fact::Machine,
        _ => return None,
    };
    Some((fact, SAME))
}

/// `$http_NAME` and its like. Only the names of cookies and arguments have a case of their own.
fn named(name: &str, lower: &str) -> Option<(Fact, Difference)> {
    let rest = |prefix: &str| lower.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    let header = |rest: &str| rest.replace('_', "-");
    let cased = |rest: &str| name[name.len() - rest.len()..].to_owned();
    let answer = rest("sent_http_").or_else(|| rest("upstream_http_"));
    if let Some(rest) = rest("cookie_") {
        // Envoy 1.40 has no operator for one, and would refuse its listeners.
        return Some((Fact::Cookie(cased(rest)), Difference::NotInEnvoy));
    }
    let fact = None
        .or_else(|| rest("http_").map(|rest| Fact::RequestHeader(header(rest))))
        .or_else(|| answer.map(|rest| Fact::AnswerHeader(header(rest))))
        .or_else(|| rest("arg_").map(|rest| Fact::Argument(cased(rest))));
    fact.map(|fact| (fact, SAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nginx_alone_knows_is_missing_wherever_envoy_may_serve() {
        let (_, difference) = of_request("remote_user").unwrap();
        let told =
            [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)].map(|by| difference.told(by));
        assert_eq!(told, [Told::Missing, Told::Missing, Told::Nothing]);
        assert_eq!(MILLISECONDS.told(Some(DataPlane::Nginx)), Told::Nothing);
        assert_eq!(
            ID.told(Some(DataPlane::Nginx)),
            Told::Differs("namespace/service/port")
        );
    }

    #[test]
    fn headers_cookies_and_arguments_are_asked_for_by_their_names() {
        assert_eq!(
            of_request("http_User_Agent"),
            Some((Fact::RequestHeader("user-agent".into()), SAME))
        );
        assert_eq!(
            of_request("sent_http_etag"),
            Some((Fact::AnswerHeader("etag".into()), SAME))
        );
        assert_eq!(
            of_request("cookie_Sid"),
            Some((Fact::Cookie("Sid".into()), Difference::NotInEnvoy))
        );
        assert_eq!(of_request("http_"), None);
        assert_eq!(of_connection("http_host"), None);
    }
}
