{{- define "sluice.name" -}}
{{ default .Release.Name .Values.nameOverride }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "sluice.controller.image" -}}
{{- with .Values.controller.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- define "sluice.dataPlane.image" -}}
{{- with .Values.dataPlane.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- /* The controller's name inside the cluster. Its certificate must have it. */ -}}
{{- define "sluice.xds.host" -}}
{{ include "sluice.name" . }}-controller.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Flags that the chart does not set. A second one of those that it sets would leave rights, ports or mounts behind that
belong to the first. */}}
{{- define "sluice.extraArgs" -}}
{{- $own := dict
  "source" "it is a chart for a cluster"
  "data-plane" "Envoys run in pods of their own"
  "xds-address" "set xds.port or ipv6"
  "bind-address" "set ipv6"
  "xds-certificates" "set xds.controllerSecret"
  "http-port" "set dataPlane.containerPort.http"
  "https-port" "set dataPlane.containerPort.https"
  "controller-class" "set controller.ingressClassResource.controllerValue"
  "ingress-class" "set controller.ingressClass"
  "access-log" "set controller.accessLog"
  "ingress-class-by-name" "set controller.ingressClassByName"
  "watch-ingress-without-class" "set controller.watchIngressWithoutClass"
  "watch-namespace" "set controller.scope.enabled and controller.scope.namespace"
  "watch-namespace-selector" "set controller.scope.namespaceSelector"
  "election-id" "the Lease is called after the release, and the rights with it; set nameOverride for another name"
  "configmap" "write the settings into controller.config"
  "validating-webhook" "set controller.admission.enabled"
  "validating-webhook-certificate" "set controller.admission.secret"
  "validating-webhook-key" "set controller.admission.secret"
  "publish-pods" "set dataPlane.hostPort"
  "pod-weights" "set controller.podWeights"
  "default-backend-service" "set controller.defaultBackendService"
  "disable-catch-all" "set controller.disableCatchAll"
}}
{{- range $flag, $value := .Values.controller.extraArgs }}
{{- if hasKey $own $flag }}
{{- fail (printf "controller.extraArgs.%s: the chart sets --%s itself; %s" $flag $flag (index $own $flag)) }}
{{- end }}
- --{{ $flag }}={{ $value }}
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
