//! nginx's variables and what is known of them, each with how it differs.

use sluice_ir::LogField;
use sluice_syntax::variables::{Prefixed, canonical};

use crate::support::DataPlane;

/// How a field differs from nginx's.
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
    /// Difference in a data plane; the worst one if several may serve.
    pub(super) fn for_data_plane(self, served_by: Option<DataPlane>) -> Variance {
        match self {
            Difference::Always(text) => Variance::Differs(text),
            Difference::Envoy(text) if served_by != Some(DataPlane::Nginx) => {
                Variance::Differs(text)
            }
            Difference::NotInEnvoy if served_by != Some(DataPlane::Nginx) => Variance::Missing,
            Difference::None | Difference::Envoy(_) | Difference::NotInEnvoy => Variance::None,
        }
    }
}

/// Difference of a variable from nginx's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variance {
    None,
    Differs(&'static str),
    Missing,
}

const SAME: Difference = Difference::None;
const MILLISECONDS: Difference = Difference::Envoy("in milliseconds");
const ID: Difference = Difference::Always("namespace/service/port");

/// Of requests.
pub(super) fn request_field(name: &str) -> Option<(LogField, Difference)> {
    let name_in_common = canonical(name);
    Some(match name_in_common.as_str() {
        "remote_addr" => (LogField::ClientAddress, SAME),
        "request" => (LogField::RequestLine, SAME),
        "request_method" => (LogField::Method, SAME),
        "request_uri" => (LogField::RequestUri, SAME),
        "uri" => (LogField::Path, SAME),
        "host" => (LogField::Host, SAME),
        "scheme" => (LogField::Scheme, SAME),
        "server_protocol" => (LogField::Protocol, SAME),
        "body_bytes_sent" => (LogField::BytesSent, SAME),
        "bytes_sent" => (LogField::WireBytesSent, SAME),
        "request_length" => (LogField::WireBytesReceived, SAME),
        "status" => (LogField::Status, SAME),
        "request_time" => (LogField::Milliseconds, MILLISECONDS),
        "upstream_response_time" => (LogField::UpstreamMilliseconds, MILLISECONDS),
        "upstream_connect_time" => (LogField::ConnectMilliseconds, MILLISECONDS),
        "upstream_header_time" => (LogField::HeaderMilliseconds, MILLISECONDS),
        "request_id" => (LogField::RequestId, SAME),
        "proxy_upstream_name" => (LogField::Backend, ID),
        "remote_user" => (LogField::User, Difference::NotInEnvoy),
        "upstream_status" => (LogField::UpstreamStatus, Difference::NotInEnvoy),
        "upstream_response_length" => (LogField::UpstreamBytes, Difference::NotInEnvoy),
        other => return common_field(other).or_else(|| prefixed(name)),
    })
}

/// Of connections without HTTP.
pub(super) fn connection_field(name: &str) -> Option<(LogField, Difference)> {
    Some(match name {
        "remote_addr" => (LogField::ClientAddress, SAME),
        "bytes_sent" => (LogField::BytesSent, SAME),
        "bytes_received" => (LogField::BytesReceived, SAME),
        "session_time" => (LogField::Milliseconds, MILLISECONDS),
        "upstream_connect_time" => (LogField::ConnectMilliseconds, MILLISECONDS),
        "proxy_upstream_name" => (LogField::Backend, ID),
        "protocol" => (LogField::L4, Difference::NotInEnvoy),
        "status" => (LogField::SessionStatus, Difference::NotInEnvoy),
        "ssl_preread_server_name" => (LogField::TlsName, SAME),
        other => return common_field(other),
    })
}

fn common_field(name: &str) -> Option<(LogField, Difference)> {
    let field = match name {
        "realip_remote_addr" => LogField::PeerAddress,
        "remote_port" => LogField::PeerPort,
        "server_addr" => LogField::LocalAddress,
        "server_port" | "pass_server_port" | "pass_port" => LogField::LocalPort,
        "time_local" => LogField::CommonTime,
        "time_iso8601" => LogField::IsoTime,
        "msec" => LogField::UnixTime,
        "upstream_addr" => {
            return Some((
                LogField::UpstreamAddress,
                Difference::Envoy("the last endpoint that was tried"),
            ));
        }
        "connection" => LogField::Connection,
        "ssl_protocol" => LogField::TlsVersion,
        "ssl_cipher" => LogField::TlsCipher,
        "ssl_server_name" => LogField::TlsName,
        "ssl_client_s_dn" => LogField::ClientSubject,
        "ssl_client_i_dn" => LogField::ClientIssuer,
        "ssl_client_serial" => LogField::ClientSerial,
        "hostname" => LogField::Hostname,
        _ => return None,
    };
    Some((field, SAME))
}

/// `$http_NAME` and its like.
fn prefixed(name: &str) -> Option<(LogField, Difference)> {
    Some(match Prefixed::parse(name)? {
        // Envoy 1.40 has no operator for one, and would refuse its listeners.
        Prefixed::Cookie(name) => (LogField::Cookie(name), Difference::NotInEnvoy),
        Prefixed::RequestHeader(name) => (LogField::RequestHeader(name), SAME),
        Prefixed::ResponseHeader(name) => (LogField::ResponseHeader(name), SAME),
        Prefixed::Argument(name) => (LogField::Argument(name), SAME),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nginx_alone_knows_is_missing_wherever_envoy_may_serve() {
        let (_, difference) = request_field("remote_user").unwrap();
        let told = [None, Some(DataPlane::Envoy), Some(DataPlane::Nginx)]
            .map(|by| difference.for_data_plane(by));
        assert_eq!(told, [Variance::Missing, Variance::Missing, Variance::None]);
        assert_eq!(
            MILLISECONDS.for_data_plane(Some(DataPlane::Nginx)),
            Variance::None
        );
        assert_eq!(
            ID.for_data_plane(Some(DataPlane::Nginx)),
            Variance::Differs("namespace/service/port")
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
            Some((LogField::Cookie("Sid".into()), Difference::NotInEnvoy))
        );
        assert_eq!(request_field("http_"), None);
        assert_eq!(connection_field("http_host"), None);
    }
}
