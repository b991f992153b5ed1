//! Properties of a request, in Envoy's words.

use std::collections::BTreeMap;

use envoy_types::pb::google::protobuf::{Struct, Value, value};
use sluice_ir::{LogField, LogPart, LogValue};

use crate::render::header::literal;

pub(super) fn object(fields: &BTreeMap<String, LogValue>) -> Struct {
    let value = |value: &LogValue| match value {
        LogValue::Line(parts) => value::Kind::StringValue(line(parts)),
        LogValue::Object(fields) => value::Kind::StructValue(object(fields)),
    };
    let fields = fields.iter().map(|(name, field)| {
        (
            name.clone(),
            Value {
                kind: Some(value(field)),
            },
        )
    });
    Struct {
        fields: fields.collect(),
    }
}

pub(super) fn line(parts: &[LogPart]) -> String {
    let parts = parts.iter().map(|part| match part {
        LogPart::Text(text) => literal(text),
        LogPart::Field(fact) => operator(fact),
    });
    parts.collect()
}

fn operator(fact: &LogField) -> String {
    let operator = match fact {
        LogField::ClientAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerAddress => "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerPort => "%DOWNSTREAM_DIRECT_REMOTE_PORT%",
        LogField::LocalAddress => "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%",
        LogField::LocalPort => "%DOWNSTREAM_LOCAL_PORT%",
        LogField::CommonTime => "%EMIT_TIME(%d/%b/%Y:%H:%M:%S %z)%",
        LogField::IsoTime => "%EMIT_TIME(%Y-%m-%dT%H:%M:%S%Ez)%",
        LogField::UnixTime => "%EMIT_TIME(%s.%3f)%",
        LogField::RequestLine => "%REQ(:METHOD)% %DYNAMIC_METADATA(sluice.log:uri)% %PROTOCOL%",
        LogField::Method => "%REQ(:METHOD)%",
        LogField::RequestUri => "%DYNAMIC_METADATA(sluice.log:uri)%",
        LogField::Path => "%PATH(NQ)%",
        LogField::Host => "%REQ(:AUTHORITY)%",
        LogField::Scheme => "%REQ(:SCHEME)%",
        LogField::Protocol => "%PROTOCOL%",
        LogField::Status => "%RESPONSE_CODE%",
        LogField::BytesSent => "%BYTES_SENT%",
        LogField::WireBytesSent => "%DOWNSTREAM_WIRE_BYTES_SENT%",
        LogField::WireBytesReceived => "%DOWNSTREAM_WIRE_BYTES_RECEIVED%",
        LogField::BytesReceived => "%BYTES_RECEIVED%",
        LogField::Milliseconds => "%DURATION%",
        LogField::RequestId => "%REQ(X-REQUEST-ID)%",
        // Translation says that there is no such thing here.
        LogField::User
        | LogField::L4
        | LogField::SessionStatus
        | LogField::UpstreamStatus
        | LogField::UpstreamBytes
        | LogField::Cookie(_) => "-",
        LogField::Backend => "%UPSTREAM_CLUSTER_RAW%",
        LogField::UpstreamAddress => "%UPSTREAM_HOST%",
        LogField::UpstreamMilliseconds => "%COMMON_DURATION(US_TX_BEG:US_RX_END:ms)%",
        LogField::ConnectMilliseconds => "%COMMON_DURATION(US_CX_BEG:US_CX_END:ms)%",
        LogField::HeaderMilliseconds => "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%",
        LogField::Connection => "%CONNECTION_ID%",
        LogField::TlsVersion => "%DOWNSTREAM_TLS_VERSION%",
        LogField::TlsCipher => "%DOWNSTREAM_TLS_CIPHER%",
        LogField::TlsName => "%REQUESTED_SERVER_NAME%",
        LogField::ClientSubject => "%DOWNSTREAM_PEER_SUBJECT%",
        LogField::ClientIssuer => "%DOWNSTREAM_PEER_ISSUER%",
        LogField::ClientSerial => "%DOWNSTREAM_PEER_SERIAL%",
        LogField::Hostname => "%HOSTNAME%",
        LogField::RequestHeader(name) => return format!("%REQ({name})%"),
        LogField::ResponseHeader(name) => return format!("%RESP({name})%"),
        LogField::Argument(name) => return format!("%QUERY_PARAM({name})%"),
    };
    operator.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_an_operator() {
        let parts = [
            LogPart::Text("100% ".to_owned()),
            LogPart::Field(LogField::RequestHeader("x-a".to_owned())),
        ];
        assert_eq!(line(&parts), "100%% %REQ(x-a)%");
    }
}
