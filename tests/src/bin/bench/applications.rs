//! As many applications as one likes, each with a host of its own.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;
use sluice_tests::manifests::{Ingress, endpoint_slice, service};

/// Behind each of them. Nothing listens there.
pub(crate) const PODS: u8 = 10;
const NAMESPACES: usize = 100;

/// The objects of one of them: Service, EndpointSlice, Ingress.
pub(crate) fn application(n: usize) -> [Value; 3] {
    let (namespace, name) = (format!("team-{}", n % NAMESPACES), format!("app-{n}"));
    let pods = pods(n);
    let ingress = Ingress::new(&namespace, &name)
        .host(&format!("{name}.example.com"))
        .path("/", &name, 80);
    [
        service(&namespace, &name, 80, &pods),
        endpoint_slice(&namespace, &name, &pods),
        ingress.to_json(),
    ]
}

fn pods(n: usize) -> Vec<SocketAddr> {
    let [.., high, low] = n.to_be_bytes();
    (1..=PODS)
        .map(|pod| SocketAddr::from((Ipv4Addr::new(10, high, low, pod), 8080)))
        .collect()
}
