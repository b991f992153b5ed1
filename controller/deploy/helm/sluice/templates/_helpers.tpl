{{- define "sluice.name" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if and .Values.nameOverride (not (contains .Values.nameOverride .Release.Name)) }}
{{- printf "%s-%s" .Release.Name .Values.nameOverride }}
{{- else }}
{{- .Release.Name }}
{{- end }}
{{- end }}

{{- define "sluice.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.allLabels" (dict "root" . "component" "" "more" list) }}
{{- end }}

{{/* Of dict root, component, more (maps of labels): of labels with one name the last wins. */}}
{{- define "sluice.allLabels" -}}
{{- $more := dict }}
{{- range $labels := .more }}
{{- range $key, $value := $labels }}
{{- $more = set $more $key $value }}
{{- end }}
{{- end }}
{{- $common := dict }}
{{- range $key, $value := .root.Values.commonLabels }}
{{- if not (hasKey $more $key) }}
{{- $common = set $common $key $value }}
{{- end }}
{{- end }}
{{- include "sluice.selector" .root }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with $common }}
{{ include "sluice.strings" . }}
{{- end }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with $more }}
{{ include "sluice.strings" . }}
{{- end }}
{{- end }}

{{/* A scalar as text, and nothing as no text. Go would write a large number with an exponent. */}}
{{- define "sluice.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else if not (kindIs "invalid" .) }}{{ toJson . }}{{ end }}
{{- end }}

{{/* A map whose values Kubernetes wants as strings. */}}
{{- define "sluice.strings" -}}
{{- $strings := dict }}
{{- range $key, $value := . }}
{{- $strings = set $strings $key (include "sluice.text" $value) }}
{{- end }}
{{- toYaml $strings }}
{{- end }}

{{/* A flag, of dict path, flag, value. Without a value it is the flag alone. */}}
{{- define "sluice.flag" -}}
{{- if or (hasPrefix "-" .flag) (contains "=" .flag) }}
{{- fail (printf "%s.%s: expected the name of a flag without its dashes, and its value behind it" .path .flag) }}
{{- end }}
{{- $value := include "sluice.text" .value }}
{{- ternary (printf "--%s=%s" .flag $value) (printf "--%s" .flag) (ne $value "") | quote }}
{{- end }}

{{/* Of a component: dict root, of (its values), component, port (its number), name. */}}
{{- define "sluice.image" -}}
{{- with .of.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.root.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- define "sluice.account" -}}
{{- if .of.serviceAccount.name }}
{{- .of.serviceAccount.name }}
{{- else if .of.serviceAccount.create }}
{{- include "sluice.name" .root }}-{{ .component }}
{{- else -}}
default
{{- end }}
{{- end }}

{{/* The controller's name inside the cluster. Its certificate must have it. */}}
{{- define "sluice.xds.host" -}}
{{ include "sluice.name" . }}-controller.{{ include "sluice.namespace" . }}.svc
{{- end }}

{{/* Whose addresses are the status of Ingresses: a Service, or nothing where the nodes are. */}}
{{- define "sluice.publishService" -}}
{{- $service := .Values.dataPlane.service }}
{{- if and $service.enabled (not .Values.dataPlane.hostPort.enabled) (not .Values.dataPlane.hostNetwork) }}
{{- if $service.external.enabled }}
{{- include "sluice.name" . }}-data-plane
{{- else if $service.internal.enabled }}
{{- include "sluice.name" . }}-data-plane-internal
{{- end }}
{{- end }}
{{- end }}

{{- define "sluice.defaultBackendService" -}}
{{- if .Values.defaultBackend.enabled }}
{{- include "sluice.namespace" . }}/{{ include "sluice.name" . }}-default-backend
{{- else }}
{{- .Values.controller.defaultBackendService }}
{{- end }}
{{- end }}

{{/* Flags that the chart does not set. A second one of those that it sets would leave rights, ports or mounts behind that
belong to the first. */}}
{{- define "sluice.extraArgs" -}}
{{- $own := dict
  "source" "it is a chart for a cluster"
  "data-plane" "Envoys run in pods of their own"
  "shutdown-grace-period" "set dataPlane.shutdownGracePeriod: controllers carry no traffic"
  "drain-timeout" "set dataPlane.drainTimeout: controllers carry no traffic"
  "envoy-concurrency" "set dataPlane.concurrency"
  "zone" "set dataPlane.zone"
  "healthz-port" "probes, Services and NetworkPolicies have the port 10254"
  "xds-address" "set xds.port or bindAddress"
  "bind-address" "set bindAddress"
  "xds-certificates" "set xds.controllerSecret"
  "http-port" "set dataPlane.containerPort.http"
  "https-port" "set dataPlane.containerPort.https"
  "controller-class" "set controller.ingressClassResource.controllerValue"
  "ingress-class" "set controller.ingressClass"
  "access-log" "set controller.accessLog"
  "log-format" "set logFormat"
  "enable-metrics" "set metrics.enabled"
  "ingress-class-by-name" "set controller.ingressClassByName"
  "watch-ingress-without-class" "set controller.watchIngressWithoutClass"
  "watch-namespace" "set controller.scope.enabled and controller.scope.namespace"
  "watch-namespace-selector" "set controller.scope.namespaceSelector"
  "election-id" "the Lease is called after the release, and the rights with it; set fullnameOverride for another name"
  "configmap" "write the settings into controller.config"
  "tcp-services-configmap" "write the ports into tcp"
  "udp-services-configmap" "write the ports into udp"
  "validating-webhook" "set controller.admission.enabled"
  "validating-webhook-certificate" "set controller.admission.secret"
  "validating-webhook-key" "set controller.admission.secret"
  "publish-pods" "set dataPlane.hostPort.enabled or dataPlane.hostNetwork"
  "pod-weights" "set controller.podWeights"
  "default-backend-service" "set controller.defaultBackendService"
  "disable-catch-all" "set controller.disableCatchAll"
}}
{{- range $flag, $value := .Values.controller.extraArgs }}
{{- if hasKey $own $flag }}
{{- fail (printf "controller.extraArgs.%s: the chart sets --%s itself; %s" $flag $flag (index $own $flag)) }}
{{- end }}
- {{ include "sluice.flag" (dict "path" "controller.extraArgs" "flag" $flag "value" $value) }}
{{- end }}
{{- end }}

{{/* Whom an upstream may be: pods, which some networks find by no address, and what is outside, but no metadata service of a
cloud, whatever an Ingress says. The list is the controller's own (address_policy.rs). */}}
{{- define "sluice.egress" -}}
# Link-local addresses too: a DNS cache on the node has one.
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
- to:
    - namespaceSelector: {}
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          - 169.254.0.0/16
          - 100.100.100.200/32
          - 168.63.129.16/32
          - 192.0.0.192/32
    - ipBlock:
        cidr: "::/0"
        except:
          - "fe80::/10"
          - "fd00:42::42/128"
          - "fd00:100::100:200/128"
          - "fd00:a9fe:a9fe::1/128"
          - "fd00:c1::a9fe:a9fe/128"
          - "fd00:ec2::/32"
          - "fd20:ce::254/128"
{{- end }}
