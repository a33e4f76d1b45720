package landscape

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"allotment/landscape/internal/certs"
	"allotment/landscape/internal/ports"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Group of users to whom every API server grants everything, without looking at RBAC.
const masters = "system:masters"

// Cluster is one kube-apiserver with its own authorities, its own keys and its own part of etcd, and the
// kube-controller-manager that belongs to it. Nothing of one cluster is any good in another: a mix-up shows as an error.
type Cluster struct {
	Name      string
	site      *site
	port      *ports.Reservation
	clientCA  *certs.Authority
	servingCA *certs.Authority
	admin     *rest.Config
}

// newCluster makes the keys and files that the servers of a cluster need. newClientCA says which kind of key signs its users.
func newCluster(s *site, name string, newClientCA func(string) (*certs.Authority, error)) (*Cluster, error) {
	c := &Cluster{Name: name, site: s}
	if err := os.MkdirAll(c.pki(), 0o700); err != nil {
		return nil, err
	}
	var err error
	if c.port, err = ports.Reserve(); err != nil {
		return nil, err
	}
	if c.clientCA, err = newClientCA(name + " clients"); err != nil {
		return nil, err
	}
	if c.servingCA, err = certs.New(name + " servers"); err != nil {
		return nil, err
	}
	if err := c.writeKeys(); err != nil {
		return nil, err
	}
	if c.admin, err = c.writeKubeconfig(c.Kubeconfig(), "admin"); err != nil {
		return nil, err
	}
	_, err = c.writeKubeconfig(c.controllerKubeconfig(), "kube-controller-manager")
	return c, err
}

// URL is where the API server answers.
func (c *Cluster) URL() string {
	return "https://" + c.port.Address()
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string {
	return c.site.dir.File(c.Name + ".kubeconfig")
}

func (c *Cluster) pki(elements ...string) string {
	return c.site.dir.File(append([]string{"pki", c.Name}, elements...)...)
}

func (c *Cluster) controllerKubeconfig() string {
	return c.pki("controller-manager.kubeconfig")
}

func (c *Cluster) writeKeys() error {
	if err := c.clientCA.Write(c.pki("client-ca.crt"), c.pki("client-ca.key")); err != nil {
		return err
	}
	if err := c.servingCA.Write(c.pki("serving-ca.crt"), c.pki("serving-ca.key")); err != nil {
		return err
	}
	serving, err := c.servingCA.Serving("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	if err := serving.Write(c.pki("serving.crt"), c.pki("serving.key")); err != nil {
		return err
	}
	private, public, err := certs.SigningKey()
	if err != nil {
		return err
	}
	return certs.Pair{Cert: public, Key: private}.Write(c.pki("service-account.pub"), c.pki("service-account.key"))
}

// writeKubeconfig makes a kubeconfig for a user who may do everything, with all keys inside, and the same as a client's
// configuration.
func (c *Cluster) writeKubeconfig(path, user string) (*rest.Config, error) {
	pair, err := c.clientCA.Client(user, masters)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthorityData: c.servingCA.Cert}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return nil, err
	}
	client, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	client.QPS = -1 // loading manifests is a burst, and the server is ours
	return client, nil
}

// start runs both servers and returns when the cluster is as a client expects a fresh one.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.startServer(ctx); err != nil {
		return err
	}
	if err := c.startController(); err != nil {
		return err
	}
	return c.awaitController(ctx)
}

// startServer runs the kube-apiserver and returns when it is ready, which includes the roles that RBAC starts with.
func (c *Cluster) startServer(ctx context.Context, more ...string) error {
	flags := append([]string{
		"--etcd-servers=" + c.site.etcdURL,
		"--etcd-prefix=/" + c.Name,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port.Port),
		"--tls-cert-file=" + c.pki("serving.crt"),
		"--tls-private-key-file=" + c.pki("serving.key"),
		"--client-ca-file=" + c.pki("client-ca.crt"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=" + c.URL(),
		"--service-account-key-file=" + c.pki("service-account.pub"),
		"--service-account-signing-key-file=" + c.pki("service-account.key"),
		// There is no other API server to find through the endpoints of `kubernetes`, and loopback would be refused there.
		"--endpoint-reconciler-type=none",
		"--profiling=false",
	}, more...)
	if err := c.site.group.Start(c.Name+"-apiserver", "kube-apiserver", flags...); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// startController runs the kube-controller-manager with the few controllers whose work a client of the cluster can see.
func (c *Cluster) startController() error {
	return c.site.group.Start(c.Name+"-controller-manager", "kube-controller-manager",
		"--kubeconfig="+c.controllerKubeconfig(),
		"--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,serviceaccount-token-controller,"+
			"root-ca-certificate-publisher-controller,clusterrole-aggregation-controller",
		"--service-account-private-key-file="+c.pki("service-account.key"),
		"--root-ca-file="+c.pki("serving-ca.crt"),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		// The defaults are made for a production server; here they would make the deletion of a namespace take seconds.
		"--kube-api-qps=500",
		"--kube-api-burst=500",
	)
}

func (c *Cluster) dynamic() (dynamic.Interface, error) {
	return dynamic.NewForConfig(c.admin)
}

func (c *Cluster) httpClient() (*http.Client, error) {
	return rest.HTTPClientFor(c.admin)
}
