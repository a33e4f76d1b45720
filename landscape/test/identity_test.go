package test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var identitiesResource = schema.GroupVersionResource{
	Group: "security.gardener.cloud", Version: "v1alpha1", Resource: "workloadidentities",
}

// issuesTokens checks a token as a cloud would: its signature against the published keys, then what it says.
func issuesTokens(t *testing.T, r *running, garden dynamic.Interface) {
	identities := garden.Resource(identitiesResource).Namespace(r.Namespace)
	identity, err := identities.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "security.gardener.cloud/v1alpha1",
		"kind":       "WorkloadIdentity",
		"metadata":   map[string]any{"name": "account"},
		"spec":       map[string]any{"audiences": []any{"cloud"}, "targetSystem": map[string]any{"type": "aws"}},
	}}, strict)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := identities.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "security.gardener.cloud/v1alpha1",
		"kind":       "TokenRequest",
		"metadata":   map[string]any{"name": "account"},
		"spec":       map[string]any{"expirationSeconds": int64(600)},
	}}, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(issued.Object, "status", "token")
	signed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := signed.Claims(readKeys(t, r.WorkloadIdentity.JWKS), &claims); err != nil {
		t.Fatalf("the published keys do not fit the token: %v", err)
	}
	subject, _, _ := unstructured.NestedString(identity.Object, "status", "sub")
	if claims.Issuer != r.WorkloadIdentity.Issuer || claims.Subject != subject || subject == "" ||
		!slices.Equal(claims.Audience, jwt.Audience{"cloud"}) {
		t.Errorf("claims %+v, want issuer %s, subject %q and audience cloud", claims, r.WorkloadIdentity.Issuer, subject)
	}
	// Less than an hour can be asked for, and is not given.
	if life := claims.Expiry.Time().Sub(claims.IssuedAt.Time()); life != time.Hour {
		t.Errorf("the token lives %v", life)
	}
}

func readKeys(t *testing.T, path string) *jose.JSONWebKeySet {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys := &jose.JSONWebKeySet{}
	if err := json.Unmarshal(raw, keys); err != nil {
		t.Fatal(err)
	}
	return keys
}
