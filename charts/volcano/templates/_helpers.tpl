{{/* Every helper takes a dict: root (the chart's context), component (scheduler, controller, admission, agent), and what it needs. */}}

{{- define "volcano.name" -}}
{{ .root.Release.Name }}-{{ get (dict "scheduler" "scheduler" "controller" "controllers" "admission" "admission" "hypernode_controller" "hypernode-controller" "agent" "agent") .component }}
{{- end }}

{{- define "volcano.selector" -}}
app: volcano-{{ .component | replace "_" "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "volcano.labels" -}}
{{ include "volcano.selector" . }}
app.kubernetes.io/name: volcano
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.custom.common_labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "volcano.image" -}}
{{- $basic := .root.Values.basic -}}
{{- with $basic.image_registry }}{{ . }}/{{ end -}}
{{ get $basic (printf "%s_image_name" .images) }}:{{ coalesce (get $basic (printf "%s_image_tag_version" .images)) $basic.image_tag_version .root.Chart.AppVersion }}
{{- end }}

{{/* The component's own value, else the default for all. */}}
{{- define "volcano.placement" -}}
{{- $custom := .root.Values.custom }}
{{- with coalesce (get $custom (printf "%s_ns" .values)) $custom.default_ns }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with coalesce (get $custom (printf "%s_affinity" .values)) $custom.default_affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with coalesce (get $custom (printf "%s_tolerations" .values)) $custom.default_tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if gt (int .replicas) 1 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "volcano.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* A Deployment with everything around it: account, budget. args, volumes, mounts, ports and probe come as dicts. */}}
{{- define "volcano.deployment" -}}
{{- $custom := .root.Values.custom }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "volcano.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "volcano.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
    {{- with get $custom (printf "%s_labels" .values) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  replicas: {{ .replicas }}
  selector:
    matchLabels:
      {{- include "volcano.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "volcano.labels" . | nindent 8 }}
        {{- with get $custom (printf "%s_podLabels" .values) }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .configuration }}
      annotations:
        checksum/configuration: {{ . | sha256sum }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "volcano.name" . }}
      priorityClassName: system-cluster-critical
      {{- with coalesce (get $custom (printf "%s_sc" .values)) $custom.default_sc }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "volcano.placement" . | trim | nindent 6 }}
      {{- with .root.Values.basic.image_pull_secret }}
      imagePullSecrets:
        - name: {{ . }}
      {{- end }}
      containers:
        - name: {{ include "volcano.name" . }}
          image: {{ include "volcano.image" . | quote }}
          imagePullPolicy: {{ .root.Values.basic.image_pull_policy }}
          args:
            {{- toYaml .args | nindent 12 }}
          env:
            - name: KUBE_POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: HELM_RELEASE_NAME
              value: {{ .root.Release.Name | quote }}
          ports:
            {{- toYaml .ports | nindent 12 }}
          startupProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /{{ .readiness | default "readyz" }}, port: health}
            periodSeconds: 5
            timeoutSeconds: 5
          {{- with get $custom (printf "%s_resources" .values) }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with coalesce (get $custom (printf "%s_main_csc" .values)) $custom.default_csc }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - name: tmp
              mountPath: /tmp
            {{- with .mounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {}
        {{- with .volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- if gt (int .replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "volcano.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "volcano.selector" . | nindent 6 }}
{{- end }}
{{- if $custom.network_policy_enable }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "volcano.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "volcano.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        {{- range .ports }}
        - port: {{ .name }}
          protocol: TCP
        {{- end }}
{{- end }}
{{- end }}

{{- define "volcano.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "volcano.name" . }}-service
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
  {{- if .scraped }}
  annotations:
    prometheus.io/path: /metrics
    prometheus.io/port: {{ .port | quote }}
    prometheus.io/scrape: "true"
  {{- end }}
spec:
  type: ClusterIP
  {{- with .root.Values.service.ipFamilyPolicy }}
  ipFamilyPolicy: {{ . }}
  {{- end }}
  {{- with .root.Values.service.ipFamilies }}
  ipFamilies:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    {{- include "volcano.selector" . | nindent 4 }}
  ports:
    - name: {{ .portName }}
      port: {{ .port }}
      targetPort: {{ .portName }}
      protocol: TCP
{{- end }}

{{/* Binds the component's account to the role of its name: `kind` is ClusterRole or Role. */}}
{{- define "volcano.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ include "volcano.name" . }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "volcano.name" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "volcano.name" . }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- define "volcano.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ include "volcano.name" . }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "volcano.labels" . | nindent 4 }}
rules:
{{- end }}

{{/* To see leaders of other installations: leases of the same name, in any namespace. */}}
{{- define "volcano.rivals" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .lease }}]
  verbs: [list]
{{- end }}

{{/* What a leader needs: the Lease of its name, which only "create" cannot be limited to. */}}
{{- define "volcano.lease" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .lease }}]
  verbs: [get, update]
{{- end }}
