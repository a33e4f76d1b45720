package landscape

import (
	"os"

	"allotment/landscape/internal/certs"

	"github.com/gardener/gardener/pkg/utils/workloadidentity"
	"k8s.io/client-go/util/keyutil"
)

// workloadIdentityIssuer is what tokens of WorkloadIdentities name as their issuer. Nobody can reach it: whoever checks a token is
// given the keys.
const workloadIdentityIssuer = "https://issuer.landscape.example/garden/workload-identity"

// writeSigningKey makes the key that gardener-apiserver signs tokens of WorkloadIdentities with, and the document that a cloud
// would read at the issuer to check them.
func (g *Garden) writeSigningKey() error {
	private, public, err := certs.SigningKey()
	if err != nil {
		return err
	}
	if err := os.WriteFile(g.pki("workload-identity.key"), private, 0o600); err != nil {
		return err
	}
	keys, err := keyutil.ParsePublicKeysPEM(public)
	if err != nil {
		return err
	}
	jwks, err := workloadidentity.JWKS(keys...)
	if err != nil {
		return err
	}
	return os.WriteFile(g.jwks(), jwks, 0o600)
}

func (g *Garden) jwks() string {
	return g.pki("workload-identity.jwks")
}

func (g *Garden) workloadIdentityFlags() []string {
	return []string{
		"--workload-identity-token-issuer=" + workloadIdentityIssuer,
		"--workload-identity-signing-key-file=" + g.pki("workload-identity.key"),
	}
}
