//! Messages as protobuf's JSON, with the field names of Envoy's documentation: what `sluice render` prints can be read, or
//! given to an Envoy.
//!
//! prost's messages do not know their fields at run time, so `descriptors.bin` says them: the definitions that
//! `envoy-types` was generated from, as far as the renderer uses them. `tests/descriptors.rs` keeps the two equal.

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use prost_reflect::{
    DescriptorPool, DynamicMessage, Kind, MapKey, ReflectMessage, SerializeOptions,
};
use serde::ser::Error as _;
use serde_json::{Error, Map, Value, json};

use crate::server_name_matcher;

static DEFINITIONS: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let mut pool = DescriptorPool::decode(include_bytes!("../descriptors.bin").as_slice())
        .expect("tests/descriptors.rs reads the same bytes");
    pool.add_file_descriptor_proto(server_name_matcher::definition())
        .expect("tests render it");
    pool
});

/// Resources with private keys.
const SECRET: &str = "envoy.extensions.transport_sockets.tls.v3.Secret";

/// An encoded message of this type, with its `@type`.
///
/// # Errors
/// A type, also of a message packed inside, that `descriptors.bin` does not define; bytes that are not of that type.
pub(crate) fn to_json(type_url: &str, bytes: &[u8]) -> Result<Value, Error> {
    let name = type_url.rsplit_once('/').map_or(type_url, |(_, name)| name);
    let definition = DEFINITIONS
        .get_message_by_name(name)
        .ok_or_else(|| Error::custom(format!("{name}: not in descriptors.bin")))?;
    let message = DynamicMessage::decode(definition, bytes).map_err(Error::custom)?;
    Ok(match of_message(&message)? {
        Value::Object(mut fields) => {
            fields.insert("@type".to_owned(), type_url.into());
            fields.into()
        }
        // A duration, for example, is a text.
        value => json!({ "@type": type_url, "value": value }),
    })
}

fn of_message(message: &DynamicMessage) -> Result<Value, Error> {
    match message.descriptor().full_name() {
        "google.protobuf.Any" => of_any(message),
        // No part of a private key is shown.
        SECRET => Ok(json!({ "content": "[redacted]" })),
        name if name.starts_with("google.protobuf.") => {
            message.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
        }
        _ => message
            .fields()
            .map(|(field, value)| Ok((field.name().to_owned(), of_value(&field.kind(), value)?)))
            .collect(),
    }
}

/// prost-reflect refuses an empty one, which switches a filter on that is off elsewhere.
fn of_any(message: &DynamicMessage) -> Result<Value, Error> {
    let field = |name| message.get_field_by_name(name);
    let (type_url, bytes) = (field("type_url"), field("value"));
    let type_url = type_url.as_deref().and_then(|text| text.as_str());
    let bytes = bytes.as_deref().and_then(|bytes| bytes.as_bytes());
    match (type_url, bytes) {
        (Some(""), Some(bytes)) if bytes.is_empty() => Ok(json!({})),
        (Some(type_url), Some(bytes)) => to_json(type_url, bytes),
        _ => Err(Error::custom(
            "google.protobuf.Any: not as protobuf defines it",
        )),
    }
}

/// A field's value; `kind` is that of an element where it is a list.
fn of_value(kind: &Kind, value: &prost_reflect::Value) -> Result<Value, Error> {
    use prost_reflect::Value as Field;

    Ok(match value {
        Field::Bool(value) => (*value).into(),
        Field::I32(value) => (*value).into(),
        Field::I64(value) => (*value).into(),
        Field::U32(value) => (*value).into(),
        Field::U64(value) => (*value).into(),
        Field::F32(value) => (*value).into(),
        Field::F64(value) => (*value).into(),
        Field::String(text) => text.as_str().into(),
        Field::Bytes(bytes) => BASE64_STANDARD.encode(bytes).into(),
        Field::EnumNumber(number) => enum_name(kind, *number),
        Field::Message(message) => of_message(message)?,
        Field::List(list) => list
            .iter()
            .map(|element| of_value(kind, element))
            .collect::<Result<_, _>>()?,
        Field::Map(map) => {
            let kind = kind
                .as_message()
                .map(|entry| entry.map_entry_value_field().kind());
            let kind = kind.ok_or_else(|| Error::custom("a map without entries"))?;
            let entry = |(key, value)| Ok((of_key(key), of_value(&kind, value)?));
            map.iter()
                .map(entry)
                .collect::<Result<Map<_, _>, Error>>()?
                .into()
        }
    })
}

