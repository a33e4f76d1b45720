// Package apply loads manifests into an API server with server-side apply.
package apply

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// FieldManager owns every field that the landscape writes.
const FieldManager = "landscape"

// How long one object may be refused because its surroundings are not there yet. gardener-apiserver looks at informers, which see
// an object some milliseconds after it was written; a refusal that lasts longer than this has another reason.
const patience = 15 * time.Second

const pause = 50 * time.Millisecond

// Parse reads the documents of one YAML file. A key given twice is an error, as the last one would win silently.
func Parse(content []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		fields := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &fields); err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			continue // nothing but comments
		}
		object := &unstructured.Unstructured{Object: fields}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("a document without apiVersion, kind or name: %.80s", document)
		}
		objects = append(objects, object)
	}
}

// Resource is the endpoint for an object. The plural is guessed from the kind, which holds for everything that a landscape
// loads and saves asking for discovery, the slowest document an API server has.
func Resource(client dynamic.Interface, object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if namespace := object.GetNamespace(); namespace != "" {
		return client.Resource(plural).Namespace(namespace)
	}
	return client.Resource(plural)
}

// Apply writes the objects in the order given.
func Apply(ctx context.Context, client dynamic.Interface, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		write := func(ctx context.Context) error {
			options := metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
			_, err := Resource(client, object).Apply(ctx, object.GetName(), object, options)
			return err
		}
		if err := Retry(ctx, write); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Retry repeats a write for as long as it is refused for a reason that may pass by itself.
func Retry(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := write(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err // not the "deadline exceeded" that hides what was wrong before
		}
		if !mayPass(err) {
			return last
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(pause):
		}
	}
}

// Admission plugins of gardener-apiserver answer 403 or 500 for a reference that they do not see yet, the aggregator 404 or 503 for
// a group that it does not know yet.
func mayPass(err error) bool {
	var network net.Error
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err) ||
		errors.As(err, &network)
}
