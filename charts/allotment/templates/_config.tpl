{{/* The configuration file, from the values of the same names. */}}

{{/* Where the pod sees what the chart mounts. */}}
{{- define "allotment.configDir" -}}/etc/allotment{{- end -}}
{{- define "allotment.ledgerDir" -}}/var/lib/allotment{{- end -}}

{{- define "allotment.gardenerConfig" -}}
{{- with .Values.gardener -}}
kubeconfig: {{ default (printf "%s/garden/kubeconfig" (include "allotment.configDir" $)) .kubeconfig | quote }}
namespace: {{ .namespace | quote }}
project: {{ .project | quote }}
requestsPerSecond: {{ .requestsPerSecond }}
name: {{ .name | quote }}
{{- end -}}
{{- end -}}

{{/* The PostgreSQL URL has a password in it, so the file only says where it is mounted. */}}
{{- define "allotment.ledgerConfig" -}}
{{- if include "allotment.onPostgres" . -}}
urlFile: {{ printf "%s/ledger/url" (include "allotment.configDir" .) | quote }}
{{- else -}}
url: {{ .Values.ledger.url | quote }}
{{- end }}
historyDays: {{ default 400 .Values.ledger.historyDays }}
{{- end -}}

{{/* Whether a provider has its CloudProfile in the project: it is followed from the start, or not at all. */}}
{{- define "allotment.namespacedProfiles" -}}
{{- range .Values.clusters.providers }}{{ if eq (default "" .cloudProfileKind) "NamespacedCloudProfile" }}true{{ end }}{{ end -}}
{{- end -}}

{{/* YAML reads `off` without quotes as false, in the values and in the configuration file alike. */}}
{{- define "allotment.cleanupMode" -}}
{{- if kindIs "bool" .Values.cleanup.mode -}}off{{- else -}}{{ .Values.cleanup.mode }}{{- end -}}
{{- end -}}

{{- define "allotment.config" -}}
hap:
  {{- toYaml .Values.hap | nindent 2 }}
gardener:
  {{- include "allotment.gardenerConfig" . | nindent 2 }}
ledger:
  {{- include "allotment.ledgerConfig" . | nindent 2 }}
clusters:
  {{- toYaml .Values.clusters | nindent 2 }}
access:
  {{- toYaml .Values.access | nindent 2 }}
controllers:
  {{- toYaml .Values.controllers | nindent 2 }}
server:
  {{- toYaml .Values.server | nindent 2 }}
tenancy:
  {{- toYaml .Values.tenancy | nindent 2 }}
metrics:
  {{- toYaml .Values.metrics | nindent 2 }}
byoc:
  {{- toYaml .Values.byoc | nindent 2 }}
quotas:
  {{- toYaml .Values.quotas | nindent 2 }}
cleanup:
  mode: {{ include "allotment.cleanupMode" . | quote }}
  {{- toYaml (omit .Values.cleanup "mode") | nindent 2 }}
{{- end -}}

{{/* Namespaces of the system inside clusters that a dangerous policy names, for the admission policies. */}}
{{- define "allotment.systemNamespaces" -}}
{{- $named := list }}
{{- range .Values.access.policies }}{{ if .dangerous }}{{ $named = concat $named (default (list) .roleNamespaces) }}{{ end }}{{ end }}
{{- toJson $named -}}
{{- end -}}

{{/*
What a running operator cannot take over, because connections, sockets and watches are made from it. Its checksum is an
annotation of the pods, so a change of it restarts them.

Everything else is left out on purpose: rules, plans, limits, the allowlist, policies, the defaults of providers and most of
cleanup are re-read from the mounted file. A restart for them would be harmful, not only needless: on SQLite it stops the operators
for a while, and a bad rule set, which a running operator refuses while it keeps the last good one, would meet an operator
that starts, has no last good one, and exits.
*/}}
{{- define "allotment.fixedConfig" -}}
gardener:
  {{- include "allotment.gardenerConfig" . | nindent 2 }}
ledger:
  {{- include "allotment.ledgerConfig" . | nindent 2 }}
clusters:
  namespacedProfiles: {{ include "allotment.namespacedProfiles" . | quote }}
controllers:
  {{- toYaml .Values.controllers | nindent 2 }}
server:
  {{- toYaml .Values.server | nindent 2 }}
tenancy:
  namespaceLabel: {{ default "" .Values.tenancy.namespaceLabel | quote }}
metrics:
  {{- toYaml .Values.metrics | nindent 2 }}
cleanup:
  {{- toYaml (pick .Values.cleanup "accountsAtOnce" "readsPerSecond" "writesPerSecond" "awsEndpoint" "azureEndpoint" "gcpEndpoint" "alicloudEndpoint" "openstackAuthUrl") | nindent 2 }}
hap:
  bindingKind: {{ .Values.hap.bindingKind | quote }}
  labels:
    {{- toYaml .Values.hap.labels | nindent 4 }}
{{- end -}}
