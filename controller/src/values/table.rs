//! Values of ingress-nginx's chart (4.15), and their counterparts. Its controller is our controller and our data plane.

/// Counterpart of a value.
#[derive(Debug)]
pub(super) enum Rule {
    /// It is this value.
    Copy(&'static [&'static str]),
    /// It is this value, unless it is ingress-nginx's default, which means something else here.
    Changed(&'static [&'static str]),
    /// It is this value, and somebody has to look at it.
    LookAt(&'static [&'static str], &'static str),
    /// It is this value, a number.
    Number(&'static str),
    /// It is this value, a text.
    Text(&'static str),
    /// It is this value, true or false.
    Switch(&'static str),
    /// If it is true, this value is that text.
    Choice(&'static str, &'static str),
    /// It is the one namespace that is served.
    Namespace,
    /// It holds flags.
    Flags,
    /// It is a part of the name of the default backend's image.
    ImageName,
    /// It has no counterpart, for this reason.
    None(&'static str),
    /// It is on here; off has no counterpart, for this reason.
    On(&'static str),
}

use Rule::{Changed, Choice, Copy, Flags, ImageName, LookAt, None, Number, On, Text};

const SELECTORS: &str = "its label selectors may name ingress-nginx's pods; Sluice's have app.kubernetes.io/name: sluice";
const IMAGE: &str =
    "images of Sluice are yours to build and to name: controller.image and dataPlane.image";
const PROBES: &str = "probes are Sluice's own: controller.* and dataPlane.livenessProbe, readinessProbe, startupProbe";
const SECURITY: &str = "pods of Sluice need no privilege, as the profile `restricted` wants it: *.podSecurityContext and *.containerSecurityContext";
const RESOURCES: &str =
    "it fits nginx; controller.resources and dataPlane.resources fit Sluice's measured use";
const NAMES: &str = "names of objects are fixed";
const OWN_SERVICE: &str = "the controller's Service is of type ClusterIP and has this port";
const JOBS: &str = "Jobs that make certificates are Sluice's own (certgen.*)";
const MAXMIND: &str = "GeoIP is not served";
const MAP_NAMESPACE: &str = "ConfigMaps are in the chart's namespace";
const MODULES: &str = "there are no modules to load";
const NOT_LIMITED: &str = "not in Sluice's chart; set it in your Prometheus";

/// By path; a path covers all that is below it.
#[rustfmt::skip]
const TABLE: &[(&str, Rule)] = &[
    ("global.image", None(IMAGE)),
    ("nameOverride", Copy(&["nameOverride"])),
    ("fullnameOverride", Copy(&["fullnameOverride"])),
    ("namespaceOverride", Copy(&["namespaceOverride"])),
    ("commonLabels", Copy(&["commonLabels"])),
    ("imagePullSecrets", Copy(&["imagePullSecrets"])),
    ("revisionHistoryLimit", Copy(&["revisionHistoryLimit"])),
    ("rbac.create", Copy(&["rbac.create"])),
    ("rbac.scope", None("controller.scope.enabled makes Roles of ClusterRoles")),
    ("serviceAccount.create", Copy(&["controller.serviceAccount.create"])),
    ("serviceAccount.name", Copy(&["controller.serviceAccount.name"])),
    ("serviceAccount.annotations", Copy(&["controller.serviceAccount.annotations"])),
    ("serviceAccount.automountServiceAccountToken", None("the controller's pods ask for the token, and nobody else")),
    ("tcp", Copy(&["tcp"])),
    ("udp", Copy(&["udp"])),
    ("portNamePrefix", LookAt(&["portNamePrefix"], "at most 5 characters, with the dash that ingress-nginx adds")),
    ("dhParam", None("see ssl-dh-param in docs/configmap.md")),

    ("controller.name", None(NAMES)),
    ("controller.containerName", None(NAMES)),
    ("controller.image", None(IMAGE)),
    ("controller.enableAnnotationValidations", None("annotations are always validated")),
    ("controller.containerPort", None("Envoy listens above 1024 in its pod: dataPlane.containerPort")),
    ("controller.config", Copy(&["controller.config"])),
    ("controller.configAnnotations", Copy(&["controller.configAnnotations"])),
    ("controller.configMapNamespace", None(MAP_NAMESPACE)),
    ("controller.proxySetHeaders", Copy(&["controller.proxySetHeaders"])),
    ("controller.addHeaders", Copy(&["controller.addHeaders"])),
    ("controller.dnsConfig", Copy(&["controller.dnsConfig", "dataPlane.dnsConfig"])),
    ("controller.hostAliases", Copy(&["controller.hostAliases", "dataPlane.hostAliases"])),
    ("controller.hostname", None("pods have the names that Kubernetes gives them")),
    // With hostNetwork, ClusterFirst is the node's DNS, which knows no Service: Envoy asks for the controller's.
    ("controller.dnsPolicy", Changed(&["dataPlane.dnsPolicy"])),
    ("controller.runtimeClassName", Copy(&["controller.runtimeClassName", "dataPlane.runtimeClassName"])),
    ("controller.reportNodeInternalIp", Text("controller.extraArgs.report-node-internal-ip-address")),
    ("controller.watchIngressWithoutClass", Copy(&["controller.watchIngressWithoutClass"])),
    ("controller.ingressClassByName", Copy(&["controller.ingressClassByName"])),
    ("controller.enableTopologyAwareRouting", Text("controller.extraArgs.enable-topology-aware-routing")),
    ("controller.disableLeaderElection", Text("controller.extraArgs.disable-leader-election")),
    ("controller.electionTTL", Text("controller.extraArgs.election-ttl")),
    ("controller.electionID", None("the Lease is called after the release")),
    ("controller.allowSnippetAnnotations", Text("controller.config.allow-snippet-annotations")),
    ("controller.hostNetwork", Copy(&["dataPlane.hostNetwork"])),
    ("controller.hostPort.enabled", Copy(&["dataPlane.hostPort.enabled"])),
    ("controller.hostPort.ports.http", Number("dataPlane.hostPort.ports.http")),
    ("controller.hostPort.ports.https", Number("dataPlane.hostPort.ports.https")),
    ("controller.networkPolicy.enabled", Copy(&["networkPolicy.enabled"])),
    ("controller.ingressClassResource.name", Copy(&["controller.ingressClassResource.name"])),
    ("controller.ingressClassResource.enabled", Copy(&["controller.ingressClassResource.enabled"])),
    ("controller.ingressClassResource.default", Copy(&["controller.ingressClassResource.default"])),
    ("controller.ingressClassResource.annotations", Copy(&["controller.ingressClassResource.annotations"])),
    ("controller.ingressClassResource.controllerValue", Copy(&["controller.ingressClassResource.controllerValue"])),
    ("controller.ingressClassResource.aliases", Copy(&["controller.ingressClassResource.aliases"])),
    ("controller.ingressClassResource.parameters", Copy(&["controller.ingressClassResource.parameters"])),
    ("controller.ingressClass", Copy(&["controller.ingressClass"])),
    ("controller.podLabels", Copy(&["controller.podLabels", "dataPlane.podLabels"])),
    ("controller.podSecurityContext", None(SECURITY)),
    ("controller.containerSecurityContext", None(SECURITY)),
    ("controller.sysctls", Copy(&["dataPlane.sysctls"])),
    ("controller.publishService.enabled", On("nodes' addresses are published with dataPlane.hostPort.enabled, dataPlane.hostNetwork or without a Service")),
    ("controller.publishService.pathOverride", Text("controller.extraArgs.publish-service")),
    ("controller.scope.enabled", Copy(&["controller.scope.enabled"])),
    ("controller.scope.namespace", Copy(&["controller.scope.namespace"])),
    ("controller.scope.namespaceSelector", Copy(&["controller.scope.namespaceSelector"])),
    ("controller.tcp", None(MAP_NAMESPACE)),
    ("controller.udp", None(MAP_NAMESPACE)),
    ("controller.maxmindLicenseKey", None(MAXMIND)),
    ("controller.extraArgs", Flags),
    ("controller.extraEnvs", Copy(&["dataPlane.extraEnvs"])),
    ("controller.kind", Copy(&["dataPlane.kind"])),
    ("controller.annotations", Copy(&["controller.annotations", "dataPlane.annotations"])),
    ("controller.labels", Copy(&["controller.labels", "dataPlane.labels"])),
    ("controller.updateStrategy", Copy(&["dataPlane.updateStrategy"])),
    ("controller.progressDeadlineSeconds", Number("dataPlane.progressDeadlineSeconds")),
    ("controller.minReadySeconds", Number("dataPlane.minReadySeconds")),
    ("controller.tolerations", Copy(&["controller.tolerations", "dataPlane.tolerations"])),
    ("controller.affinity", LookAt(&["dataPlane.affinity"], SELECTORS)),
    ("controller.topologySpreadConstraints", LookAt(&["dataPlane.topologySpreadConstraints"], SELECTORS)),
    ("controller.terminationGracePeriodSeconds", Changed(&["dataPlane.terminationGracePeriodSeconds"])),
    ("controller.nodeSelector", Copy(&["controller.nodeSelector", "dataPlane.nodeSelector"])),
    ("controller.startupProbe", None(PROBES)),
    ("controller.livenessProbe", None(PROBES)),
    ("controller.readinessProbe", None(PROBES)),
    ("controller.healthCheckPath", None(PROBES)),
    ("controller.healthCheckHost", None(PROBES)),
    ("controller.podAnnotations", Copy(&["controller.podAnnotations", "dataPlane.podAnnotations"])),
    ("controller.replicaCount", Number("dataPlane.replicaCount")),
    // Their chart has a budget from two replicas on; of one, it would keep its node from being drained.
    ("controller.minAvailable", Changed(&["dataPlane.podDisruptionBudget.minAvailable"])),
    ("controller.maxUnavailable", Copy(&["dataPlane.podDisruptionBudget.maxUnavailable"])),
    ("controller.unhealthyPodEvictionPolicy", Copy(&["dataPlane.podDisruptionBudget.unhealthyPodEvictionPolicy"])),
    ("controller.resources", None(RESOURCES)),
    ("controller.resizePolicy", None(RESOURCES)),
    ("controller.autoscaling.enabled", Copy(&["dataPlane.autoscaling.enabled"])),
    ("controller.autoscaling.annotations", Copy(&["dataPlane.autoscaling.annotations"])),
    ("controller.autoscaling.minReplicas", Number("dataPlane.autoscaling.minReplicas")),
    ("controller.autoscaling.maxReplicas", Number("dataPlane.autoscaling.maxReplicas")),
    ("controller.autoscaling.targetCPUUtilizationPercentage", Number("dataPlane.autoscaling.targetCPUUtilizationPercentage")),
    ("controller.autoscaling.targetMemoryUtilizationPercentage", Number("dataPlane.autoscaling.targetMemoryUtilizationPercentage")),
    ("controller.autoscaling.behavior", Copy(&["dataPlane.autoscaling.behavior"])),
    ("controller.autoscalingTemplate", Copy(&["dataPlane.autoscaling.metrics"])),
    ("controller.keda.apiVersion", None("it is keda.sh/v1alpha1")),
    ("controller.keda.enabled", Copy(&["dataPlane.keda.enabled"])),
    ("controller.keda.minReplicas", Number("dataPlane.keda.minReplicas")),
    ("controller.keda.maxReplicas", Number("dataPlane.keda.maxReplicas")),
    ("controller.keda.pollingInterval", Number("dataPlane.keda.pollingInterval")),
    ("controller.keda.cooldownPeriod", Number("dataPlane.keda.cooldownPeriod")),
    ("controller.keda.fallback", Copy(&["dataPlane.keda.fallback"])),
    ("controller.keda.restoreToOriginalReplicaCount", Copy(&["dataPlane.keda.restoreToOriginalReplicaCount"])),
    ("controller.keda.scaledObject.annotations", Copy(&["dataPlane.keda.annotations"])),
    ("controller.keda.triggers", Copy(&["dataPlane.keda.triggers"])),
    ("controller.keda.behavior", Copy(&["dataPlane.keda.behavior"])),
    ("controller.enableMimalloc", None("Envoy has an allocator of its own")),
    ("controller.customTemplate", None("Envoy has no template")),
    ("controller.shareProcessNamespace", None("Envoy's logs need no signal")),
    ("controller.extraContainers", Copy(&["dataPlane.extraContainers"])),
    ("controller.extraVolumeMounts", Copy(&["dataPlane.extraVolumeMounts"])),
    ("controller.extraVolumes", Copy(&["dataPlane.extraVolumes"])),
    ("controller.extraInitContainers", Copy(&["dataPlane.extraInitContainers"])),
    ("controller.extraModules", None(MODULES)),
    ("controller.opentelemetry", None("no module is needed: docs/metrics.md, Traces")),
    ("controller.lifecycle", None("draining needs no hook: dataPlane.shutdownGracePeriod and drainTimeout")),
    ("controller.priorityClassName", Copy(&["controller.priorityClassName", "dataPlane.priorityClassName"])),

    ("controller.service.enabled", Copy(&["dataPlane.service.enabled"])),
    ("controller.service.external.enabled", Copy(&["dataPlane.service.external.enabled"])),
    ("controller.service.external.labels", Copy(&["dataPlane.service.external.labels"])),
    ("controller.service.annotations", Copy(&["dataPlane.service.annotations"])),
    ("controller.service.labels", Copy(&["dataPlane.service.labels"])),
    ("controller.service.type", Copy(&["dataPlane.service.type"])),
    ("controller.service.clusterIP", Copy(&["dataPlane.service.clusterIP"])),
    ("controller.service.clusterIPs", Copy(&["dataPlane.service.clusterIPs"])),
    ("controller.service.externalIPs", Copy(&["dataPlane.service.externalIPs"])),
    ("controller.service.loadBalancerIP", Copy(&["dataPlane.service.loadBalancerIP"])),
    ("controller.service.loadBalancerSourceRanges", Copy(&["dataPlane.service.loadBalancerSourceRanges"])),
    ("controller.service.loadBalancerClass", Copy(&["dataPlane.service.loadBalancerClass"])),
    ("controller.service.allocateLoadBalancerNodePorts", Copy(&["dataPlane.service.allocateLoadBalancerNodePorts"])),
    ("controller.service.externalTrafficPolicy", Copy(&["dataPlane.service.externalTrafficPolicy"])),
    ("controller.service.sessionAffinity", Copy(&["dataPlane.service.sessionAffinity"])),
    ("controller.service.healthCheckNodePort", Number("dataPlane.service.healthCheckNodePort")),
    ("controller.service.trafficDistribution", Copy(&["dataPlane.service.trafficDistribution"])),
    ("controller.service.ipFamilyPolicy", Copy(&["dataPlane.service.ipFamilyPolicy"])),
    ("controller.service.ipFamilies", Copy(&["dataPlane.service.ipFamilies"])),
    ("controller.service.enableHttp", Copy(&["dataPlane.service.enableHttp"])),
    ("controller.service.enableHttps", Copy(&["dataPlane.service.enableHttps"])),
    ("controller.service.ports.http", Number("dataPlane.service.ports.http")),
    ("controller.service.ports.https", Number("dataPlane.service.ports.https")),
    ("controller.service.targetPorts.http", Copy(&["dataPlane.service.targetPorts.http"])),
    ("controller.service.targetPorts.https", Copy(&["dataPlane.service.targetPorts.https"])),
    ("controller.service.appProtocol", Copy(&["dataPlane.service.appProtocol"])),
    ("controller.service.nodePorts.http", Number("dataPlane.service.nodePorts.http")),
    ("controller.service.nodePorts.https", Number("dataPlane.service.nodePorts.https")),
    ("controller.service.nodePorts.tcp", Number("dataPlane.service.nodePorts.tcp")),
    ("controller.service.nodePorts.udp", Number("dataPlane.service.nodePorts.udp")),
    ("controller.service.internal.enabled", Copy(&["dataPlane.service.internal.enabled"])),
    ("controller.service.internal.labels", Copy(&["dataPlane.service.internal.labels"])),
    ("controller.service.internal.annotations", Copy(&["dataPlane.service.internal.annotations"])),
    ("controller.service.internal.type", Copy(&["dataPlane.service.internal.type"])),
    ("controller.service.internal.clusterIP", Copy(&["dataPlane.service.internal.clusterIP"])),
    ("controller.service.internal.clusterIPs", Copy(&["dataPlane.service.internal.clusterIPs"])),
    ("controller.service.internal.externalIPs", Copy(&["dataPlane.service.internal.externalIPs"])),
    ("controller.service.internal.loadBalancerIP", Copy(&["dataPlane.service.internal.loadBalancerIP"])),
    ("controller.service.internal.loadBalancerSourceRanges", Copy(&["dataPlane.service.internal.loadBalancerSourceRanges"])),
    ("controller.service.internal.loadBalancerClass", Copy(&["dataPlane.service.internal.loadBalancerClass"])),
    ("controller.service.internal.allocateLoadBalancerNodePorts", Copy(&["dataPlane.service.internal.allocateLoadBalancerNodePorts"])),
    ("controller.service.internal.externalTrafficPolicy", Copy(&["dataPlane.service.internal.externalTrafficPolicy"])),
    ("controller.service.internal.sessionAffinity", Copy(&["dataPlane.service.internal.sessionAffinity"])),
    ("controller.service.internal.healthCheckNodePort", Number("dataPlane.service.internal.healthCheckNodePort")),
    ("controller.service.internal.trafficDistribution", Copy(&["dataPlane.service.internal.trafficDistribution"])),
    ("controller.service.internal.ipFamilyPolicy", Copy(&["dataPlane.service.internal.ipFamilyPolicy"])),
    ("controller.service.internal.ipFamilies", Copy(&["dataPlane.service.internal.ipFamilies"])),
    ("controller.service.internal.ports.http", Number("dataPlane.service.internal.ports.http")),
    ("controller.service.internal.ports.https", Number("dataPlane.service.internal.ports.https")),
    ("controller.service.internal.targetPorts.http", Copy(&["dataPlane.service.internal.targetPorts.http"])),
    ("controller.service.internal.targetPorts.https", Copy(&["dataPlane.service.internal.targetPorts.https"])),
    ("controller.service.internal.appProtocol", Copy(&["dataPlane.service.internal.appProtocol"])),
    ("controller.service.internal.nodePorts.http", Number("dataPlane.service.internal.nodePorts.http")),
    ("controller.service.internal.nodePorts.https", Number("dataPlane.service.internal.nodePorts.https")),
    ("controller.service.internal.nodePorts.tcp", Number("dataPlane.service.internal.nodePorts.tcp")),
    ("controller.service.internal.nodePorts.udp", Number("dataPlane.service.internal.nodePorts.udp")),

    ("controller.admissionWebhooks.enabled", Copy(&["controller.admission.enabled"])),
    ("controller.admissionWebhooks.name", None(NAMES)),
    ("controller.admissionWebhooks.annotations", Copy(&["controller.admission.annotations"])),
    ("controller.admissionWebhooks.labels", None("commonLabels are on all objects")),
    ("controller.admissionWebhooks.extraEnvs", None(JOBS)),
    ("controller.admissionWebhooks.failurePolicy", Copy(&["controller.admission.failurePolicy"])),
    ("controller.admissionWebhooks.timeoutSeconds", Number("controller.admission.timeoutSeconds")),
    ("controller.admissionWebhooks.port", None("the webhook's port in the pod is 8443")),
    ("controller.admissionWebhooks.certificate", None("it is in the Secret of controller.admission.secret")),
    ("controller.admissionWebhooks.key", None("it is in the Secret of controller.admission.secret")),
    ("controller.admissionWebhooks.namespaceSelector", Copy(&["controller.admission.namespaceSelector"])),
    ("controller.admissionWebhooks.objectSelector", Copy(&["controller.admission.objectSelector"])),
    ("controller.admissionWebhooks.service", None(OWN_SERVICE)),
    ("controller.admissionWebhooks.createSecretJob.resources", Copy(&["certgen.resources"])),
    ("controller.admissionWebhooks.createSecretJob", None(JOBS)),
    ("controller.admissionWebhooks.patchWebhookJob", None(JOBS)),
    ("controller.admissionWebhooks.patch.priorityClassName", Copy(&["certgen.priorityClassName"])),
    ("controller.admissionWebhooks.patch.podAnnotations", Copy(&["certgen.podAnnotations"])),
    ("controller.admissionWebhooks.patch.nodeSelector", Copy(&["certgen.nodeSelector"])),
    ("controller.admissionWebhooks.patch.tolerations", Copy(&["certgen.tolerations"])),
    ("controller.admissionWebhooks.patch", None(JOBS)),
    ("controller.admissionWebhooks.certManager.enabled", Choice("controller.admission.certificates", "cert-manager")),
    ("controller.admissionWebhooks.certManager", None("cert-manager's defaults hold")),

    ("controller.metrics.port", None("the port of health and metrics is 10254")),
    ("controller.metrics.portName", None(NAMES)),
    ("controller.metrics.enabled", Copy(&["metrics.enabled"])),
    ("controller.metrics.service", None(OWN_SERVICE)),
    ("controller.metrics.serviceMonitor.enabled", Copy(&["metrics.serviceMonitor.enabled"])),
    ("controller.metrics.serviceMonitor.additionalLabels", Copy(&["metrics.serviceMonitor.labels"])),
    ("controller.metrics.serviceMonitor.annotations", Copy(&["metrics.serviceMonitor.annotations"])),
    ("controller.metrics.serviceMonitor.namespace", Copy(&["metrics.serviceMonitor.namespace"])),
    ("controller.metrics.serviceMonitor.namespaceSelector", None("monitors select the chart's own namespace")),
    ("controller.metrics.serviceMonitor.scrapeInterval", Copy(&["metrics.serviceMonitor.interval"])),
    ("controller.metrics.serviceMonitor.scrapeTimeout", Copy(&["metrics.serviceMonitor.scrapeTimeout"])),
    ("controller.metrics.serviceMonitor.relabelings", Copy(&["metrics.serviceMonitor.relabelings"])),
    ("controller.metrics.serviceMonitor.metricRelabelings", Copy(&["metrics.serviceMonitor.metricRelabelings"])),
    ("controller.metrics.serviceMonitor.jobLabel", None("alerts select the job by its name")),
    ("controller.metrics.serviceMonitor.honorLabels", None("metrics' own namespace is exported_namespace")),
    ("controller.metrics.serviceMonitor.targetLabels", None(NOT_LIMITED)),
    ("controller.metrics.serviceMonitor.labelLimit", None(NOT_LIMITED)),
    ("controller.metrics.serviceMonitor.labelNameLengthLimit", None(NOT_LIMITED)),
    ("controller.metrics.serviceMonitor.labelValueLengthLimit", None(NOT_LIMITED)),
    ("controller.metrics.serviceMonitor.sampleLimit", None(NOT_LIMITED)),
    ("controller.metrics.serviceMonitor.targetLimit", None(NOT_LIMITED)),
    ("controller.metrics.prometheusRule.enabled", Copy(&["metrics.prometheusRule.enabled"])),
    ("controller.metrics.prometheusRule.additionalLabels", Copy(&["metrics.prometheusRule.labels"])),
    ("controller.metrics.prometheusRule.annotations", Copy(&["metrics.prometheusRule.annotations"])),
    ("controller.metrics.prometheusRule.namespace", Copy(&["metrics.prometheusRule.namespace"])),
    ("controller.metrics.prometheusRule.rules", LookAt(&["metrics.prometheusRule.rules"], "metrics have their names; Sluice's alerts come with them unless metrics.prometheusRule.alerts is false")),

    ("defaultBackend.enabled", Copy(&["defaultBackend.enabled"])),
    ("defaultBackend.name", None(NAMES)),
    ("defaultBackend.image.repository", ImageName),
    ("defaultBackend.image.tag", Text("defaultBackend.image.tag")),
    ("defaultBackend.image.digest", Copy(&["defaultBackend.image.digest"])),
    ("defaultBackend.image.pullPolicy", Copy(&["defaultBackend.image.pullPolicy"])),
    ("defaultBackend.image.registry", ImageName),
    ("defaultBackend.image.image", ImageName),
    ("defaultBackend.image", None("see defaultBackend.podSecurityContext and containerSecurityContext")),
    ("defaultBackend.extraArgs", Copy(&["defaultBackend.extraArgs"])),
    ("defaultBackend.serviceAccount.create", Copy(&["defaultBackend.serviceAccount.create"])),
    ("defaultBackend.serviceAccount.name", Copy(&["defaultBackend.serviceAccount.name"])),
    ("defaultBackend.serviceAccount.automountServiceAccountToken", None("its pods have no token")),
    ("defaultBackend.extraEnvs", Copy(&["defaultBackend.extraEnvs"])),
    ("defaultBackend.port", Number("defaultBackend.port")),
    ("defaultBackend.livenessProbe", Copy(&["defaultBackend.livenessProbe"])),
    ("defaultBackend.readinessProbe", Copy(&["defaultBackend.readinessProbe"])),
    ("defaultBackend.updateStrategy", Copy(&["defaultBackend.updateStrategy"])),
    ("defaultBackend.minReadySeconds", Number("defaultBackend.minReadySeconds")),
    ("defaultBackend.tolerations", Copy(&["defaultBackend.tolerations"])),
    ("defaultBackend.affinity", LookAt(&["defaultBackend.affinity"], SELECTORS)),
    ("defaultBackend.topologySpreadConstraints", LookAt(&["defaultBackend.topologySpreadConstraints"], SELECTORS)),
    ("defaultBackend.podSecurityContext", Copy(&["defaultBackend.podSecurityContext"])),
    ("defaultBackend.containerSecurityContext", Copy(&["defaultBackend.containerSecurityContext"])),
    ("defaultBackend.podLabels", Copy(&["defaultBackend.podLabels"])),
    ("defaultBackend.nodeSelector", Copy(&["defaultBackend.nodeSelector"])),
    ("defaultBackend.podAnnotations", Copy(&["defaultBackend.podAnnotations"])),
    ("defaultBackend.replicaCount", Number("defaultBackend.replicaCount")),
    ("defaultBackend.minAvailable", Changed(&["defaultBackend.podDisruptionBudget.minAvailable"])),
    ("defaultBackend.maxUnavailable", Copy(&["defaultBackend.podDisruptionBudget.maxUnavailable"])),
    ("defaultBackend.unhealthyPodEvictionPolicy", Copy(&["defaultBackend.podDisruptionBudget.unhealthyPodEvictionPolicy"])),
    ("defaultBackend.resources", Copy(&["defaultBackend.resources"])),
    ("defaultBackend.extraVolumeMounts", Copy(&["defaultBackend.extraVolumeMounts"])),
    ("defaultBackend.extraVolumes", Copy(&["defaultBackend.extraVolumes"])),
    ("defaultBackend.extraConfigMaps", None("apply them beside the chart, and mount them with defaultBackend.extraVolumes")),
    ("defaultBackend.autoscaling.annotations", Copy(&["defaultBackend.autoscaling.annotations"])),
    ("defaultBackend.autoscaling.enabled", Copy(&["defaultBackend.autoscaling.enabled"])),
    ("defaultBackend.autoscaling.minReplicas", Number("defaultBackend.autoscaling.minReplicas")),
    ("defaultBackend.autoscaling.maxReplicas", Number("defaultBackend.autoscaling.maxReplicas")),
    ("defaultBackend.autoscaling.targetCPUUtilizationPercentage", Number("defaultBackend.autoscaling.targetCPUUtilizationPercentage")),
    ("defaultBackend.autoscaling.targetMemoryUtilizationPercentage", Number("defaultBackend.autoscaling.targetMemoryUtilizationPercentage")),
    ("defaultBackend.networkPolicy", None("networkPolicy.enabled is for all")),
    ("defaultBackend.service.annotations", Copy(&["defaultBackend.serviceAnnotations"])),
    ("defaultBackend.service.servicePort", Number("defaultBackend.servicePort")),
    ("defaultBackend.service", None("its Service is of type ClusterIP")),
    ("defaultBackend.priorityClassName", Copy(&["defaultBackend.priorityClassName"])),
    ("defaultBackend.runtimeClassName", Copy(&["defaultBackend.runtimeClassName"])),
    ("defaultBackend.labels", Copy(&["defaultBackend.labels"])),
];

/// The rule for a value: its own. Values below one that has a rule are not looked up, unless they have rules, too.
pub(super) fn rule(path: &str) -> Option<&'static Rule> {
    let own = find(path);
    if own.is_some() && is_above(path) {
        // Some of what is below has rules of its own, and the rest has this one.
        return Option::None;
    }
    own.or_else(|| {
        let above = path.rmatch_indices('.').map(|(end, _)| &path[..end]);
        above.filter(|above| is_above(above)).find_map(find)
    })
}

fn find(path: &str) -> Option<&'static Rule> {
    let row = TABLE.iter().find(|(theirs, _)| *theirs == path);
    row.map(|(_, rule)| rule)
}

/// Returns `true` if values below this path have rules of their own.
pub(super) fn is_above(path: &str) -> bool {
    TABLE.iter().any(|(theirs, _)| {
        theirs
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

#[cfg(test)]
pub(super) fn rows() -> impl Iterator<Item = &'static (&'static str, Rule)> {
    TABLE.iter()
}
