package test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"allotment/landscape/internal/apply"
	"allotment/landscape/internal/landscape"
	"allotment/landscape/manifests"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	shootsResource   = schema.GroupVersionResource{Group: "core.gardener.cloud", Version: "v1beta1", Resource: "shoots"}
	bindingsResource = schema.GroupVersionResource{Group: "security.gardener.cloud", Version: "v1alpha1", Resource: "credentialsbindings"}
	strict           = metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
)

// TestGarden is one test with parts, because a landscape takes seconds to start and the parts do not get in each other's way.
func TestGarden(t *testing.T) {
	r := start(t)
	garden := client(t, r.Garden.Kubeconfig)
	t.Run("accepts the example shoots", func(t *testing.T) { acceptsExamples(t, r, garden) })
	t.Run("accepts the shoot shown to people", func(t *testing.T) { acceptsSmallShoot(t, garden) })
	t.Run("refuses what gardener refuses", func(t *testing.T) { refusesWrongShoots(t, garden) })
	t.Run("has a pool of accounts", func(t *testing.T) { hasPool(t, r, garden) })
	t.Run("issues kubeconfigs for shoots", func(t *testing.T) { issuesKubeconfigs(t, r, garden) })
	t.Run("issues tokens of workload identities", func(t *testing.T) { issuesTokens(t, r, garden) })
	t.Run("collects garbage of shoots", func(t *testing.T) { collectsGarbage(t, r, garden) })
	t.Run("comes with kubectl", func(t *testing.T) { comesWithKubectl(t, r) })
	t.Run("listens on loopback only", func(t *testing.T) { listensOnLoopback(t, r) })
	t.Run("keeps its clusters apart", func(t *testing.T) { keepsClustersApart(t, r) })
}

func acceptsExamples(t *testing.T, r *running, garden dynamic.Interface) {
	shoots, err := manifests.Folder("shoots")
	if err != nil {
		t.Fatal(err)
	}
	if len(shoots) != 5 {
		t.Fatalf("%d example shoots, want one per provider", len(shoots))
	}
	for _, shoot := range shoots {
		if _, err := garden.Resource(shootsResource).Namespace(r.Namespace).Create(t.Context(), shoot, strict); err != nil {
			t.Errorf("%s: %v", shoot.GetName(), err)
		}
	}
}

func acceptsSmallShoot(t *testing.T, garden dynamic.Interface) {
	objects, err := apply.Parse([]byte(landscape.SmallShoot))
	if err != nil {
		t.Fatal(err)
	}
	created, err := apply.Resource(garden, objects[0]).Create(t.Context(), objects[0], strict)
	if err != nil {
		t.Fatal(err)
	}
	// The newest version is a preview, which Gardener does not choose by itself.
	if version, _, _ := unstructured.NestedString(created.Object, "spec", "kubernetes", "version"); version != "1.36.0" {
		t.Errorf("version defaulted to %s", version)
	}
}

func refusesWrongShoots(t *testing.T, garden dynamic.Interface) {
	cases := map[string]struct {
		path   []string
		value  any
		reason string
	}{
		"expired version":     {[]string{"spec", "kubernetes", "version"}, "1.34.2", "Unsupported value"},
		"unknown version":     {[]string{"spec", "kubernetes", "version"}, "1.35.99", "Unsupported value"},
		"unknown region":      {[]string{"spec", "region"}, "mars-north-1", "Unsupported value"},
		"missing binding":     {[]string{"spec", "credentialsBindingName"}, "aws-99", "not found"},
		"binding of another":  {[]string{"spec", "credentialsBindingName"}, "gcp-01", "provider"},
		"unknown networking":  {[]string{"spec", "networking", "type"}, "token-ring", "token-ring"},
		"no such field":       {[]string{"spec", "colour"}, "green", "unknown field"},
		"purpose in capitals": {[]string{"spec", "purpose"}, "Production", "Unsupported value"},
	}
	for name, test := range cases {
		objects, err := apply.Parse([]byte(landscape.SmallShoot))
		if err != nil {
			t.Fatal(err)
		}
		objects[0].SetName("wrong")
		if err := unstructured.SetNestedField(objects[0].Object, test.value, test.path...); err != nil {
			t.Fatal(err)
		}
		_, err = apply.Resource(garden, objects[0]).Create(t.Context(), objects[0], strict)
		if err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: want a refusal that says %q, got: %v", name, test.reason, err)
		}
	}
}

func hasPool(t *testing.T, r *running, garden dynamic.Interface) {
	for selector, least := range map[string]int{
		"": 20,
		"hyperscalerType=aws,!euAccess,shared!=true,!dirty,!internal,!tenantName": 3,
		"hyperscalerType=gcp_cf-sa30":       2,
		"hyperscalerType=openstack_eu-de-1": 2,
		"hyperscalerType=azure":             3,
		"hyperscalerType=alicloud":          2,
		"euAccess=true":                     2,
		"shared=true":                       2,
		"internal=true":                     1,
		"dirty=true":                        1,
	} {
		list, err := garden.Resource(bindingsResource).Namespace(r.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) < least {
			t.Errorf("%d bindings for %q, want at least %d", len(list.Items), selector, least)
		}
	}
}

