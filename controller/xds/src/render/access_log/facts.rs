//! Properties of a request, in Envoy's words.

use std::collections::BTreeMap;

use envoy_types::pb::google::protobuf::{Struct, Value, value};
use sluice_ir::{Fact, LogPart, LogValue};

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
        LogPart::Fact(fact) => operator(fact),
    });
    parts.collect()
}

fn operator(fact: &Fact) -> String {
    let operator = match fact {
        Fact::ClientAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
        Fact::PeerAddress => "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        Fact::PeerPort => "%DOWNSTREAM_DIRECT_REMOTE_PORT%",
        Fact::OwnAddress => "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%",
        Fact::OwnPort => "%DOWNSTREAM_LOCAL_PORT%",
        Fact::CommonTime => "%EMIT_TIME(%d/%b/%Y:%H:%M:%S %z)%",
        Fact::IsoTime => "%EMIT_TIME(%Y-%m-%dT%H:%M:%S%Ez)%",
        Fact::UnixTime => "%EMIT_TIME(%s.%3f)%",
        Fact::RequestLine => "%REQ(:METHOD)% %DYNAMIC_METADATA(sluice.log:uri)% %PROTOCOL%",
        Fact::Method => "%REQ(:METHOD)%",
        Fact::RequestUri => "%DYNAMIC_METADATA(sluice.log:uri)%",
        Fact::Path => "%PATH(NQ)%",
        Fact::Host => "%REQ(:AUTHORITY)%",
        Fact::Scheme => "%REQ(:SCHEME)%",
        Fact::Protocol => "%PROTOCOL%",
        Fact::Status => "%RESPONSE_CODE%",
        Fact::BytesSent => "%BYTES_SENT%",
        Fact::WireBytesSent => "%DOWNSTREAM_WIRE_BYTES_SENT%",
        Fact::WireBytesReceived => "%DOWNSTREAM_WIRE_BYTES_RECEIVED%",
        Fact::BytesReceived => "%BYTES_RECEIVED%",
        Fact::Milliseconds => "%DURATION%",
        Fact::RequestId => "%REQ(X-REQUEST-ID)%",
        // Translation says that there is no such thing here.
        Fact::User
        | Fact::Layer
        | Fact::SessionStatus
        | Fact::PodStatus
        | Fact::PodBytes
        | Fact::Cookie(_) => "-",
        Fact::Backend => "%UPSTREAM_CLUSTER_RAW%",
        Fact::PodAddress => "%UPSTREAM_HOST%",
        Fact::PodMilliseconds => "%COMMON_DURATION(US_TX_BEG:US_RX_END:ms)%",
        Fact::ConnectMilliseconds => "%COMMON_DURATION(US_CX_BEG:US_CX_END:ms)%",
        Fact::HeaderMilliseconds => "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%",
        Fact::Connection => "%CONNECTION_ID%",
        Fact::TlsVersion => "%DOWNSTREAM_TLS_VERSION%",
        Fact::TlsCipher => "%DOWNSTREAM_TLS_CIPHER%",
        Fact::TlsName => "%REQUESTED_SERVER_NAME%",
        Fact::ClientSubject => "%DOWNSTREAM_PEER_SUBJECT%",
        Fact::ClientIssuer => "%DOWNSTREAM_PEER_ISSUER%",
        Fact::ClientSerial => "%DOWNSTREAM_PEER_SERIAL%",
        Fact::Machine => "%HOSTNAME%",
        Fact::RequestHeader(name) => return format!("%REQ({name})%"),
        Fact::AnswerHeader(name) => return format!("%RESP({name})%"),
        Fact::Argument(name) => return format!("%QUERY_PARAM({name})%"),
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
            LogPart::Fact(Fact::RequestHeader("x-a".to_owned())),
        ];
        assert_eq!(line(&parts), "100%% %REQ(x-a)%");
    }
}
