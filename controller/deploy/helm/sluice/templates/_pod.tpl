{{/* Parts of workloads. Each takes a component: dict root, of (its values), component, and of the data plane sysctls. */}}

{{- define "sluice.metadata" -}}
namespace: {{ include "sluice.namespace" .root }}
labels:
  {{- include "sluice.allLabels" (dict "root" .root "component" .component "more" (list .of.labels)) | nindent 2 }}
{{- with .of.annotations }}
annotations:
  {{- include "sluice.strings" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.podMetadata" -}}
labels:
  {{- include "sluice.allLabels" (dict "root" .root "component" .component "more" (list .of.podLabels)) | nindent 2 }}
{{- with .of.podAnnotations }}
annotations:
  {{- include "sluice.strings" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.rollout" -}}
{{- with .of.minReadySeconds }}
minReadySeconds: {{ . }}
{{- end }}
{{- if ne .kind "DaemonSet" }}
{{- with .of.progressDeadlineSeconds }}
progressDeadlineSeconds: {{ . }}
{{- end }}
{{- end }}
revisionHistoryLimit: {{ .root.Values.revisionHistoryLimit }}
{{ if eq .kind "DaemonSet" }}updateStrategy{{ else }}strategy{{ end }}:
  {{- if .of.updateStrategy }}
  {{- toYaml .of.updateStrategy | nindent 2 }}
  {{- else if .takesPortsOfNodes }}
  # A successor would need the same ports of the node.
  rollingUpdate: { maxUnavailable: 1, maxSurge: 0 }
  {{- else }}
  rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  {{- end }}
{{- end }}

{{- define "sluice.podOptions" -}}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .of.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml .of.podSecurityContext | nindent 2 }}
  {{- if .sysctls }}
  sysctls:
    {{- range $name, $value := .sysctls }}
    - { name: {{ $name }}, value: {{ include "sluice.text" $value | quote }} }
    {{- end }}
  {{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
dnsPolicy: {{ .dnsPolicy }}
{{- with .of.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if .of.topologySpreadConstraints }}
  {{- toYaml .of.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
  {{- end }}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- include "sluice.strings" . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.containerOptions" -}}
{{- with .of.livenessProbe }}
livenessProbe:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.readinessProbe }}
readinessProbe:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.startupProbe }}
startupProbe:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .of.containerSecurityContext | nindent 2 }}
resources:
  {{- toYaml .of.resources | nindent 2 }}
{{- end }}

{{/* Objects beside a workload. */}}
{{- define "sluice.serviceAccount" -}}
{{- if .of.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "sluice.account" . }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .of.serviceAccount.annotations }}
  annotations:
    {{- include "sluice.strings" . | nindent 4 }}
  {{- end }}
# A pod that may have it asks for it; nobody else gets it by accident.
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- define "sluice.disruption" -}}
{{- if .of.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "sluice.name" .root }}-{{ .component }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if ne (toString .of.podDisruptionBudget.minAvailable) "" }}
  minAvailable: {{ .of.podDisruptionBudget.minAvailable }}
  {{- else }}
  maxUnavailable: {{ .of.podDisruptionBudget.maxUnavailable }}
  {{- end }}
  {{- with .of.podDisruptionBudget.unhealthyPodEvictionPolicy }}
  unhealthyPodEvictionPolicy: {{ . }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "sluice.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- end }}

{{- define "sluice.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "sluice.name" .root }}-{{ .component }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .of.autoscaling.annotations }}
  annotations:
    {{- include "sluice.strings" . | nindent 4 }}
  {{- end }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "sluice.name" .root }}-{{ .component }}
  minReplicas: {{ .of.autoscaling.minReplicas }}
  maxReplicas: {{ .of.autoscaling.maxReplicas }}
  metrics:
    {{- with .of.autoscaling.targetCPUUtilizationPercentage }}
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ . }} }
    {{- end }}
    {{- with .of.autoscaling.targetMemoryUtilizationPercentage }}
    - type: Resource
      resource:
        name: memory
        target: { type: Utilization, averageUtilization: {{ . }} }
    {{- end }}
    {{- with .of.autoscaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .of.autoscaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* A Job that makes Secrets once. Jobs cannot be changed, so each is called after what it does: where that changes, another
one takes its place. It stays when it is done: rendered or applied again, nothing differs. */}}
{{- define "sluice.certgen" -}}
{{- $values := .root.Values.certgen }}
{{- $image := include "sluice.image" . }}
{{- $args := .args }}
{{- if ne .root.Values.logFormat "text" }}
{{- $args = concat $args (list (printf "--log-format=%s" .root.Values.logFormat)) }}
{{- end }}
{{- $all := dict
  "args" $args
  "image" $image
  "policy" .of.image.pullPolicy
  "version" .root.Chart.AppVersion
  "labels" .root.Values.commonLabels
  "secrets" .root.Values.imagePullSecrets
  "pod" .of.podSecurityContext
  "container" .of.containerSecurityContext
  "values" $values
}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}-{{ toJson $all | sha256sum | trunc 8 }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: certgen
spec:
  backoffLimit: 10
  template:
    metadata:
      labels:
        {{- include "sluice.labels" .root | nindent 8 }}
        app.kubernetes.io/component: certgen
      {{- with $values.podAnnotations }}
      annotations:
        {{- include "sluice.strings" . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ .name }}
      automountServiceAccountToken: true
      restartPolicy: OnFailure
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext:
        {{- toYaml .of.podSecurityContext | nindent 8 }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: certgen
          image: {{ $image }}
          imagePullPolicy: {{ .of.image.pullPolicy }}
          args:
            - certgen
            {{- range $args }}
            - {{ . }}
            {{- end }}
          securityContext:
            {{- toYaml .of.containerSecurityContext | nindent 12 }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- include "sluice.strings" . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
