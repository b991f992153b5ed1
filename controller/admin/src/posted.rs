//! `POST /configuration/backends`: ingress-nginx's list of backends, whose endpoints are served until the controller finds others.
//!
//! As there the list is the whole: a backend that it leaves out has no endpoints. Whatever else it says of a backend has no effect,
//! and a list with anything that cannot be read changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sluice_ir::{BackendId, Config};
use sluice_state::{PostedEndpoints, Posts, give_endpoints};

/// Bytes of a list: 10,000 backends of ten endpoints.
const LARGEST: usize = 16 << 20;
/// Letters of a name in an error.
const LONGEST_NAME: usize = 80;

/// The configuration that is served: with the endpoints that were posted, where there are any.
pub(super) fn served(config: &Config, posts: Option<&Posts>) -> Config {
    let mut config = config.clone();
    if let Some(posted) = posts.and_then(Posts::served) {
        give_endpoints(&mut config, &posted);
    }
    config
}

/// `names`: the backends that are served.
pub(super) async fn take(
    posts: Option<&Posts>,
    names: &BTreeMap<String, Vec<BackendId>>,
    body: Body,
) -> Response {
    let Some(posts) = posts else {
        let reason = "Backends are read only: start the controller with --admin-writes.";
        return (StatusCode::FORBIDDEN, reason).into_response();
    };
    let Ok(body) = to_bytes(body, LARGEST).await else {
        let reason = format!("expected at most {LARGEST} bytes");
        return (StatusCode::PAYLOAD_TOO_LARGE, reason).into_response();
    };
    let taken = match read(&body, names) {
        Ok(endpoints) => posts.post(endpoints).await,
        Err(reason) => Err(reason),
    };
    match taken {
        Ok(()) => StatusCode::CREATED.into_response(),
        Err(reason) => (StatusCode::BAD_REQUEST, reason).into_response(),
    }
}

/// The error names the backend and its field.
fn read(body: &[u8], names: &BTreeMap<String, Vec<BackendId>>) -> Result<PostedEndpoints, String> {
    let all: Vec<Value> = serde_json::from_slice(body)
        .map_err(|error| format!("expected a list of backends in JSON: {error}"))?;
    let mut posted = PostedEndpoints::new();
    let mut known = BTreeSet::new();
    for (number, backend) in all.iter().enumerate() {
        let name = backend.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| format!("backend {number}: name: expected a text"))?;
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        let error = |reason: String| format!("backend {shown:?}: {reason}");
        let endpoints = addresses(backend.get("endpoints")).map_err(error)?;
        if !known.insert(name) {
            return Err(error("it is there twice".to_owned()));
        }
        match names.get(name).map(Vec::as_slice) {
            Some([id]) => drop(posted.insert(id.clone(), endpoints)),
            // The data plane answers itself.
            Some([]) if endpoints.is_empty() => {}
            Some([]) => return Err(error("endpoints: it has no Service".to_owned())),
            Some(_) => return Err(error("several backends have this name".to_owned())),
            None => return Err(error("it is not served".to_owned())),
        }
    }
    Ok(posted)
}

fn addresses(endpoints: Option<&Value>) -> Result<Vec<SocketAddr>, String> {
    let all = match endpoints {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(all)) => all,
        Some(_) => return Err("endpoints: expected a list".to_owned()),
    };
    let all = all.iter().enumerate();
    all.map(|(number, endpoint)| {
        address(endpoint).map_err(|reason| format!("endpoints[{number}].{reason}"))
    })
    .collect()
}

fn address(endpoint: &Value) -> Result<SocketAddr, &'static str> {
    let address = endpoint.get("address").and_then(Value::as_str);
    let address = address.and_then(|text| text.parse::<IpAddr>().ok());
    let address = address.ok_or("address: expected an IP address")?;
    let port = match endpoint.get("port") {
        Some(Value::String(text)) => text.parse::<u16>().ok(),
        Some(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        None => None,
    };
    let port = port.filter(|port| *port != 0);
    let port = port.ok_or("port: expected a number from 1 to 65535")?;
    Ok(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(list: &Value) -> Result<PostedEndpoints, String> {
        let id = |name: &str| BackendId::new(name);
        let names = [
            ("upstream-default-backend", vec![]),
            ("shop-a-80", vec![id("shop/a/80")]),
            ("shop-a-b-80", vec![id("shop/a-b/80"), id("shop-a/b/80")]),
        ];
        let names = names.map(|(name, ids)| (name.to_owned(), ids));
        read(list.to_string().as_bytes(), &names.into())
    }

    #[test]
    fn a_list_gives_endpoints_by_name() {
        let list = json!([
            {"name": "shop-a-80", "port": 80, "service": null, "load-balance": "ewma", "endpoints": [
                {"address": "10.0.0.1", "port": "8080"}, {"address": "2001:db8::1", "port": 80},
            ]},
            {"name": "upstream-default-backend", "endpoints": []},
        ]);
        let addresses = ["10.0.0.1:8080", "[2001:db8::1]:80"].map(|text| text.parse().unwrap());
        let expected = [(BackendId::new("shop/a/80"), addresses.to_vec())];
        assert_eq!(read_json(&list), Ok(expected.into()));
        let none = [(BackendId::new("shop/a/80"), vec![])];
        let list = json!([{"name": "shop-a-80", "endpoints": null}]);
        assert_eq!(read_json(&list), Ok(none.into()));
    }

    #[test]
    fn an_error_names_backend_and_field() {
        let of = |endpoint: Value| json!([{"name": "shop-a-80", "endpoints": [endpoint]}]);
        let address = "backend \"shop-a-80\": endpoints[0].address: expected an IP address";
        let port = "backend \"shop-a-80\": endpoints[0].port: expected a number from 1 to 65535";
        for (list, reason) in [
            (json!({}), "expected a list of backends in JSON: "),
            (json!(null), "expected a list of backends in JSON: "),
            (json!([1]), "backend 0: name: expected a text"),
            (json!([{"name": 1}]), "backend 0: name: expected a text"),
            (of(json!({"address": "a.test", "port": "80"})), address),
            (of(json!({"address": "127.1", "port": "80"})), address),
            (of(json!({"port": "80"})), address),
            (of(json!({"address": "10.0.0.1", "port": "0"})), port),
            (of(json!({"address": "10.0.0.1", "port": 65_536})), port),
            (of(json!({"address": "10.0.0.1"})), port),
            (
                json!([{"name": "shop-a-80", "endpoints": {}}]),
                "backend \"shop-a-80\": endpoints: expected a list",
            ),
            (
                json!([{"name": "shop-a-80"}, {"name": "shop-a-80"}]),
                "backend \"shop-a-80\": it is there twice",
            ),
            (
                json!([{"name": "shop-b-80"}]),
                "backend \"shop-b-80\": it is not served",
            ),
            (
                json!([{"name": "shop-a-b-80"}]),
                "backend \"shop-a-b-80\": several backends have this name",
            ),
            (
                json!([{"name": "a\nb"}]),
                "backend \"a\\nb\": it is not served",
            ),
            (
                json!([{"name": "upstream-default-backend", "endpoints": [{"address": "10.0.0.1", "port": "80"}]}]),
                "backend \"upstream-default-backend\": endpoints: it has no Service",
            ),
        ] {
            let said = read_json(&list).unwrap_err();
            assert!(said.starts_with(reason), "{list}: {said}");
        }
    }
}
