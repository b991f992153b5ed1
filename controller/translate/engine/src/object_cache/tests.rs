use serde_json::json;

use super::*;
use crate::ObjectRef;

fn slice(name: &str, service: &str, address: &str) -> Object {
    let object = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "endpoints": [{"addresses": [address]}],
    });
    Object::from_value(object).unwrap()
}

#[test]
fn a_config_map_that_is_held_stays_when_it_is_gone() {
    let map = |value: &str| {
        let metadata = json!({"namespace": "sluice", "name": "a"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}});
        Object::from_value(object).unwrap()
    };
    let key = ObjectKey::new("sluice", "a");
    let mut cluster = ObjectCache::default();
    cluster.hold_config_map(key.clone());
    assert_eq!(cluster.delete(Kind::ConfigMap, &key), Change::Nothing);
    assert!(!cluster.is_gone(&key), "there was none");
    let changed = Change::Object(ObjectRef {
        kind: Kind::ConfigMap,
        key: key.clone(),
    });
    assert_eq!(cluster.apply(map("1")), changed);
    assert_eq!(cluster.delete(Kind::ConfigMap, &key), changed);
    assert_eq!(cluster.delete(Kind::ConfigMap, &key), Change::Nothing);
    assert!(cluster.is_gone(&key) && cluster.config_maps.contains_key(&key));
    assert_eq!(
        cluster.apply(map("1")),
        changed,
        "it is there again, which is no news but to its owner"
    );
    assert!(!cluster.is_gone(&key));
    let other = ObjectKey::new("sluice", "b");
    assert_eq!(cluster.delete(Kind::ConfigMap, &other), Change::Nothing);
}

#[test]
fn a_slice_changes_only_its_services_endpoints() {
    let mut cluster = ObjectCache::default();
    let service = ObjectKey::new("default", "shop");
    assert_eq!(
        cluster.apply(slice("a", "shop", "10.0.0.1")),
        Change::Endpoints([service.clone()].into())
    );
    assert_eq!(
        cluster.apply(slice("a", "shop", "10.0.0.1")),
        Change::Nothing
    );
    let key = ObjectKey::new("default", "a");
    assert_eq!(
        cluster.delete(Kind::EndpointSlice, &key),
        Change::Endpoints([service.clone()].into())
    );
    assert_eq!(cluster.slices_of(&service).count(), 0);
}

#[test]
fn a_slice_that_moves_leaves_its_old_service() {
    let mut cluster = ObjectCache::default();
    cluster.apply(slice("a", "shop", "10.0.0.1"));
    assert_eq!(
        cluster.apply(slice("a", "cart", "10.0.0.1")),
        Change::Everything
    );
    assert_eq!(
        cluster
            .slices_of(&ObjectKey::new("default", "shop"))
            .count(),
        0
    );
    assert_eq!(
        cluster
            .slices_of(&ObjectKey::new("default", "cart"))
            .count(),
        1
    );
}

/// A namespace without slices has no addresses of its own.
#[test]
fn a_service_has_slices_until_its_last_one_goes() {
    let mut cluster = ObjectCache::default();
    let service = ObjectKey::new("default", "shop");
    cluster.apply(slice("a", "shop", "10.0.0.1"));
    cluster.apply(slice("b", "shop", "10.0.0.2"));
    let names = |cluster: &ObjectCache| {
        let names = cluster.slice_names(&service);
        names.map(|key| key.name.to_string()).collect::<Vec<_>>()
    };
    let with_slices = |cluster: &ObjectCache| cluster.services_with_slices("default").count();
    assert_eq!(
        (names(&cluster), with_slices(&cluster)),
        (vec!["a".to_owned(), "b".to_owned()], 1)
    );
    cluster.delete(Kind::EndpointSlice, &ObjectKey::new("default", "a"));
    assert_eq!(
        (names(&cluster), with_slices(&cluster)),
        (vec!["b".to_owned()], 1)
    );
    cluster.delete(Kind::EndpointSlice, &ObjectKey::new("default", "b"));
    assert_eq!((names(&cluster), with_slices(&cluster)), (Vec::new(), 0));
}
