//! `xds.type.matcher.v3.ServerNameMatcher`, which Envoy knows and `envoy-types` does not: the message, and its definition.

use envoy_types::pb::xds::r#type::matcher::v3::matcher::OnMatch;
use prost::{Message, Name};
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

const PACKAGE: &str = "xds.type.matcher.v3";

/// The name itself, then its longest wildcard, decides.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServerNameMatcher {
    #[prost(message, repeated, tag = "1")]
    pub(crate) domain_matchers: Vec<DomainMatcher>,
}

/// Names, exact or `*.` and a suffix, that lead to the same.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DomainMatcher {
    #[prost(string, repeated, tag = "1")]
    pub(crate) domains: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(crate) on_match: Option<OnMatch>,
}

impl Name for ServerNameMatcher {
    const NAME: &'static str = "ServerNameMatcher";
    const PACKAGE: &'static str = PACKAGE;

    fn full_name() -> String {
        format!("{PACKAGE}.{}", Self::NAME)
    }

    fn type_url() -> String {
        format!("type.googleapis.com/{}", Self::full_name())
    }
}

/// The definition, for those who read the message as JSON.
pub(crate) fn definition() -> FileDescriptorProto {
    let repeated = |name: &str, kind, message: &str| {
        let message = (!message.is_empty()).then(|| format!(".{PACKAGE}.{message}"));
        field(name, 1, Label::Repeated, kind, message)
    };
    let on_match = Some(format!(".{PACKAGE}.Matcher.OnMatch"));
    let domain = DescriptorProto {
        name: Some("DomainMatcher".to_owned()),
        field: vec![
            repeated("domains", Type::String, ""),
            field("on_match", 2, Label::Optional, Type::Message, on_match),
        ],
        ..DescriptorProto::default()
    };
    let nested = "ServerNameMatcher.DomainMatcher";
    let matcher = DescriptorProto {
        name: Some("ServerNameMatcher".to_owned()),
        field: vec![repeated("domain_matchers", Type::Message, nested)],
        nested_type: vec![domain],
        ..DescriptorProto::default()
    };
    FileDescriptorProto {
        name: Some("xds/type/matcher/v3/domain.proto".to_owned()),
        package: Some(PACKAGE.to_owned()),
        dependency: vec!["xds/type/matcher/v3/matcher.proto".to_owned()],
        message_type: vec![matcher],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn field(
    name: &str,
    number: i32,
    label: Label,
    kind: Type,
    message: Option<String>,
) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(kind.into()),
        type_name: message,
        ..FieldDescriptorProto::default()
    }
}
