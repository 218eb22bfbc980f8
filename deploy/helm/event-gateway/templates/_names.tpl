{{- define "event-gateway.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "event-gateway.selector" -}}
app.kubernetes.io/name: event-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "event-gateway.labels" -}}
{{ include "event-gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
