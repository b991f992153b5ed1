//! nginx's variables and what is known of them, each with how it differs.

use sluice_ir::{LogField, Variable};
use sluice_syntax::variables::{Prefixed, canonical};

use crate::support::DataPlane;

/// How a field differs from nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DifferenceByDataPlane {
    /// Not at all.
    None,
    /// In every data plane.
    Always(&'static str),
    /// In Envoy.
    Envoy(&'static str),
    /// Envoy does not know it.
    NotInEnvoy,
}

impl DifferenceByDataPlane {
    /// The difference in one data plane; the worst if several may serve.
    pub(super) fn for_data_plane(self, served_by: Option<DataPlane>) -> Difference {
        match self {
            DifferenceByDataPlane::Always(text) => Difference::Differs(text),
            DifferenceByDataPlane::Envoy(text) if served_by != Some(DataPlane::Nginx) => {
                Difference::Differs(text)
            }
            DifferenceByDataPlane::NotInEnvoy if served_by != Some(DataPlane::Nginx) => {
                Difference::Missing
            }
            DifferenceByDataPlane::None
            | DifferenceByDataPlane::Envoy(_)
            | DifferenceByDataPlane::NotInEnvoy => Difference::None,
        }
    }
}

/// How a variable differs from nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    None,
    Differs(&'static str),
    Missing,
}

const SAME: DifferenceByDataPlane = DifferenceByDataPlane::None;
const MILLISECONDS: DifferenceByDataPlane = DifferenceByDataPlane::Envoy("in milliseconds");
const ID: DifferenceByDataPlane = DifferenceByDataPlane::Always("namespace/service/port");
const LAST: DifferenceByDataPlane =
    DifferenceByDataPlane::Envoy("of the last endpoint that was tried");
const TO_CLIENT: DifferenceByDataPlane =
    DifferenceByDataPlane::Envoy("the bytes that the client gets");

const OF_REQUEST: &[LogVariable] = &[
    variable("args", LogField::Arguments, SAME),
    variable("body_bytes_sent", LogField::BytesSent, SAME),
    variable("bytes_sent", LogField::WireBytesSent, SAME),
    variable("host", LogField::Host, SAME),
    variable("namespace", LogField::BackendNamespace, SAME),
    variable("proxy_add_x_forwarded_for", LogField::ForwardedFor, SAME),
    variable(
        "proxy_alternative_upstream_name",
        LogField::AlternativeBackend,
        SAME,
    ),
    variable("proxy_upstream_name", LogField::Backend, SAME),
    variable("query_string", LogField::Arguments, SAME),
    variable("remote_addr", LogField::ClientAddress, SAME),
    variable(
        "remote_user",
        LogField::User,
        DifferenceByDataPlane::NotInEnvoy,
    ),
    variable("request", LogField::RequestLine, SAME),
    variable("request_id", LogField::RequestId, SAME),
    variable("request_length", LogField::WireBytesReceived, SAME),
    variable("request_method", LogField::Method, SAME),
    variable("request_time", LogField::Duration, SAME),
    variable("request_uri", LogField::RequestUri, SAME),
    variable("scheme", LogField::Scheme, SAME),
    variable("server_protocol", LogField::Protocol, SAME),
    variable("service_name", LogField::BackendService, SAME),
    variable("service_port", LogField::BackendPort, SAME),
    variable("status", LogField::Status, SAME),
    variable(
        "upstream_connect_time",
        LogField::ConnectDuration,
        MILLISECONDS,
    ),
    variable(
        "upstream_header_time",
        LogField::HeaderDuration,
        MILLISECONDS,
    ),
    variable(
        "upstream_response_length",
        LogField::UpstreamBytes,
        TO_CLIENT,
    ),
    variable("upstream_response_time", LogField::UpstreamDuration, SAME),
    variable("upstream_status", LogField::UpstreamStatus, LAST),
    variable("uri", LogField::Path, SAME),
];

const OF_CONNECTION: &[LogVariable] = &[
    variable("bytes_received", LogField::BytesReceived, SAME),
    variable("bytes_sent", LogField::BytesSent, SAME),
    variable("protocol", LogField::L4, SAME),
    variable("proxy_upstream_name", LogField::L4Backend, ID),
    variable("remote_addr", LogField::ClientAddress, SAME),
    variable("session_time", LogField::Duration, SAME),
    variable("ssl_preread_server_name", LogField::TlsName, SAME),
    variable(
        "status",
        LogField::SessionStatus,
        DifferenceByDataPlane::Envoy("200 or 502"),
    ),
    variable(
        "upstream_connect_time",
        LogField::ConnectDuration,
        MILLISECONDS,
    ),
];

const OF_BOTH: &[LogVariable] = &[
    variable("connection", LogField::Connection, SAME),
    variable("hostname", LogField::Hostname, SAME),
    variable("msec", LogField::UnixTime, SAME),
    variable("realip_remote_addr", LogField::PeerAddress, SAME),
    variable("remote_port", LogField::PeerPort, SAME),
    variable("server_addr", LogField::LocalAddress, SAME),
    variable("server_port", LogField::LocalPort, SAME),
    variable("ssl_cipher", LogField::TlsCipher, SAME),
    variable(
        "ssl_client_i_dn",
        LogField::ClientIssuer,
        DifferenceByDataPlane::NotInEnvoy,
    ),
    variable("ssl_client_s_dn", LogField::ClientSubject, SAME),
    variable("ssl_client_serial", LogField::ClientSerial, SAME),
    variable("ssl_protocol", LogField::TlsVersion, SAME),
    variable("ssl_server_name", LogField::TlsName, SAME),
    variable("time_iso8601", LogField::IsoTime, SAME),
    variable("time_local", LogField::CommonTime, SAME),
    variable("upstream_addr", LogField::UpstreamAddress, LAST),
];

/// A variable of nginx or ingress-nginx in a format.
#[derive(Debug)]
pub struct LogVariable {
    /// Without the dollar.
    pub name: &'static str,
    field: LogField,
    difference: DifferenceByDataPlane,
}

impl LogVariable {
    /// Its difference, and where; `None` if there is none.
    #[must_use]
    pub fn difference(&self) -> Option<String> {
        match self.difference {
            DifferenceByDataPlane::None => None,
            DifferenceByDataPlane::Always(text) => Some(text.to_owned()),
            DifferenceByDataPlane::Envoy(text) => Some(format!("Envoy: {text}")),
            DifferenceByDataPlane::NotInEnvoy => Some("Envoy: logged as `-`".to_owned()),
        }
    }
}

/// Variables of requests, and of connections without HTTP.
pub fn log_variables() -> [(&'static str, impl Iterator<Item = &'static LogVariable>); 2] {
    [
        ("log-format-upstream", OF_REQUEST),
        ("log-format-stream", OF_CONNECTION),
    ]
    .map(|(key, own)| (key, own.iter().chain(OF_BOTH)))
}

const fn variable(
    name: &'static str,
    field: LogField,
    difference: DifferenceByDataPlane,
) -> LogVariable {
    LogVariable {
        name,
        field,
        difference,
    }
}

/// Of requests.
pub(super) fn request_field(name: &str) -> Option<(LogField, DifferenceByDataPlane)> {
    // The name in common has no port.
    if name.eq_ignore_ascii_case("http_host") {
        return Some((LogField::RequestHeader("host".to_owned()), SAME));
    }
    find(OF_REQUEST, &canonical(name)).or_else(|| prefixed(name))
}

/// Of connections without HTTP.
pub(super) fn connection_field(name: &str) -> Option<(LogField, DifferenceByDataPlane)> {
    find(OF_CONNECTION, &canonical(name))
}

fn find(own: &'static [LogVariable], name: &str) -> Option<(LogField, DifferenceByDataPlane)> {
    let mut all = own.iter().chain(OF_BOTH);
    let found = all.find(|variable| variable.name == name)?;
    Some((found.field.clone(), found.difference))
}

/// `$http_NAME` and its like.
fn prefixed(name: &str) -> Option<(LogField, DifferenceByDataPlane)> {
    Some(match Prefixed::parse(name)? {
        Prefixed::Cookie(name) => {
            let difference = of_name(&name);
            (LogField::Cookie(name), difference)
        }
        Prefixed::RequestHeader(name) => (LogField::RequestHeader(name), SAME),
        Prefixed::ResponseHeader(name) => (LogField::ResponseHeader(name), SAME),
        Prefixed::Argument(name) => {
            let difference = of_name(&name);
            (LogField::Argument(name), difference)
        }
    })
}

/// Envoy looks for the name by a pattern, whose size it limits.
fn of_name(name: &str) -> DifferenceByDataPlane {
    match name.len() <= Variable::LONGEST_NAME {
        true => SAME,
        false => DifferenceByDataPlane::NotInEnvoy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nginx_alone_knows_is_missing_wherever_envoy_may_serve() {
        let (_, difference) = request_field("remote_user").unwrap();
        let told = [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)]
            .map(|by| difference.for_data_plane(by));
        assert_eq!(
            told,
            [Difference::Missing, Difference::Missing, Difference::None]
        );
        assert_eq!(
            MILLISECONDS.for_data_plane(Some(DataPlane::Nginx)),
            Difference::None
        );
        assert_eq!(
            ID.for_data_plane(Some(DataPlane::Nginx)),
            Difference::Differs("namespace/service/port")
        );
    }

    #[test]
    fn headers_cookies_and_arguments_are_asked_for_by_their_names() {
        assert_eq!(
            request_field("http_User_Agent"),
            Some((LogField::RequestHeader("user-agent".into()), SAME))
        );
        assert_eq!(
            request_field("sent_http_etag"),
            Some((LogField::ResponseHeader("etag".into()), SAME))
        );
        assert_eq!(
            request_field("cookie_Sid"),
            Some((LogField::Cookie("Sid".into()), SAME))
        );
        let longest = format!("arg_{}", "a".repeat(Variable::LONGEST_NAME));
        for (name, difference) in [
            (longest.clone(), SAME),
            (longest + "a", DifferenceByDataPlane::NotInEnvoy),
        ] {
            let found = request_field(&name).map(|(_, difference)| difference);
            assert_eq!(found, Some(difference), "{name}");
        }
        assert_eq!(request_field("http_"), None);
        assert_eq!(connection_field("http_host"), None);
    }
}
