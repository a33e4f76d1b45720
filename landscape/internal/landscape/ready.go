package landscape

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Short, because every wait on the way to a ready landscape ends half a pause late on average; a question costs a millisecond.
const pollPause = 50 * time.Millisecond

// await asks until the answer is yes. The last reason for a no is in the error.
func await(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last answer: %w)", what, context.Cause(ctx), err)
		case <-time.After(pollPause):
		}
	}
}

// awaitOK waits until a GET is answered with 200.
func awaitOK(ctx context.Context, client *http.Client, url string) error {
	return await(ctx, "waiting for "+url, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			_, err := io.Copy(io.Discard, response.Body) // so that the connection is used again
			return err
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
		return fmt.Errorf("%s: %s", response.Status, body)
	})
}

func (c *Cluster) awaitReady(ctx context.Context) error {
	client, err := c.httpClient()
	if err != nil {
		return err
	}
	if err := awaitOK(ctx, client, c.URL()+"/readyz"); err != nil {
		return err
	}
	c.site.note("%s kube-apiserver ready", c.Name)
	return nil
}

// awaitController waits until each controller that leaves a trace in a fresh cluster has left it. A test that finds `view` without
// rules, or a namespace without its service account, would fail for no reason of its own.
func (c *Cluster) awaitController(ctx context.Context) error {
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	core := schema.GroupVersion{Version: "v1"}
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	for _, role := range []string{"admin", "edit", "view"} {
		if err := awaitObject(ctx, client.Resource(roles), role, hasRules); err != nil {
			return err
		}
	}
	accounts := client.Resource(core.WithResource("serviceaccounts")).Namespace(metav1.NamespaceDefault)
	if err := awaitObject(ctx, accounts, "default", exists); err != nil {
		return err
	}
	configMaps := client.Resource(core.WithResource("configmaps")).Namespace(metav1.NamespaceDefault)
	if err := awaitObject(ctx, configMaps, "kube-root-ca.crt", exists); err != nil {
		return err
	}
	c.site.note("%s kube-controller-manager at work", c.Name)
	return nil
}

func awaitObject(ctx context.Context, from dynamic.ResourceInterface, name string, check func(*unstructured.Unstructured) error) error {
	return await(ctx, "waiting for "+name, func(ctx context.Context) error {
		object, err := from.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(object)
	})
}

func exists(*unstructured.Unstructured) error {
	return nil
}

func hasRules(role *unstructured.Unstructured) error {
	if rules, _, _ := unstructured.NestedSlice(role.Object, "rules"); len(rules) == 0 {
		return fmt.Errorf("cluster role %s has no rules yet", role.GetName())
	}
	return nil
}