// issuesKubeconfigs does what a gardenlet does for a new shoot, and then what a user does.
func issuesKubeconfigs(t *testing.T, r *running, garden dynamic.Interface) {
	publishShoot(t, r, garden, "s-aws")
	for kind, may := range map[string]bool{"admin": true, "viewer": false} {
		shoot := issued(t, r, kind)
		namespaces := shoot.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
		if _, err := namespaces.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%s cannot read the shoot: %v", kind, err)
		}
		created := &unstructured.Unstructured{}
		created.SetAPIVersion("v1")
		created.SetKind("Namespace")
		created.SetName("of-" + kind)
		_, err := namespaces.Create(t.Context(), created, strict)
		if may && err != nil {
			t.Errorf("%s cannot write: %v", kind, err)
		}
		if !may && !apierrors.IsForbidden(err) {
			t.Errorf("%s may write: %v", kind, err)
		}
	}
}

func collectsGarbage(t *testing.T, r *running, garden dynamic.Interface) {
	publishShoot(t, r, garden, "s-gcp")
	shoots := garden.Resource(shootsResource).Namespace(r.Namespace)
	confirmation := []byte(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`)
	if _, err := shoots.Patch(t.Context(), "s-gcp", types.MergePatchType, confirmation, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := shoots.Delete(t.Context(), "s-gcp", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := garden.Resource(shootsResource.GroupVersion().WithResource("internalsecrets")).Namespace(r.Namespace)
	await(t, 10*time.Second, "the shoot's client CA is collected", func() bool {
		_, err := secrets.Get(context.Background(), "s-gcp.ca-client", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func comesWithKubectl(t *testing.T, r *running) {
	output, err := exec.Command(r.Kubectl, "--kubeconfig", r.Garden.Kubeconfig, "-n", r.Namespace, "get", "shoots", "-o", "name").CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("shoot.core.gardener.cloud/s-aws")) {
		t.Errorf("%v: %s", err, output)
	}
	output, err = exec.Command(r.Kubectl, "--kubeconfig", r.Shoots[0].Kubeconfig, "version", "-o", "json").CombinedOutput()
	if err != nil || bytes.Count(output, []byte(`"gitVersion": "v1.36.3"`)) != 2 {
		t.Errorf("client and server are not v1.36.3: %v: %s", err, output)
	}
	output, err = exec.Command(r.Kubectl, "--kubeconfig", r.Shoots[0].Kubeconfig, "create", "token", "default", "--duration", "10m").CombinedOutput()
	if err != nil {
		t.Errorf("no token: %v: %s", err, output)
	}
}

func keepsClustersApart(t *testing.T, r *running) {
	ours, err := clientcmd.LoadFromFile(r.ControlPlane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := clientcmd.LoadFromFile(r.Garden.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// The server of one, but the user of the other.
	theirs.AuthInfos["admin"] = ours.AuthInfos["admin"]
	config, err := clientcmd.NewDefaultClientConfig(*theirs, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	_, err = dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("the garden takes the control plane's administrator: %v", err)
	}
}

// publishShoot writes what gardener-apiserver looks for before it issues a kubeconfig.
func publishShoot(t *testing.T, r *running, garden dynamic.Interface, name string) {
	t.Helper()
	shoots := garden.Resource(shootsResource).Namespace(r.Namespace)
	shoot, err := shoots.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"technicalID":         "shoot--kyma--" + name,
		"advertisedAddresses": []any{map[string]any{"name": "external", "url": r.Shoots[0].URL}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shoots.Patch(t.Context(), name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	owner := map[string]any{
		"apiVersion": shoot.GetAPIVersion(), "kind": "Shoot", "name": name, "uid": string(shoot.GetUID()), "controller": true, "blockOwnerDeletion": true,
	}
	metadata := func(suffix string) map[string]any {
		return map[string]any{"name": name + suffix, "namespace": r.Namespace, "ownerReferences": []any{owner}}
	}
	err = apply.Apply(t.Context(), garden,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": metadata(".ca-client"), "type": "Opaque",
			"data": map[string]any{"ca.crt": encoded(t, r.Shoots[0].ClientCACert), "ca.key": encoded(t, r.Shoots[0].ClientCAKey)},
		}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(".ca-cluster"),
			"data": map[string]any{"ca.crt": string(read(t, r.Shoots[0].ServingCACert))},
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
}

// issued asks the garden for a kubeconfig of kind admin or viewer and returns a client with it.
func issued(t *testing.T, r *running, kind string) dynamic.Interface {
	t.Helper()
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.gardener.cloud/v1alpha1",
		"kind":       strings.ToUpper(kind[:1]) + kind[1:] + "KubeconfigRequest",
		"metadata":   map[string]any{"name": "s-aws", "namespace": r.Namespace},
		"spec":       map[string]any{"expirationSeconds": int64(600)},
	}}
	var answer *unstructured.Unstructured
	ask := func(ctx context.Context) (err error) {
		answer, err = client(t, r.Garden.Kubeconfig).Resource(shootsResource).Namespace(r.Namespace).
			Create(ctx, request, metav1.CreateOptions{}, kind+"kubeconfig")
		return err
	}
	if err := apply.Retry(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	content, _, _ := unstructured.NestedString(answer.Object, "status", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return dynamic.NewForConfigOrDie(config)
}

func client(t *testing.T, kubeconfig string) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return dynamic.NewForConfigOrDie(config)
}

func encoded(t *testing.T, path string) string {
	return base64.StdEncoding.EncodeToString(read(t, path))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
