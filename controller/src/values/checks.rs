//! Values that have a meaning together: each may be right, and the chart or the API server refuses both.

use serde_json::Value;

use super::defaults::{KEDA, SCALED};
use super::{Conversion, text_of};

/// Our chart's own, where a file says nothing.
const PORTS: [(&str, u64); 2] = [("http", 8080), ("https", 8443)];
/// Of health and metrics.
const METRICS: u64 = 10254;
const SHUTDOWN: (&str, u64) = ("dataPlane.shutdownGracePeriod", 15);
const DRAIN: (&str, u64) = ("dataPlane.drainTimeout", 240);
const TERMINATION: (&str, u64) = ("dataPlane.terminationGracePeriodSeconds", 300);

/// Fields of a Service that need the type LoadBalancer; and those that need it or NodePort.
const OF_BALANCER: [&str; 5] = [
    "loadBalancerClass",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
];
const OF_NODES_AND_BALANCER: [&str; 6] = [
    "loadBalancerClass",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
    "nodePorts",
];

impl Conversion {
    pub(super) fn check_together(&mut self) {
        self.avoid_own_ports();
        self.check_host_network();
        self.check_scaling();
        self.drain_as_long();
        self.fit_shutdown();
        self.check_services();
    }

    /// Ports of TCP Services that the data plane has for itself: it moves.
    fn avoid_own_ports(&mut self) {
        for (name, own) in PORTS {
            let place = format!("dataPlane.containerPort.{name}");
            let port = self.number_at((&place, own));
            if !self.is_tcp(port) {
                continue;
            }
            let above = (port % 10_000 + 10_000..=65_535).step_by(10_000);
            let mut free = above.filter(|port| !self.is_tcp(*port) && !self.is_own(*port));
            let moved = free.next().unwrap_or(port);
            self.set(&place, "tcp", &moved.into());
            let note = format!("{port} is a port of tcp, so {name} listens on {moved} in its pod");
            self.look_at(&place, note);
        }
    }

    fn is_tcp(&self, port: u64) -> bool {
        let tcp = self.get("tcp").and_then(Value::as_object);
        tcp.is_some_and(|tcp| tcp.contains_key(&port.to_string()))
    }

    fn is_own(&self, port: u64) -> bool {
        let mut own = self.container_ports().into_iter().chain([METRICS]);
        own.any(|own| own == port)
    }

    fn container_ports(&self) -> [u64; 2] {
        PORTS.map(|(name, own)| self.number_at((&format!("dataPlane.containerPort.{name}"), own)))
    }

    /// The ports of a pod on the node's network are the node's.
    fn check_host_network(&mut self) {
        if !self.is_on("dataPlane.hostNetwork") {
            return;
        }
        let [http, https] = self.container_ports();
        let note = format!(
            "Envoy listens on dataPlane.containerPort of the node, {http} and {https}, and on {METRICS} (health, metrics); ingress-nginx has {METRICS}, its webhook's 8443 and its own ports on its nodes while both run; leave it out until the switch"
        );
        self.look_at("dataPlane.hostNetwork", note);
        if http < 1024 || https < 1024 {
            let note = "ports below 1024 of a node are the privileged's: add NET_BIND_SERVICE to dataPlane.containerSecurityContext, or use dataPlane.hostPort in place of hostNetwork";
            self.look_at("dataPlane.containerPort", note);
        }
        if self.is_on("dataPlane.hostPort.enabled") {
            self.remove("dataPlane.hostPort");
            // The API server refuses a hostPort that is not the containerPort.
            let note = "left out: with dataPlane.hostNetwork the pod's ports are the node's, which are dataPlane.containerPort";
            self.look_at("dataPlane.hostPort", note);
        }
        if self.get("dataPlane.sysctls").is_some() {
            self.remove("dataPlane.sysctls");
            let note = "left out: a pod on the node's network has that node's; set them there";
            self.look_at("dataPlane.sysctls", note);
        }
    }

