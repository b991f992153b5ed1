{{/* Ports of the data plane, and Services in front of it. */}}

{{- define "sluice.portName" -}}
{{ .root.Values.portNamePrefix }}{{ .port }}-{{ .protocol }}
{{- end }}

{{/* Whether the data plane has a port that only the privileged may have elsewhere. */}}
{{- define "sluice.hasLowPort" -}}
{{- range $name, $port := .Values.dataPlane.containerPort }}{{ if lt (int $port) 1024 }}yes{{ end }}{{ end }}
{{- range $port, $service := .Values.tcp }}{{ if lt (int $port) 1024 }}yes{{ end }}{{ end }}
{{- range $port, $service := .Values.udp }}{{ if lt (int $port) 1024 }}yes{{ end }}{{ end }}
{{- end }}

{{/* Of dict root, name, path and of (the values of this Service), type, ports, targetPorts, labels. */}}
{{- define "sluice.service" -}}
{{- include "sluice.checkService" . }}
{{- $of := .of }}
{{- $type := .type }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.allLabels" (dict "root" .root "component" "data-plane" "more" .labels) | nindent 4 }}
  {{- with $of.annotations }}
  annotations:
    {{- include "sluice.strings" . | nindent 4 }}
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