/// As protobuf's JSON, a number that the definition does not know stays one.
fn enum_name(kind: &Kind, number: i32) -> Value {
    let value = kind.as_enum().and_then(|values| values.get_value(number));
    value.map_or_else(|| number.into(), |value| value.name().into())
}

fn of_key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
    use envoy_types::pb::envoy::config::core::v3::http_protocol_options::HeadersWithUnderscoresAction;
    use envoy_types::pb::envoy::config::core::v3::{
        DataSource, HttpProtocolOptions as Common, TypedExtensionConfig,
    };
    use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type as Kept;
    use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{Secret, TlsCertificate};
    use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
    use envoy_types::pb::google::protobuf::{Any, Duration, UInt32Value};
    use envoy_types::util::pack_any;
    use prost::{Message, Name};

    use super::*;

    #[test]
    fn packed_messages_are_decoded_and_unset_fields_left_out() {
        let common = Common {
            idle_timeout: Some(Duration {
                seconds: 1,
                nanos: 500_000_000,
            }),
            max_headers_count: Some(UInt32Value { value: 0 }),
            headers_with_underscores_action: HeadersWithUnderscoresAction::DropHeader.into(),
            ..Common::default()
        };
        let options = HttpProtocolOptions {
            common_http_protocol_options: Some(common),
            ..Default::default()
        };
        let config = TypedExtensionConfig {
            name: "x".to_owned(),
            typed_config: Some(pack_any(options)),
        };
        let json = to_json(&TypedExtensionConfig::type_url(), &config.encode_to_vec()).unwrap();
        assert_eq!(
            json,
            json!({
                "@type": TypedExtensionConfig::type_url(),
                "name": "x",
                "typed_config": {
                    "@type": HttpProtocolOptions::type_url(),
                    "common_http_protocol_options": {
                        "headers_with_underscores_action": "DROP_HEADER",
                        "idle_timeout": "1.500s",
                        "max_headers_count": 0,
                    },
                },
            })
        );
    }

    #[test]
    fn secrets_are_redacted_also_inside_another_message() {
        let key = DataSource {
            specifier: Some(Specifier::InlineString("a key".to_owned())),
            ..DataSource::default()
        };
        let secret = Secret {
            name: "x".to_owned(),
            r#type: Some(Kept::TlsCertificate(TlsCertificate {
                private_key: Some(key),
                ..TlsCertificate::default()
            })),
        };
        let outer = TypedExtensionConfig {
            name: "x".to_owned(),
            typed_config: Some(pack_any(secret.clone())),
        };
        for json in [
            to_json(&Secret::type_url(), &secret.encode_to_vec()),
            to_json(&TypedExtensionConfig::type_url(), &outer.encode_to_vec()),
        ] {
            let text = json.unwrap().to_string();
            assert!(
                text.contains("[redacted]") && !text.contains("a key"),
                "{text}"
            );
        }
    }

    #[test]
    fn empty_any_is_an_empty_object() {
        let config = TypedExtensionConfig {
            name: "x".to_owned(),
            typed_config: Some(Any::default()),
        };
        let json = to_json(&TypedExtensionConfig::type_url(), &config.encode_to_vec()).unwrap();
        assert_eq!(json["typed_config"], json!({}));
    }

    #[test]
    fn unknown_type_is_an_error_that_names_it() {
        let unknown = TypedExtensionConfig {
            name: "x".to_owned(),
            typed_config: Some(Any {
                type_url: "type.googleapis.com/no.such.Type".to_owned(),
                value: Vec::new(),
            }),
        };
        let bytes = unknown.encode_to_vec();
        for (type_url, bytes) in [
            (TypedExtensionConfig::type_url(), bytes.as_slice()),
            ("type.googleapis.com/no.such.Type".to_owned(), &[]),
        ] {
            let error = to_json(&type_url, bytes).unwrap_err().to_string();
            assert!(error.contains("no.such.Type"), "{error}");
        }
    }
}
