{{/* What every object of a part is labelled with; takes a dict of `root` and `part`. */}}
{{- define "gpupods.labels" -}}
{{ include "gpupods.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion }}
{{- end }}

{{/* What a part's pods are found by. It must never change: selectors are immutable. */}}
{{- define "gpupods.selector" -}}
app.kubernetes.io/name: gpupods
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* An image's name; takes a dict of `root` and `image`. */}}
{{- define "gpupods.image" -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Environment variables from a map of name to value. Numbers are floating ones to Helm, which it
would write as 1e+06; JSON has them as they were given. */}}
{{- define "gpupods.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end }}

{{/* Where the agent listens: on the host's network its own port is the node's. */}}
{{- define "gpupods.agentPort" -}}
{{ ternary .Values.nodeagent.hostPort 50051 .Values.nodeagent.hostNetwork | int }}
{{- end }}

{{/* Whether the agent asks the API server anything: "true" or "false". */}}
{{- define "gpupods.agentAsks" -}}
{{ or .Values.nodeagent.report (ne .Values.nodeagent.devicePlugin "off") }}
{{- end }}
