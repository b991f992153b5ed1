{{/* Ports of the data plane, and Services in front of it. */}}

{{- define "sluice.portName" -}}
{{ .root.Values.portNamePrefix }}{{ .port }}-{{ .protocol }}
{{- end }}

{{/* Refuses ports that are taken. */}}
{{- define "sluice.checkPorts" -}}
{{- range $port, $service := .Values.tcp }}
{{- range $taken, $value := dict "dataPlane.containerPort.http" $.Values.dataPlane.containerPort.http "dataPlane.containerPort.https" $.Values.dataPlane.containerPort.https "the port of metrics and health" 10254 }}
{{- if eq (toString $port) (toString $value) }}
{{- fail (printf "tcp.%s: the data plane listens there already (%s)" $port $taken) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether a port of tcp or udp is one that only the privileged may have elsewhere. */}}
{{- define "sluice.hasLowPort" -}}
{{- range $port, $service := .Values.tcp }}{{ if lt (int $port) 1024 }}yes{{ end }}{{ end }}
{{- range $port, $service := .Values.udp }}{{ if lt (int $port) 1024 }}yes{{ end }}{{ end }}
{{- end }}

{{/* Of dict root, name, of (the values of this Service), type, ports, targetPorts, labels. */}}
{{- define "sluice.service" -}}
{{- $of := .of }}
{{- $type := .type }}
{{- if ne $type "LoadBalancer" }}
{{- if or $of.loadBalancerClass $of.loadBalancerSourceRanges $of.loadBalancerIP (not $of.allocateLoadBalancerNodePorts) }}
{{- fail (printf "%s: loadBalancerClass, loadBalancerSourceRanges, loadBalancerIP and allocateLoadBalancerNodePorts need the type LoadBalancer, got %s" .path $type) }}
{{- end }}
{{- end }}
{{- if and (eq $type "ClusterIP") (or $of.nodePorts.http $of.nodePorts.https $of.nodePorts.tcp $of.nodePorts.udp $of.healthCheckNodePort) }}
{{- fail (printf "%s: nodePorts and healthCheckNodePort need the type NodePort or LoadBalancer, got ClusterIP" .path) }}
{{- end }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: data-plane
    {{- range .labels }}
    {{- with . }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
  {{- with $of.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ $type }}
  {{- if ne $type "ClusterIP" }}
  externalTrafficPolicy: {{ $of.externalTrafficPolicy }}
  {{- with $of.healthCheckNodePort }}
  healthCheckNodePort: {{ . }}
  {{- end }}
  {{- end }}
  {{- if not $of.allocateLoadBalancerNodePorts }}
  allocateLoadBalancerNodePorts: false
  {{- end }}
  {{- range $field, $value := dict "clusterIP" $of.clusterIP "loadBalancerIP" $of.loadBalancerIP "loadBalancerClass" $of.loadBalancerClass "sessionAffinity" $of.sessionAffinity "trafficDistribution" $of.trafficDistribution "ipFamilyPolicy" $of.ipFamilyPolicy }}
  {{- with $value }}
  {{ $field }}: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- range $field, $values := dict "clusterIPs" $of.clusterIPs "externalIPs" $of.externalIPs "loadBalancerSourceRanges" $of.loadBalancerSourceRanges "ipFamilies" $of.ipFamilies }}
  {{- with $values }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  selector:
    {{- include "sluice.selector" .root | nindent 4 }}
    app.kubernetes.io/component: data-plane
  ports:
    {{- if .root.Values.dataPlane.service.enableHttp }}
    - { name: http, port: {{ .ports.http }}, targetPort: {{ .targetPorts.http }}{{ if $of.appProtocol }}, appProtocol: http{{ end }}{{ with $of.nodePorts.http }}, nodePort: {{ . }}{{ end }} }
    {{- end }}
    {{- if .root.Values.dataPlane.service.enableHttps }}
    - { name: https, port: {{ .ports.https }}, targetPort: {{ .targetPorts.https }}{{ if $of.appProtocol }}, appProtocol: https{{ end }}{{ with $of.nodePorts.https }}, nodePort: {{ . }}{{ end }} }
    {{- end }}
    {{- range $port, $service := .root.Values.tcp }}
    {{- $name := include "sluice.portName" (dict "root" $.root "port" $port "protocol" "tcp") }}
    - { name: {{ $name }}, protocol: TCP, port: {{ $port }}, targetPort: {{ $name }}{{ if hasKey $of.nodePorts.tcp $port }}, nodePort: {{ index $of.nodePorts.tcp $port }}{{ end }} }
    {{- end }}
    {{- range $port, $service := .root.Values.udp }}
    {{- $name := include "sluice.portName" (dict "root" $.root "port" $port "protocol" "udp") }}
    - { name: {{ $name }}, protocol: UDP, port: {{ $port }}, targetPort: {{ $name }}{{ if hasKey $of.nodePorts.udp $port }}, nodePort: {{ index $of.nodePorts.udp $port }}{{ end }} }
    {{- end }}
{{- end }}
