package landscape

import (
	"context"
	"encoding/base64"
	"fmt"

	"allotment/landscape/internal/apply"
	"allotment/landscape/internal/certs"
	"allotment/landscape/internal/ports"
	"allotment/landscape/manifests"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Garden is the cluster whose API server also serves Gardener's kinds: a kube-apiserver with a gardener-apiserver behind its
// aggregator.
type Garden struct {
	*Cluster
	gardenerPort *ports.Reservation
	frontProxyCA *certs.Authority
}

// gardenerGroups are what gardener-apiserver v1.150 serves.
var gardenerGroups = []struct{ version, group string }{
	{"v1", "core.gardener.cloud"},
	{"v1beta1", "core.gardener.cloud"},
	{"v1alpha1", "seedmanagement.gardener.cloud"},
	{"v1alpha1", "operations.gardener.cloud"},
	{"v1alpha1", "security.gardener.cloud"},
}

func newGarden(s *site) (*Garden, error) {
	cluster, err := newCluster(s, "garden", certs.New)
	if err != nil {
		return nil, err
	}
	g := &Garden{Cluster: cluster}
	if g.gardenerPort, err = ports.Reserve(); err != nil {
		return nil, err
	}
	if g.frontProxyCA, err = certs.New("garden front proxy"); err != nil {
		return nil, err
	}
	if err := g.frontProxyCA.Write(g.pki("front-proxy-ca.crt"), g.pki("front-proxy-ca.key")); err != nil {
		return nil, err
	}
	proxy, err := g.frontProxyCA.Client("aggregator")
	if err != nil {
		return nil, err
	}
	if err := proxy.Write(g.pki("front-proxy.crt"), g.pki("front-proxy.key")); err != nil {
		return nil, err
	}
	// The aggregator reaches the server under its service name, whatever address it dials.
	serving, err := g.servingCA.Serving("gardener-apiserver", "gardener-apiserver.kube-system.svc")
	if err != nil {
		return nil, err
	}
	if err := serving.Write(g.pki("gardener.crt"), g.pki("gardener.key")); err != nil {
		return nil, err
	}
	if err := g.writeSigningKey(); err != nil {
		return nil, err
	}
	_, err = g.writeKubeconfig(g.gardenerKubeconfig(), "gardener-apiserver")
	return g, err
}

// start brings the garden from nothing to the point where every Shoot in manifests/shoots would be accepted.
func (g *Garden) start(ctx context.Context) error {
	err := g.startServer(ctx,
		"--requestheader-client-ca-file="+g.pki("front-proxy-ca.crt"),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+g.pki("front-proxy.crt"),
		"--proxy-client-key-file="+g.pki("front-proxy.key"),
	)
	if err != nil {
		return err
	}
	if err := g.startGardener(); err != nil {
		return err
	}
	client, err := g.dynamic()
	if err != nil {
		return err
	}
	// What needs no gardener-apiserver is loaded while that starts.
	if err := applyFolder(ctx, client, "garden-core"); err != nil {
		return err
	}
	g.site.note("garden has namespaces and secrets")
	if err := g.awaitGardener(ctx); err != nil {
		return err
	}
	g.site.note("gardener-apiserver ready")
	if err := apply.Apply(ctx, client, g.aggregation()...); err != nil {
		return err
	}
	if err := g.awaitAggregation(ctx); err != nil {
		return err
	}
	g.site.note("garden aggregates gardener-apiserver")
	// Only now: the garbage collector asks for the kinds it has to watch when it starts, and then only every 30 seconds.
	if err := g.startController(); err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return g.awaitController(ctx) })
	work.Go(func() error {
		if err := applyFolder(ctx, client, "garden"); err != nil {
			return err
		}
		g.site.note("garden has its objects")
		if err := tryShoots(ctx, client); err != nil {
			return err
		}
		g.site.note("garden accepts shoots")
		return nil
	})
	return work.Wait()
}

func (g *Garden) gardenerKubeconfig() string {
	return g.pki("gardener-apiserver.kubeconfig")
}

// startGardener leaves every admission plugin that is on by default on: refusing what a real garden refuses is what a landscape
// is for.
func (g *Garden) startGardener() error {
	flags := append(g.workloadIdentityFlags(),
		"--etcd-servers="+g.site.etcdURL,
		"--etcd-prefix=/gardener",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", g.gardenerPort.Port),
		"--tls-cert-file="+g.pki("gardener.crt"),
		"--tls-private-key-file="+g.pki("gardener.key"),
		"--kubeconfig="+g.gardenerKubeconfig(),
		"--authentication-kubeconfig="+g.gardenerKubeconfig(),
		"--authorization-kubeconfig="+g.gardenerKubeconfig(),
		"--authorization-always-allow-paths=/healthz,/readyz",
		"--cluster-identity=landscape",
		"--profiling=false",
		"--log-format=text",
	)
	return g.site.group.Start("gardener-apiserver", "gardener-apiserver", flags...)
}

func (g *Garden) awaitGardener(ctx context.Context) error {
	client, err := g.httpClient()
	if err != nil {
		return err
	}
	return awaitOK(ctx, client, "https://"+g.gardenerPort.Address()+"/readyz")
}

// awaitAggregation waits until every group answers through the kube-apiserver.
func (g *Garden) awaitAggregation(ctx context.Context) error {
	client, err := g.httpClient()
	if err != nil {
		return err
	}
	for _, served := range gardenerGroups {
		if err := awaitOK(ctx, client, g.URL()+"/apis/"+served.group+"/"+served.version); err != nil {
			return err
		}
	}
	return awaitOK(ctx, client, g.URL()+"/apis/core.gardener.cloud/v1beta1/shoots")
}

// aggregation is what makes the kube-apiserver pass requests on. The Service is of type ExternalName because an Endpoints object
// must not hold a loopback address.
func (g *Garden) aggregation() []*unstructured.Unstructured {
	const name, namespace = "gardener-apiserver", "kube-system"
	objects := []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   map[string]any{"name": name, "namespace": namespace},
		"spec":       map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}}}
	for _, served := range gardenerGroups {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1",
			"kind":       "APIService",
			"metadata":   map[string]any{"name": served.version + "." + served.group},
			"spec": map[string]any{
				"group":                served.group,
				"version":              served.version,
				"groupPriorityMinimum": int64(100),
				"versionPriority":      int64(100),
				"caBundle":             base64.StdEncoding.EncodeToString(g.servingCA.Cert),
				"service":              map[string]any{"name": name, "namespace": namespace, "port": int64(g.gardenerPort.Port)},
			},
		}})
	}
	return objects
}

// tryShoots creates every example Shoot without storing it. When that succeeds, the informers behind gardener-apiserver's
// admission plugins have seen everything that was loaded.
func tryShoots(ctx context.Context, client dynamic.Interface) error {
	shoots, err := manifests.Folder("shoots")
	if err != nil {
		return err
	}
	for _, shoot := range shoots {
		create := func(ctx context.Context) error {
			options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
			_, err := apply.Resource(client, shoot).Create(ctx, shoot, options)
			return err
		}
		if err := apply.Retry(ctx, create); err != nil {
			return fmt.Errorf("try Shoot %s: %w", shoot.GetName(), err)
		}
	}
	return nil
}

func applyFolder(ctx context.Context, client dynamic.Interface, folder string) error {
	objects, err := manifests.Folder(folder)
	if err != nil {
		return err
	}
	return apply.Apply(ctx, client, objects...)
}
