//! Cookies of an external authentication service: the client gets them if the pod is content.
//!
//! The authorization server adds them to the answer under names of ours, one each; here they get their own name back, or are dropped.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValueOption, TypedExtensionConfig};
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation, Mutations,
};

use crate::render::header::{append, remove_prefix, set};
use crate::render::proto::extension;
use crate::settings::{COOKIE_HEADER, MOST_COOKIES};

/// nginx's `add_header` without `always`.
const CONTENT: &str = "['200','201','204','206','301','302','303','304','307','308']";

pub(super) fn filter() -> TypedExtensionConfig {
    let cookies = (0..MOST_COOKIES).map(|place| {
        let name = format!("{COOKIE_HEADER}{place}");
        let format = format!(
            "%CEL(response.headers[':status'] in {CONTENT} ? response.headers['{name}'] : '')%"
        );
        let cookie = set("set-cookie", &format);
        append(HeaderValueOption {
            append_action: HeaderAppendAction::AppendIfExistsOrAdd.into(),
            ..cookie
        })
    });
    let response_mutations = cookies.chain([remove_prefix(COOKIE_HEADER)]).collect();
    let mutations = Mutations {
        response_mutations,
        ..Mutations::default()
    };
    extension(
        "cookies",
        HeaderMutation {
            mutations: Some(mutations),
            ..HeaderMutation::default()
        },
    )
}
