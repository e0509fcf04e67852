{{/* The release, unless it is called as the chart. */}}
{{- define "haft.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "haft.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "haft.labels" -}}
{{ include "haft.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "haft.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "haft.fleet" -}}
- name: HAFT_FLEET
  valueFrom:
    secretKeyRef:
      name: {{ .Values.fleetSecret }}
      key: HAFT_FLEET
{{- end }}

{{/* With what a worker decrypts the secrets of queues, and a server the key of notifications. */}}
{{- define "haft.fleetKey" -}}
- name: HAFT_FLEET_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.fleetSecret }}
      key: HAFT_FLEET_KEY
      optional: true
{{- end }}

{{/* Of a pod: no token of the cluster, and an account that owns nothing. */}}
{{- define "haft.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where `config.toml` lies; a change of it starts the pods anew. */}}
{{- define "haft.configMount" -}}
{{- if .Values.config }}
- {name: config, mountPath: /var/lib/haft/config/haft, readOnly: true}
{{- end }}
{{- end }}

{{- define "haft.configVolume" -}}
{{- if .Values.config }}
- name: config
  configMap:
    name: {{ include "haft.name" . }}-config
{{- end }}
{{- end }}

{{- define "haft.configSum" -}}
{{- if .Values.config }}
annotations:
  checksum/config: {{ .Values.config | sha256sum }}
{{- end }}
{{- end }}

{{- define "haft.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
