{{/* Names and labels. */}}

{{- define "allotment.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "allotment.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "allotment.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "allotment.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* For cluster-scoped objects: two releases of one name in two namespaces must not meet. */}}
{{- define "allotment.clusterScopedName" -}}
{{- printf "%s:%s" .Release.Namespace (include "allotment.fullname" .) -}}
{{- end -}}

{{- define "allotment.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "allotment.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "allotment.selectorLabels" -}}
app.kubernetes.io/name: {{ include "allotment.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "allotment.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "allotment.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "allotment.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is rendered. Helpers that answer yes or no give "true" or nothing, as `if` needs it. */}}

{{/* The chart gives either the control plane or the garden, never both: they are different clusters. */}}
{{- define "allotment.onControlPlane" -}}
{{- if not .Values.garden.render }}true{{ end -}}
{{- end -}}

{{/* Without controllers there is nothing to deploy: openMCP's operator runs the ClusterProvider. */}}
{{- define "allotment.runsOperators" -}}
{{- if and (include "allotment.onControlPlane" .) .Values.controllers }}true{{ end -}}
{{- end -}}

{{- define "allotment.onPostgres" -}}
{{- if .Values.ledger.urlSecretRef.name }}true{{ end -}}
{{- end -}}

{{- define "allotment.replicas" -}}
{{- if not (kindIs "invalid" .Values.replicas) -}}
{{- int .Values.replicas -}}
{{- else if include "allotment.onPostgres" . -}}
2
{{- else -}}
1
{{- end -}}
{{- end -}}

{{- define "allotment.serverPort" -}}
{{- regexFind "[0-9]+$" .Values.server.address -}}
{{- end -}}

{{/* Rights on the credentials of accounts, for whoever labels or cleans them. */}}
{{- define "allotment.gardenCredentials" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
- apiGroups: [security.gardener.cloud]
  resources: [workloadidentities]
  verbs: [get]
{{- if .Values.garden.internalSecrets }}
# The client CAs of Shoots are InternalSecrets too.
- apiGroups: [core.gardener.cloud]
  resources: [internalsecrets]
  verbs: [get]
{{- end }}
{{- if has "cleanup" .Values.controllers }}
# cleanup: a token that the cloud takes for a login. It is exchanged at once, and kept nowhere.
- apiGroups: [security.gardener.cloud]
  resources: [workloadidentities/token]
  verbs: [create]
{{- end }}
{{- end }}
