//! Values that only one controller can have: addresses, ports of nodes, DNS names. While Sluice runs beside ingress-nginx,
//! these are ingress-nginx's.

use std::net::IpAddr;

use serde_json::Value;

use super::Conversion;

const TAKEN: &str = "taken by ingress-nginx while both run; leave it out until the switch";

/// Fields of a Service.
const OF_SERVICE: &[&str] = &[
    "clusterIP",
    "clusterIPs",
    "externalIPs",
    "loadBalancerIP",
    "healthCheckNodePort",
    "nodePorts.http",
    "nodePorts.https",
    "nodePorts.tcp",
    "nodePorts.udp",
];

/// Domains whose annotations are all about addresses or DNS names.
const DOMAINS: &[&str] = &[
    "external-dns.alpha.kubernetes.io",
    "external-dns.kubernetes.io",
    "dns.gardener.cloud",
    "io.cilium",
    "kube-vip.io",
    "lbipam.cilium.io",
    "metallb.io",
    "metallb.universe.tf",
    "purelb.io",
];

/// Words that name an address or a DNS name in the last part of an annotation's name. Clouds have hundreds of such annotations
/// and new ones each year (`azure-load-balancer-ipv4`, `aws-load-balancer-eip-allocations`, `load-balancer-ip-addresses`); the words are the same.
const WORDS: &[&str] = &[
    "address",
    "addresses",
    "dns",
    "eip",
    "eips",
    "floatingip",
    "host",
    "hostname",
    "hostnames",
    "ip",
    "ips",
    "ipv4",
    "ipv6",
    "lbid",
    "pip",
    "pips",
];

/// Words that make it a setting of them: `aws-load-balancer-ip-address-type`, `keep-floatingip`.
const SETTINGS: &[&str] = &[
    "disable",
    "disabled",
    "enable",
    "enabled",
    "family",
    "health",
    "healthcheck",
    "keep",
    "mode",
    "protocol",
    "source",
    "tags",
    "target",
    "type",
    "types",
    "use",
    "uses",
];

/// Before `id` or `name` at the end: a balancer that is there already.
const BALANCERS: &[&str] = &[
    "balancer",
    "elb",
    "lb",
    "loadbalancer",
    "nodebalancer",
    "slb",
];

impl Conversion {
    /// Says which values are taken. They stay, for they are right after the switch.
    pub(super) fn name_what_is_taken(&mut self) {
        for service in ["dataPlane.service", "dataPlane.service.internal"] {
            for field in OF_SERVICE {
                let place = format!("{service}.{field}");
                if self.get(&place).is_some_and(is_given) {
                    self.look_at(&place, TAKEN);
                }
            }
            let place = format!("{service}.annotations");
            let annotations = self.get(&place).and_then(Value::as_object);
            let taken = annotations.into_iter().flatten();
            let taken = taken.filter(|(key, value)| names_address(key, value));
            let taken: Vec<String> = taken.map(|(key, _)| format!("{place}.{key}")).collect();
            taken.iter().for_each(|place| self.look_at(place, TAKEN));
        }
        if self.is_on("dataPlane.hostPort.enabled") {
            self.look_at("dataPlane.hostPort", TAKEN);
        }
        if self.get("fullnameOverride").is_some() {
            let note = "ingress-nginx's objects have this name, and Helm refuses those that are there already; choose another while both run";
            self.look_at("fullnameOverride", note);
        }
    }
}

/// Returns `false` of `None`, an address that many Services have, and of 0.
fn is_given(value: &Value) -> bool {
    let is_none = |value: &Value| value == "None";
    let all_none = |items: &Vec<Value>| items.iter().all(is_none);
    !(is_none(value) || *value == 0 || value.as_array().is_some_and(all_none))
}

