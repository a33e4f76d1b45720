// Package manifests holds the objects that a landscape starts with. They are plain YAML files, in folders by the moment they are
// loaded:
//
//   - garden-core: kinds of Kubernetes itself, loaded while gardener-apiserver starts
//   - garden: kinds of Gardener
//   - shoot-access: what Gardener puts into every shoot for its users
//   - shoots: one Shoot per provider that this garden accepts; tried, never stored
package manifests

import (
	"embed"
	"fmt"
	"path"

	"allotment/landscape/internal/apply"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:embed garden-core garden shoot-access shoots
var files embed.FS

// Folder reads all objects of a folder, in the order of the file names and of the documents in each file.
func Folder(name string) ([]*unstructured.Unstructured, error) {
	entries, err := files.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, entry := range entries {
		content, err := files.ReadFile(path.Join(name, entry.Name()))
		if err != nil {
			return nil, err
		}
		parsed, err := apply.Parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", name, entry.Name(), err)
		}
		objects = append(objects, parsed...)
	}
	return objects, nil
}
