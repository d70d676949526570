{{- define "parley.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "parley.labels" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "parley.secret" -}}
{{- if .Values.existingSecret -}}{{ .Values.existingSecret }}{{- else if .Values.secrets -}}{{ include "parley.name" . }}{{- end -}}
{{- end -}}

{{- define "parley.several" -}}
{{- if or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled -}}yes{{- end -}}
{{- end -}}

{{- define "parley.check" -}}
{{- if and (include "parley.several" .) .Values.ingress.enabled -}}
{{- fail "ingress.enabled: Twilio and pages come back to the gateway that answered first, so that an ingress leads to one replica; allowed: replicas = 1 and autoscaling.enabled = false, or a release with an ingress.host of its own for each" -}}
{{- end -}}
{{- if and .Values.persistence.enabled (include "parley.several" .) -}}
{{- fail "persistence.enabled: one volume cannot be several gateways'; allowed: replicas = 1 and autoscaling.enabled = false" -}}
{{- end -}}
{{- if and .Values.agents (not (contains "/etc/parley/agents" .Values.settings)) -}}
{{- fail "agents: they are put into /etc/parley/agents, and settings do not name it: agents.folder = \"/etc/parley/agents\"" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host: it is empty; the name under which Twilio and pages reach the gateway" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (lt (int .Values.autoscaling.max) (int .Values.autoscaling.min)) -}}
{{- fail "autoscaling.max: it is less than autoscaling.min" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.hostNetwork -}}
{{- fail "networkPolicy.enabled: policies do not cover pods on the node's network; set hostNetwork = false, or use the node's firewall" -}}
{{- end -}}
{{- end -}}