/// Returns `true` if an annotation asks for an address, a DNS name or a certain balancer.
fn names_address(key: &str, value: &Value) -> bool {
    let (domain, name) = key.split_once('/').unwrap_or(("", key));
    let is_below = |above: &&str| {
        let rest = domain.strip_suffix(*above);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let words = words(name);
    let has_one_of = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    DOMAINS.iter().any(is_below)
        || is_address(value)
        || (has_one_of(WORDS) && !has_one_of(SETTINGS))
        || names_balancer(domain, &words)
}

/// Of `service.beta.kubernetes.io/aws-load-balancer-name`, `kubernetes.io/elb.id`, `load-balancer.hetzner.cloud/name`.
fn names_balancer(domain: &str, words: &[String]) -> bool {
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    let is_balancer = match before.last() {
        Some(word) => BALANCERS.contains(&word.as_str()),
        None => domain.contains("balancer"),
    };
    matches!(last.as_str(), "id" | "name") && is_balancer
}

/// One address, or several behind each other.
fn is_address(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.split([',', ' '])
        .any(|part| part.parse::<IpAddr>().is_ok())
}

/// Lower-case words of `azure-pip-name`, `elb.id` and `loadBalancerIPs`, where each begins.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && was_lower) {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_annotation_with_an_address_a_name_or_a_balancer_is_taken() {
        for key in [
            "external-dns.alpha.kubernetes.io/hostname",
            "external-dns.alpha.kubernetes.io/target",
            "metallb.universe.tf/loadBalancerIPs",
            "metallb.io/address-pool",
            "metallb.io/allow-shared-ip",
            "kube-vip.io/loadbalancerIPs",
            "lbipam.cilium.io/ips",
            "io.cilium/lb-ipam-ips",
            "projectcalico.org/loadBalancerIPs",
            "networking.gke.io/load-balancer-ip-addresses",
            "service.beta.kubernetes.io/aws-load-balancer-eip-allocations",
            "service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses",
            "service.beta.kubernetes.io/aws-load-balancer-name",
            "service.beta.kubernetes.io/azure-load-balancer-ipv4",
            "service.beta.kubernetes.io/azure-pip-name",
            "service.beta.kubernetes.io/azure-dns-label-name",
            "service.beta.kubernetes.io/do-loadbalancer-hostname",
            "kubernetes.digitalocean.com/load-balancer-id",
            "load-balancer.hetzner.cloud/name",
            "loadbalancer.openstack.org/load-balancer-id",
            "service.beta.kubernetes.io/linode-loadbalancer-nodebalancer-id",
            "service.beta.kubernetes.io/scw-loadbalancer-ip-ids",
            "oci.oraclecloud.com/reserved-ips",
            "kubernetes.io/elb.id",
            "service.kubernetes.io/tke-existed-lbid",
        ] {
            assert!(names_address(key, &json!("a")), "{key}");
        }
        assert!(names_address(
            "example.com/anything",
            &json!("192.0.2.1, 2001:db8::1")
        ));
    }

    #[test]
    fn an_annotation_that_many_services_may_have_is_not_taken() {
        for key in [
            "service.beta.kubernetes.io/aws-load-balancer-type",
            "service.beta.kubernetes.io/aws-load-balancer-ip-address-type",
            "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type",
            "service.beta.kubernetes.io/aws-load-balancer-ssl-cert",
            "service.beta.kubernetes.io/aws-load-balancer-proxy-protocol",
            "service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled",
            "service.beta.kubernetes.io/aws-load-balancer-subnets",
            "service.beta.kubernetes.io/azure-load-balancer-internal",
            "service.beta.kubernetes.io/azure-load-balancer-internal-subnet",
            "service.beta.kubernetes.io/azure-load-balancer-health-probe-request-path",
            "service.beta.kubernetes.io/azure-pip-tags",
            "service.beta.kubernetes.io/do-loadbalancer-certificate-id",
            "load-balancer.hetzner.cloud/location",
            "load-balancer.hetzner.cloud/use-private-ip",
            "load-balancer.hetzner.cloud/ipv6-disabled",
            "loadbalancer.openstack.org/keep-floatingip",
            "loadbalancer.openstack.org/network-id",
            "networking.gke.io/load-balancer-type",
            "prometheus.io/scrape",
        ] {
            assert!(!names_address(key, &json!("true")), "{key}");
        }
        assert!(!names_address("example.com/from", &json!("192.0.2.0/24")));
    }
}
