package manifests

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestEveryReferenceIsThere(t *testing.T) {
	known := map[string]bool{}
	for _, folder := range []string{"garden-core", "garden", "shoot-access", "shoots"} {
		for _, object := range load(t, folder) {
			key := object.GetKind() + "/" + object.GetName()
			if known[key] {
				t.Errorf("%s is there twice", key)
			}
			known[key] = true
		}
	}
	for _, object := range append(load(t, "garden"), load(t, "shoots")...) {
		for kind, path := range map[string][]string{
			"Secret":             {"credentialsRef", "name"},
			"CredentialsBinding": {"spec", "credentialsBindingName"},
			"CloudProfile":       {"spec", "cloudProfile", "name"},
		} {
			name, found, err := unstructured.NestedString(object.Object, path...)
			if err != nil {
				t.Errorf("%s: %v", object.GetName(), err)
			}
			if found && !known[kind+"/"+name] {
				t.Errorf("%s %s refers to %s %s, which is not there", object.GetKind(), object.GetName(), kind, name)
			}
		}
	}
}

func load(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Folder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatalf("folder %s has no objects", folder)
	}
	return objects
}
