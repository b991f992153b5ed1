{{/* Values that contradict each other: the API server would refuse what they make, or half of it would not work. Each message begins
with a value, and names the other one. */}}

{{/* Refuses the second of two that are alike. Of dict says, entries (lists of a value's name and what it is). */}}
{{- define "sluice.checkDistinct" -}}
{{- $says := .says }}
{{- $taken := dict }}
{{- range $entry := .entries }}
{{- $what := toString (index $entry 1) }}
{{- if hasKey $taken $what }}
{{- fail (printf "%s: %s (%s: %s)" (index $entry 0) $says (index $taken $what) $what) }}
{{- end }}
{{- $taken = set $taken $what (index $entry 0) }}
{{- end }}
{{- end }}

{{/* The same of ports, with those of tcp behind entries. */}}
{{- define "sluice.checkPorts" -}}
{{- $entries := .entries }}
{{- range $port, $service := .root.Values.tcp }}
{{- $entries = concat $entries (list (list (printf "tcp.%s" $port) $port)) }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" .says "entries" $entries) }}
{{- end }}

{{/* Refuses keys of a map that the chart has itself. Of dict path, map, own (by key, what to do). */}}
{{- define "sluice.checkKeys" -}}
{{- range $key, $value := .map }}
{{- if hasKey $.own $key }}
{{- fail (printf "%s.%s: the chart sets %s itself; %s" $.path $key $key (index $.own $key)) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sluice.checks" -}}
{{- include "sluice.checkNames" . }}
{{- include "sluice.checkMetadata" . }}
{{- include "sluice.checkController" . }}
{{- include "sluice.checkDataPlane" . }}
{{- include "sluice.checkNode" . }}
{{- include "sluice.checkNodePorts" . }}
{{- include "sluice.checkScaling" . }}
{{- include "sluice.checkPod" (dict "path" "controller" "of" .Values.controller
  "containers" (list "controller")
  "volumes" (list "xds" "admission" "tmp")
  "mounts" (list "/etc/sluice/xds" "/etc/sluice/admission" "/tmp")
  "envs" (list "POD_NAME" "POD_NAMESPACE" "SLUICE_ADMIN_SOCKET")) }}
{{- include "sluice.checkPod" (dict "path" "dataPlane" "of" .Values.dataPlane
  "containers" (list "envoy")
  "volumes" (list "xds" "run")
  "mounts" (list "/etc/sluice/xds" "/run/sluice")
  "envs" (list "POD_NAME" "POD_NAMESPACE" "SLUICE_ZONE")) }}
{{- include "sluice.checkPod" (dict "path" "defaultBackend" "of" .Values.defaultBackend
  "containers" (list "default-backend") "volumes" list "mounts" list "envs" list) }}
{{- end }}

{{- define "sluice.checkNames" -}}
{{- $name := include "sluice.name" . }}
{{- /* 63, less the longest that is put behind it. */}}
{{- if gt (len $name) 42 }}
{{- fail (printf "fullnameOverride: names of objects begin with at most 42 characters, got %s; set a shorter one" $name) }}
{{- end }}
{{- $class := .Values.controller.ingressClassResource }}
{{- $classes := list (list "controller.ingressClassResource.name" $class.name) }}
{{- range $alias := $class.aliases }}
{{- $classes = concat $classes (list (list "controller.ingressClassResource.aliases" $alias)) }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" "there is an IngressClass of this name already" "entries" $classes) }}
{{- $secrets := list (list "xds.controllerSecret" .Values.xds.controllerSecret) (list "xds.dataPlaneSecret" .Values.xds.dataPlaneSecret) }}
{{- if .Values.controller.admission.enabled }}
{{- $secrets = concat $secrets (list (list "controller.admission.secret" .Values.controller.admission.secret)) }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" "there is a Secret of this name already" "entries" $secrets) }}
{{- $accounts := list }}
{{- range $component := list "controller" "dataPlane" "defaultBackend" }}
{{- $account := (index $.Values $component).serviceAccount }}
{{- if and $account.create $account.name }}
{{- $accounts = concat $accounts (list (list (printf "%s.serviceAccount.name" $component) $account.name)) }}
{{- end }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" "there is a ServiceAccount of this name already" "entries" $accounts) }}
{{- end }}

{{- define "sluice.checkMetadata" -}}
{{- $reason := "its objects are found by it, so leave it out" }}
{{- $own := dict "app.kubernetes.io/name" $reason "app.kubernetes.io/instance" $reason "app.kubernetes.io/version" $reason "app.kubernetes.io/managed-by" $reason "app.kubernetes.io/component" $reason }}
{{- $labels := dict
  "commonLabels" .Values.commonLabels
  "controller.labels" .Values.controller.labels
  "controller.podLabels" .Values.controller.podLabels
  "dataPlane.labels" .Values.dataPlane.labels
  "dataPlane.podLabels" .Values.dataPlane.podLabels
  "dataPlane.service.labels" .Values.dataPlane.service.labels
  "dataPlane.service.external.labels" .Values.dataPlane.service.external.labels
  "dataPlane.service.internal.labels" .Values.dataPlane.service.internal.labels
  "defaultBackend.labels" .Values.defaultBackend.labels
  "defaultBackend.podLabels" .Values.defaultBackend.podLabels
  "metrics.serviceMonitor.labels" .Values.metrics.serviceMonitor.labels
  "metrics.prometheusRule.labels" .Values.metrics.prometheusRule.labels
  "metrics.dashboard.labels" .Values.metrics.dashboard.labels
}}
{{- range $path, $map := $labels }}
{{- include "sluice.checkKeys" (dict "path" $path "map" $map "own" $own) }}
{{- end }}
{{- $isDefault := dict "ingressclass.kubernetes.io/is-default-class" "set controller.ingressClassResource.default" }}
{{- include "sluice.checkKeys" (dict "path" "controller.ingressClassResource.annotations" "map" .Values.controller.ingressClassResource.annotations "own" $isDefault) }}
{{- $injected := dict "cert-manager.io/inject-ca-from" "set controller.admission.certificates" }}
{{- include "sluice.checkKeys" (dict "path" "controller.admission.annotations" "map" .Values.controller.admission.annotations "own" $injected) }}
{{- $headers := dict }}
{{- if .Values.controller.proxySetHeaders }}
{{- $headers = set $headers "proxy-set-headers" "it names the ConfigMap of controller.proxySetHeaders; set one of both" }}
{{- end }}
{{- if .Values.controller.addHeaders }}
{{- $headers = set $headers "add-headers" "it names the ConfigMap of controller.addHeaders; set one of both" }}
{{- end }}
{{- include "sluice.checkKeys" (dict "path" "controller.config" "map" .Values.controller.config "own" $headers) }}
{{- end }}

{{- define "sluice.checkController" -}}
{{- if and .Values.defaultBackend.enabled .Values.controller.defaultBackendService }}
{{- fail "controller.defaultBackendService: defaultBackend.enabled makes a Service of its own; set one of both" }}
{{- end }}
{{- $ports := list (list "the port of metrics and health" 10254) }}
{{- if .Values.controller.admission.enabled }}
{{- $ports = concat $ports (list (list "the port of controller.admission" 8443)) }}
{{- end }}
{{- $ports = concat $ports (list (list "xds.port" .Values.xds.port)) }}
{{- include "sluice.checkDistinct" (dict "says" "the controller listens there already" "entries" $ports) }}
{{- end }}

{{- define "sluice.checkDataPlane" -}}
{{- $of := .Values.dataPlane }}
{{- range $protocol := list "tcp" "udp" }}
{{- range $port, $service := index $.Values $protocol }}
{{- if or (ne (toString (int $port)) $port) (lt (int $port) 1) (gt (int $port) 65535) }}
{{- fail (printf "%s.%s: expected a port from 1 to 65535" $protocol $port) }}
{{- end }}
{{- end }}
{{- end }}
{{- $ports := list (list "the port of metrics and health" 10254) (list "dataPlane.containerPort.http" $of.containerPort.http) (list "dataPlane.containerPort.https" $of.containerPort.https) }}
{{- include "sluice.checkPorts" (dict "root" . "says" "the data plane listens there already" "entries" $ports) }}
{{- $needed := add (int $of.shutdownGracePeriod) (int $of.drainTimeout) }}
{{- if le (int $of.terminationGracePeriodSeconds) (int $needed) }}
{{- fail (printf "dataPlane.terminationGracePeriodSeconds: expected more than shutdownGracePeriod and drainTimeout together, %d, got %d" (int $needed) (int $of.terminationGracePeriodSeconds)) }}
{{- end }}
{{- end }}

{{/* Ports of the node, whose network is the pod's with hostNetwork. */}}
{{- define "sluice.checkNode" -}}
{{- $of := .Values.dataPlane }}
{{- if and $of.hostPort.enabled (not $of.hostNetwork) }}
{{- $ports := list (list "dataPlane.hostPort.ports.http" $of.hostPort.ports.http) (list "dataPlane.hostPort.ports.https" $of.hostPort.ports.https) }}
{{- include "sluice.checkPorts" (dict "root" . "says" "the data plane has this port of the node already" "entries" $ports) }}
{{- end }}
{{- if $of.hostNetwork }}
{{- if $of.sysctls }}
{{- fail "dataPlane.sysctls: a pod on the node's network has that node's; set them there" }}
{{- end }}
{{- range $name, $port := $of.containerPort }}
{{- if and $of.hostPort.enabled (ne (toString $port) (toString (index $of.hostPort.ports $name))) }}
{{- fail (printf "dataPlane.hostPort.ports.%s: with dataPlane.hostNetwork Envoy listens on dataPlane.containerPort.%s of the node, %v, got %v; set containerPort, or one of hostPort and hostNetwork" $name $name $port (index $of.hostPort.ports $name)) }}
{{- end }}
{{- end }}
{{- $capabilities := default dict (get $of.containerSecurityContext "capabilities") }}
{{- $added := default list (get $capabilities "add") }}
{{- if and (include "sluice.hasLowPort" .) (not (has "NET_BIND_SERVICE" $added)) }}
{{- fail "dataPlane.hostNetwork: a port of dataPlane.containerPort, tcp or udp is below 1024, and nodes give such ports to the privileged alone; set dataPlane.hostPort.enabled in place of hostNetwork, or add the capability NET_BIND_SERVICE to dataPlane.containerSecurityContext (docs/install.md#bare-metal)" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Ports of nodes that Services have, of both together. */}}
{{- define "sluice.checkNodePorts" -}}
{{- $service := .Values.dataPlane.service }}
{{- $services := dict }}
{{- if and $service.enabled $service.external.enabled }}
{{- $services = set $services "dataPlane.service" $service }}
{{- end }}
{{- if and $service.enabled $service.internal.enabled }}
{{- $services = set $services "dataPlane.service.internal" $service.internal }}
{{- end }}
{{- range $protocol := list "tcp" "udp" }}
{{- $ports := list }}
{{- range $path, $of := $services }}
{{- if eq $protocol "tcp" }}
{{- range $field, $port := dict "nodePorts.http" $of.nodePorts.http "nodePorts.https" $of.nodePorts.https "healthCheckNodePort" $of.healthCheckNodePort }}
{{- if $port }}
{{- $ports = concat $ports (list (list (printf "%s.%s" $path $field) $port)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $port, $nodePort := index $of.nodePorts $protocol }}
{{- if not (hasKey (index $.Values $protocol) $port) }}
{{- fail (printf "%s.nodePorts.%s.%s: there is no such port; set %s.%s" $path $protocol $port $protocol $port) }}
{{- end }}
{{- $ports = concat $ports (list (list (printf "%s.nodePorts.%s.%s" $path $protocol $port) $nodePort)) }}
{{- end }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" "a Service has this port of all nodes already" "entries" $ports) }}
{{- end }}
{{- end }}

{{/* Of what sluice.service takes. */}}
{{- define "sluice.checkService" -}}
{{- $of := .of }}
{{- $all := .root.Values.dataPlane.service }}
{{- if and (ne .type "LoadBalancer") (or $of.loadBalancerClass $of.loadBalancerSourceRanges $of.loadBalancerIP (not $of.allocateLoadBalancerNodePorts)) }}
{{- fail (printf "%s: loadBalancerClass, loadBalancerSourceRanges, loadBalancerIP and allocateLoadBalancerNodePorts need the type LoadBalancer, got %s" .path .type) }}
{{- end }}
{{- if and (eq .type "ClusterIP") (or $of.nodePorts.http $of.nodePorts.https $of.nodePorts.tcp $of.nodePorts.udp $of.healthCheckNodePort) }}
{{- fail (printf "%s: nodePorts and healthCheckNodePort need the type NodePort or LoadBalancer, got ClusterIP" .path) }}
{{- end }}
{{- if and $of.healthCheckNodePort (or (ne .type "LoadBalancer") (ne $of.externalTrafficPolicy "Local")) }}
{{- fail (printf "%s.healthCheckNodePort: it needs the type LoadBalancer and externalTrafficPolicy Local, got %s and %s" .path .type $of.externalTrafficPolicy) }}
{{- end }}
{{- if and (ne .type "ClusterIP") (or (eq $of.clusterIP "None") (has "None" $of.clusterIPs)) }}
{{- fail (printf "%s.clusterIP: None needs the type ClusterIP, got %s" .path .type) }}
{{- end }}
{{- if and $of.clusterIP $of.clusterIPs }}
{{- if ne $of.clusterIP (toString (index $of.clusterIPs 0)) }}
{{- fail (printf "%s.clusterIP: expected the first of clusterIPs, %s, got %s; set one of both" .path (toString (index $of.clusterIPs 0)) $of.clusterIP) }}
{{- end }}
{{- end }}
{{- if not (or $all.enableHttp $all.enableHttps .root.Values.tcp .root.Values.udp) }}
{{- fail (printf "%s: a Service needs a port; set dataPlane.service.enableHttp, enableHttps, tcp or udp, or dataPlane.service.enabled=false" .path) }}
{{- end }}
{{- $ports := list }}
{{- if $all.enableHttp }}
{{- $ports = concat $ports (list (list (printf "%s.ports.http" .path) .ports.http)) }}
{{- end }}
{{- if $all.enableHttps }}
{{- $ports = concat $ports (list (list (printf "%s.ports.https" .path) .ports.https)) }}
{{- end }}
{{- include "sluice.checkPorts" (dict "root" .root "says" (printf "the Service %s has this port already" .name) "entries" $ports) }}
{{- end }}

{{- define "sluice.checkScaling" -}}
{{- $of := .Values.dataPlane }}
{{- if and $of.autoscaling.enabled $of.keda.enabled }}
{{- fail "dataPlane.autoscaling.enabled: dataPlane.keda.enabled scales the same pods; set one of both" }}
{{- end }}
{{- if and $of.keda.enabled (not $of.keda.triggers) }}
{{- fail "dataPlane.keda.triggers: expected at least one, got none" }}
{{- end }}
{{- range $path, $scaling := dict "dataPlane.autoscaling" $of.autoscaling "dataPlane.keda" $of.keda "defaultBackend.autoscaling" .Values.defaultBackend.autoscaling }}
{{- if $scaling.enabled }}
{{- if and (hasPrefix "dataPlane" $path) (eq $of.kind "DaemonSet") }}
{{- fail (printf "%s.enabled: a DaemonSet has one pod on every node; set dataPlane.kind to Deployment, or this to false" $path) }}
{{- end }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
{{- fail (printf "%s.minReplicas: expected at most maxReplicas, %d, got %d" $path (int $scaling.maxReplicas) (int $scaling.minReplicas)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What is added to a pod beside the chart's own. Of dict path, of, and the chart's own containers, volumes, mounts, envs. */}}
{{- define "sluice.checkPod" -}}
{{- $budget := .of.podDisruptionBudget }}
{{- if and $budget.enabled (eq (toString $budget.minAvailable) "") (eq (toString $budget.maxUnavailable) "") }}
{{- fail (printf "%s.podDisruptionBudget: expected minAvailable or maxUnavailable, got neither; set one of both, or enabled=false" .path) }}
{{- end }}
{{- range $added := list
  (list "extraContainers" "name" .containers (concat .of.extraInitContainers .of.extraContainers))
  (list "extraVolumes" "name" .volumes .of.extraVolumes)
  (list "extraVolumeMounts" "mountPath" .mounts .of.extraVolumeMounts)
  (list "extraEnvs" "name" .envs .of.extraEnvs)
}}
{{- $entries := list }}
{{- range $own := index $added 2 }}
{{- $entries = concat $entries (list (list "the chart's own" $own)) }}
{{- end }}
{{- range $item := index $added 3 }}
{{- $entries = concat $entries (list (list (printf "%s.%s" $.path (index $added 0)) (get $item (index $added 1)))) }}
{{- end }}
{{- include "sluice.checkDistinct" (dict "says" (printf "the pod has one of this %s already" (index $added 1)) "entries" $entries) }}
{{- end }}
{{- end }}
