//! Copies of requests that have a path of their own, or no body.
//!
//! ```text
//!   route: mirror policy --x-sluice-copy-*--> cluster of such copies: Lua writes :path, drops the body --> upstream
//! ```
//!
//! A mirror policy changes headers only, none that begins with a colon, and a mutation of `content-length` would leave the body in place,
//! for the upstream to read as the next request. Of Envoy's filters behind the choice of an endpoint Lua alone can do both,
//! whichever form the filter of ours has there. The script is the same for all: what differs comes in headers, so no text of anybody
//! is code. A cluster of such copies gets nothing else.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::filters::http::lua::v3::Lua;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpFilter;
use envoy_types::pb::google::protobuf::BoolValue;
use sluice_ir::Mirror;

use super::cluster::upstream_filter;
use super::header::{append, literal, remove, set};

/// Path of the copy; the query of the request comes behind it.
const PATH: &str = "x-sluice-copy-path";
/// Path in front of that of the request.
const BELOW: &str = "x-sluice-copy-below";
/// Present where the copy has no body.
const BODILESS: &str = "x-sluice-copy-bodiless";

/// Takes each piece of the body as it comes, so nothing is buffered. Requests that may have a body say that it is empty: without
/// that, HTTP/1 would say that it comes in chunks.
const SCRIPT: &str = r#"
local function take(headers, name)
  local value = headers:get(name)
  if value then headers:remove(name) end
  return value
end

function envoy_on_request(copy)
  local headers = copy:headers()
  local sent = headers:get(":path")
  local path = take(headers, "x-sluice-copy-path")
  local below = take(headers, "x-sluice-copy-below")
  if path then
    headers:replace(":path", path .. (sent:match("%?.*") or ""))
  elseif below then
    headers:replace(":path", below .. sent)
  end
  if not take(headers, "x-sluice-copy-bodiless") then return end
  local method = headers:get(":method")
  if headers:get("content-length") or (method ~= "GET" and method ~= "HEAD") then
    headers:replace("content-length", "0")
  end
  for piece in copy:bodyChunks() do piece:setBytes("") end
end
"#;

/// The filter of the clusters that get such copies.
pub(super) fn filter() -> HttpFilter {
    let script = DataSource {
        specifier: Some(Specifier::InlineString(SCRIPT.to_owned())),
        ..DataSource::default()
    };
    upstream_filter(
        "envoy.filters.http.lua",
        Lua {
            default_source_code: Some(script),
            // No route is looked up behind the choice of an endpoint.
            clear_route_cache: Some(BoolValue { value: false }),
            ..Lua::default()
        },
    )
}

/// Headers that tell the filter what to do; none for copies that are as their request.
pub(super) fn instructions(mirror: &Mirror) -> Vec<HeaderMutation> {
    if !mirror.is_altered() {
        return Vec::new();
    }
    let path = |is_in_front: bool| {
        let path = mirror.path.as_ref();
        let path = path.filter(|path| path.request_uri == is_in_front);
        path.map(|path| literal(&path.literal))
    };
    let body = mirror.bodiless.then(|| "1".to_owned());
    [(PATH, path(false)), (BELOW, path(true)), (BODILESS, body)]
        .into_iter()
        .map(|(name, value)| value.map_or_else(|| remove(name), |value| append(set(name, &value))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_reads_the_headers_of_the_instructions() {
        for name in [PATH, BELOW, BODILESS] {
            assert_eq!(SCRIPT.matches(&format!("\"{name}\"")).count(), 1);
        }
    }
}