    /// Their chart scales Deployments only, and with neither where both are on.
    fn check_scaling(&mut self) {
        let kind = self.get("dataPlane.kind");
        let is_daemon = kind.is_some_and(|kind| kind == "DaemonSet");
        let is_both = self.is_on(SCALED) && self.is_on(KEDA);
        let note = match (is_daemon, is_both) {
            (true, _) => "left out: a DaemonSet has a pod on each node, and is not scaled",
            (_, true) => {
                "left out: ingress-nginx's chart scales with neither where autoscaling and keda are both enabled; enable one"
            }
            _ => return,
        };
        for switch in [SCALED, KEDA] {
            if self.is_on(switch) {
                self.remove(switch);
                self.look_at(switch, note);
            }
        }
    }

    /// nginx has the drain timeout among its settings.
    fn drain_as_long(&mut self) {
        const SETTING: &str = "controller.config.worker-shutdown-timeout";
        if let Some(seconds) = self.text_at(SETTING).and_then(|text| seconds(&text)) {
            self.remove(SETTING);
            self.set(DRAIN.0, SETTING, &seconds.into());
        }
    }

    /// The chart refuses a pod that would be killed before it has drained. Whoever has said when it is killed gets a shorter
    /// drain, as there; others a later end.
    fn fit_shutdown(&mut self) {
        let [shutdown, drain, most] = [SHUTDOWN, DRAIN, TERMINATION].map(|own| self.number_at(own));
        let needed = shutdown.saturating_add(drain);
        if needed < most {
            return;
        }
        if self.get(TERMINATION.0).is_none() {
            // As far behind as by default.
            let later = needed.saturating_add(45);
            self.set(TERMINATION.0, SHUTDOWN.0, &later.into());
            let note = format!(
                "{later}: more than dataPlane.shutdownGracePeriod and drainTimeout together, {needed}"
            );
            self.look_at(TERMINATION.0, note);
            return;
        }
        let shutdown = shutdown.min(most / 2);
        let drain = most.saturating_sub(shutdown + 1);
        self.set(SHUTDOWN.0, TERMINATION.0, &shutdown.into());
        self.set(DRAIN.0, TERMINATION.0, &drain.into());
        let note = format!(
            "{drain}: with dataPlane.shutdownGracePeriod, {shutdown}, it ends before terminationGracePeriodSeconds, {most}"
        );
        self.look_at(DRAIN.0, note);
    }

    /// Their chart, or the API server, passes over fields that a Service of this type does not have; ours refuses them.
    fn check_services(&mut self) {
        let public = self
            .text_at("dataPlane.service.type")
            .unwrap_or("LoadBalancer".to_owned());
        let internal = self.text_at("dataPlane.service.internal.type");
        let internal = internal.unwrap_or_else(|| public.clone());
        for (service, kind) in [
            ("dataPlane.service", public),
            ("dataPlane.service.internal", internal),
        ] {
            let fields: &[&str] = match kind.as_str() {
                "LoadBalancer" => &[],
                "NodePort" => &OF_BALANCER,
                _ => &OF_NODES_AND_BALANCER,
            };
            for place in fields.iter().map(|field| format!("{service}.{field}")) {
                // True and 0 are what a Service without the field has.
                let is_given = |value: &Value| *value != true && *value != 0;
                if self.get(&place).is_some_and(is_given) {
                    self.remove(&place);
                    self.look_at(
                        &place,
                        format!("left out: a Service of type {kind} has none"),
                    );
                }
            }
        }
    }

    fn text_at(&self, place: &str) -> Option<String> {
        self.get(place).map(text_of)
    }

    fn number_at(&self, (place, own): (&str, u64)) -> u64 {
        self.get(place).and_then(Value::as_u64).unwrap_or(own)
    }
}

/// Of nginx's `240s`, `4m` or `240`.
fn seconds(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let each = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(each)
}
