package landscape

import (
	"encoding/json"
	"math"
	"os"
	"time"
)

// Report tells a test how to use a landscape. Its JSON form is a contract, described in README.md.
type Report struct {
	Dir              string        `json:"dir"`
	PID              int           `json:"pid"`
	ReadySeconds     float64       `json:"readySeconds"`
	Project          string        `json:"project"`
	Namespace        string        `json:"namespace"`
	Kubectl          string        `json:"kubectl"`
	Garden           Access        `json:"garden"`
	WorkloadIdentity Issuer        `json:"workloadIdentity"`
	ControlPlane     Access        `json:"controlPlane"`
	Shoots           []ShootAccess `json:"shoots"`
}

// Issuer of the tokens of WorkloadIdentities.
type Issuer struct {
	Issuer string `json:"issuer"`
	JWKS   string `json:"jwks"`
}

// Access to one API server, as its administrator.
type Access struct {
	URL        string `json:"url"`
	Kubeconfig string `json:"kubeconfig"`
}

// ShootAccess adds what a fake gardenlet has to publish about a shoot: its authorities.
type ShootAccess struct {
	Name string `json:"name"`
	Access
	ClientCACert  string `json:"clientCaCert"`
	ClientCAKey   string `json:"clientCaKey"`
	ServingCACert string `json:"servingCaCert"`
}

// Line is the report as one line of JSON.
func (r Report) Line() ([]byte, error) {
	line, err := json.Marshal(r)
	return append(line, '\n'), err
}

func (r Report) write(path string) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	return os.WriteFile(path, line, 0o600)
}

func (l *Landscape) report(took time.Duration) Report {
	r := Report{
		Dir:              l.dir.Path,
		PID:              os.Getpid(),
		ReadySeconds:     math.Round(took.Seconds()*100) / 100,
		Project:          "kyma",
		Namespace:        "garden-kyma",
		Kubectl:          l.dir.File("kubectl"),
		Garden:           l.garden.access(),
		WorkloadIdentity: Issuer{Issuer: workloadIdentityIssuer, JWKS: l.garden.jwks()},
		ControlPlane:     l.controlPlane.access(),
		Shoots:           []ShootAccess{},
	}
	for _, shoot := range l.shoots {
		r.Shoots = append(r.Shoots, ShootAccess{
			Name:          shoot.Name,
			Access:        shoot.access(),
			ClientCACert:  shoot.pki("client-ca.crt"),
			ClientCAKey:   shoot.pki("client-ca.key"),
			ServingCACert: shoot.pki("serving-ca.crt"),
		})
	}
	return r
}

func (c *Cluster) access() Access {
	return Access{URL: c.URL(), Kubeconfig: c.Kubeconfig()}
}
