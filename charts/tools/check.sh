#!/bin/sh
# Checks the chart with helm: every flavour in ci/ lints and renders, bad values are refused, the roles stay narrow, and
# pods restart for nothing but what cannot be reloaded.
#
#   check.sh HELM                                    without a cluster
#   check.sh HELM CONTROL_PLANE [GARDEN]             two kubeconfigs: also lets real API servers check every object
#
# HELM is `go build -o HELM helm.sh/helm/v4/cmd/helm`, in this directory.
set -u

helm=${1:?usage: check.sh HELM [CONTROL_PLANE_KUBECONFIG [GARDEN_KUBECONFIG]]}
control_plane=${2:-}
garden=${3:-}
tools=$(cd "$(dirname "$0")" && pwd)
chart=$tools/../allotment
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED: $*" >&2; }

template() { "$helm" template allotment "$chart" --namespace allotment-system "$@"; }
# `tenancy` has no default.
render() { template --set tenancy.mode=trusted "$@"; }

# flavours: each of them lints without a warning and renders
for values in "$chart"/ci/*-values.yaml; do
  name=$(basename "$values" -values.yaml)
  if "$helm" lint --strict --quiet "$chart" -f "$values"; then ok; else bad "lint $name"; fi
  if template -f "$values" >"$out/$name.yaml"; then ok; else bad "template $name"; fi
done

# refused NAME 'WORDS' ARGS...: the schema refuses the values, and without it the templates do, in these words
refused() {
  name=$1 words=$2
  shift 2
  if render "$@" >/dev/null 2>"$out/err"; then bad "schema lets $name pass"; else
    if grep -q "don't meet the specifications of the schema" "$out/err"; then ok; else bad "$name: $(cat "$out/err")"; fi
  fi
  [ -z "$words" ] && return
  if render --skip-schema-validation "$@" >/dev/null 2>"$out/err"; then bad "templates let $name pass"; else
    if grep -q "$words" "$out/err"; then ok; else bad "$name: no '$words' in: $(cat "$out/err")"; fi
  fi
}
refused 'two replicas on SQLite' 'keep replicas at 1, or use PostgreSQL' --set replicas=2
refused 'an unknown key' '' --set replicaCount=2
refused 'hap.rules for hap.rule' '' --set 'hap.rules={aws}'
refused 'no rules' '' --set-json 'hap.rule=[]'
refused 'an unknown controller' 'there are subscription, cluster, kubeconfig and cleanup' --set 'controllers={subscription,clusters}'
refused 'nothing to run' 'there is nothing to run' --set-json 'controllers=[]'
refused 'a password in the values' 'belongs in a Secret' --set ledger.url=postgres://user:secret@db/allotment
refused 'a ledger beside the volume' 'the one place where the pod can write' --set ledger.url=sqlite:///tmp/ledger.db
refused 'an unknown kind of binding' 'it can be CredentialsBinding, SecretBinding or Secret' --set hap.bindingKind=Binding
refused 'a server on loopback' 'neither probes nor Prometheus' --set server.address=127.0.0.1:8080
refused 'an unknown provider' '' --set clusters.providers.ibm.cloudProfile=ibm
refused 'a limit of 0' '' --set hap.multiHyperscalerAccount.limits.aws=0
refused 'a pace of 0' '' --set clusters.rollout.clustersPerMinute=0
refused 'too short a life' '' --set access.maxExpiration=60
refused 'an unknown mode of cleanup' 'it can be off, plan or delete' --set cleanup.mode=force
refused 'no settle time' '' --set cleanup.settleSeconds=0
refused 'a cloud without a table of kinds' '' --set 'cleanup.assumeAbsent.gcp={Disk}'
refused 'an unknown verbosity' '' --set openmcp.clusterProvider.verbosity=TRACE
# A schema cannot say these.
for args in 'gardener.kubeconfigSecretRef.name=' 'networkPolicy.enabled=true,ledger.urlSecretRef.name=ledger'; do
  if render --set "$args" >/dev/null 2>&1; then bad "$args passes"; else ok; fi
done

# says NAME 'WORDS' ARGS...: the templates refuse the values in these words
says() {
  name=$1 words=$2
  shift 2
  if template "$@" >/dev/null 2>"$out/err"; then bad "$name passes"; else
    if grep -q "$words" "$out/err"; then ok; else bad "$name: no '$words' in: $(cat "$out/err")"; fi
  fi
}
says 'no tenancy' 'tenancy.namespaceLabel=allotment.dev/tenant'
says 'no tenancy' "tenancy.namespaces.team-a={tenant-1}"
says 'a label and a table' 'keep one of them' --set tenancy.namespaceLabel=a,'tenancy.namespaces.team-a={t}'
says 'trusted with a table' 'lets every namespace name any tenant' --set tenancy.mode=trusted,'tenancy.namespaces.team-a={t}'
says 'a cluster without admission policies' 'set admission.enabled=false' --set tenancy.mode=trusted --api-versions v1/ConfigMap
if render --set admission.enabled=false | grep -q ValidatingAdmissionPolicy; then bad 'admission policies although switched off'; else ok; fi

# same_pods / other_pods NAME ARGS...: what a change does to the pods
pods() { render --show-only templates/deployment.yaml "$@"; }
pods >"$out/pods"
same_pods() {
  name=$1; shift
  if pods "$@" | cmp -s - "$out/pods"; then ok; else bad "$name restarts the pods"; fi
}
other_pods() {
  name=$1; shift
  if pods "$@" | cmp -s - "$out/pods"; then bad "$name does not restart the pods"; else ok; fi
}
same_pods 'a rule' --set 'hap.rule={aws}'
same_pods 'a limit' --set hap.multiHyperscalerAccount.limits.aws=7
same_pods 'a policy' --set-json 'access.policies=[{"namespaces":["a"]}]'
same_pods 'a provider' --set clusters.providers.aws.nodes=10.1.0.0/16
same_pods 'where Clusters are' --set clusters.namespace=elsewhere
same_pods 'the pace' --set clusters.rollout.clustersPerMinute=3
same_pods 'the mode of cleanup' --set cleanup.mode=delete
same_pods 'an item to keep' --set 'cleanup.keep={vpc-1}'
same_pods 'the platform' --set tenancy.mode=enforced,'tenancy.platform={default}'
other_pods 'the label of namespaces' --set tenancy.mode=enforced,tenancy.namespaceLabel=example.com/tenant
other_pods 'a kind of CloudProfile' --set clusters.providers.aws.cloudProfileKind=NamespacedCloudProfile
other_pods 'the kind of binding' --set hap.bindingKind=SecretBinding
other_pods 'the project' --set gardener.namespace=garden-other
other_pods 'a controller' --set 'controllers={subscription}'
other_pods 'the rates of cleanup' --set cleanup.readsPerSecond=3
other_pods 'the address' --set server.address=0.0.0.0:9090

# roles: no wildcards, no cluster-admin, Secrets never for the whole cluster, no password in a ConfigMap; whatever may be
# patched is never written as a whole
for file in "$out"/*.yaml; do
  name=$(basename "$file" .yaml)
  if grep -Eq '(verbs|resources|apiGroups|resourceNames): .*\*|cluster-admin|verbs: .*(escalate|impersonate|bind|patch, update)' "$file"; then
    bad "$name: a role too wide"
  else ok; fi
done
if grep -A12 'kind: ClusterRoleBinding' "$out/everything.yaml" | grep -q 'name: .*-secrets'; then
  bad 'Secrets for the whole cluster'
else ok; fi

# cleanup: off is off with quotes and without, and Secrets of the garden are for those who label or clean accounts
printf 'cleanup: {mode: off}\n' >"$out/off.values"
for args in '--set cleanup.mode=off' "-f $out/off.values"; do
  # shellcheck disable=SC2086
  if render $args | grep -q '^ *mode: "off"$'; then ok; else bad "$args is not off"; fi
done
may_read_secrets() { render --set garden.render=true --set "controllers={$1}" | grep -A1 'resources: \[secrets\]' | grep -q get; }
for controllers in cleanup subscription cluster,cleanup; do
  if may_read_secrets "$controllers"; then ok; else bad "$controllers cannot read the credentials"; fi
done
for controllers in cluster kubeconfig cluster,kubeconfig; do
  if may_read_secrets "$controllers"; then bad "$controllers can read the credentials"; else ok; fi
done
# tokens that a cloud takes for a login are for cleanup alone, and InternalSecrets for who asks for them
garden_role() { controllers=$1; shift; render --set garden.render=true --set 'garden.credentialsNamespaces={garden-credentials}' --set "controllers={$controllers}" "$@"; }
count() { grep -c "resources: \[$1\]"; }
for controllers in cleanup subscription,cleanup; do
  if [ "$(garden_role "$controllers" | count workloadidentities/token)" = 2 ]; then ok; else bad "$controllers gets no tokens"; fi
  if [ "$(garden_role "$controllers" --set garden.internalSecrets=true | count internalsecrets)" = 2 ]; then ok; else bad "$controllers cannot read InternalSecrets"; fi
  if garden_role "$controllers" | grep -q internalsecrets; then bad "$controllers can read InternalSecrets"; else ok; fi
done
for controllers in subscription cluster kubeconfig subscription,cluster,kubeconfig; do
  if garden_role "$controllers" | grep -q workloadidentities/token; then bad "$controllers gets tokens"; else ok; fi
done
for controllers in cluster kubeconfig; do
  if garden_role "$controllers" --set garden.internalSecrets=true | grep -q internalsecrets; then bad "$controllers can read InternalSecrets"; else ok; fi
done
if render --show-only templates/rbac.yaml --set 'controllers={cleanup}' | grep -A1 '^ *resources:' | grep -Eq 'kubeconfigrequests|subscriptionrequests'; then
  bad 'cleanup alone reads what tenants ask for'
else ok; fi

# servers: every object is accepted by a real one (a namespace, unlike the rest, has to exist for that)
accepted() {
  kubeconfig=$1 name=$2
  if kubectl --kubeconfig "$kubeconfig" apply --dry-run=server --validate=strict -f "$out/$name.yaml" >"$out/applied"; then
    ok; echo "$name: $(wc -l <"$out/applied") objects accepted"
  else bad "$name is not accepted"; fi
}
with_namespaces() {
  kubeconfig=$1; shift
  for namespace in "$@"; do
    kubectl --kubeconfig "$kubeconfig" get namespace "$namespace" >/dev/null 2>&1 ||
      kubectl --kubeconfig "$kubeconfig" create namespace "$namespace" >/dev/null || bad "namespace $namespace"
  done
}
if [ -n "$control_plane" ]; then
  with_namespaces "$control_plane" allotment-system team-a team-b
  if kubectl --kubeconfig "$control_plane" apply --server-side -f "$chart/crds" -f "$tools/testdata" >/dev/null &&
    kubectl --kubeconfig "$control_plane" wait --for=condition=Established --timeout=30s -f "$chart/crds" -f "$tools/testdata" >/dev/null
  then ok; else bad 'the CRDs are not accepted'; fi
  for name in sqlite postgres everything openmcp; do accepted "$control_plane" $name; done
fi
if [ -n "$garden" ]; then
  with_namespaces "$garden" garden-kyma garden-eu garden-credentials
  for name in garden garden-cleanup garden-secrets; do accepted "$garden" $name; done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
