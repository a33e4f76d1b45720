// Package certs makes the throw-away certificates of one landscape.
//
// Keys are ECDSA P-256, because making one takes microseconds and an RSA key a good part of a second. The one exception is the
// client CA of a shoot, see NewRSA.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// Longer than anybody leaves a landscape running, short enough that a leaked one is worthless soon.
const lifetime = 7 * 24 * time.Hour

// A clock that was set back a little, or a client on a slightly different clock, must not see a certificate from the future.
const backdated = time.Hour

// Pair is a certificate with its private key, both as PEM.
type Pair struct {
	Cert []byte
	Key  []byte
}

// Write puts both halves into files, readable by the owner only.
func (p Pair) Write(certPath, keyPath string) error {
	if err := os.WriteFile(certPath, p.Cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(keyPath, p.Key, 0o600)
}

// Authority is a certificate authority that signs in this process.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  crypto.Signer
}

// New makes an authority with an ECDSA key.
func New(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeECDSA(key)
	if err != nil {
		return nil, err
	}
	return newAuthority(commonName, key, keyPEM)
}

// NewRSA makes an authority with an RSA key in PKCS#1 form ("RSA PRIVATE KEY"). gardener-apiserver signs adminkubeconfig
// certificates with the client CA it finds in `<shoot>.ca-client`, and it reads no other form: anything else is an error 500.
func NewRSA(commonName string) (*Authority, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return newAuthority(commonName, key, keyPEM)
}

// Serving signs a certificate for a server that answers on loopback and, beside that, under the given DNS names.
func (a *Authority) Serving(commonName string, dnsNames ...string) (Pair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    append([]string{"localhost"}, dnsNames...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

// Client signs a certificate for a user in the given groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// SigningKey makes a key pair without a certificate, as service account tokens are signed with.
func SigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if private, err = encodeECDSA(key); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

func newAuthority(commonName string, key crypto.Signer, keyPEM []byte) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := create(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: Pair{Cert: encodeCert(der), Key: keyPEM}, cert: cert, key: key}, nil
}

func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	der, err := create(template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	keyPEM, err := encodeECDSA(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodeCert(der), Key: keyPEM}, nil
}

func create(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) ([]byte, error) {
	// 127 random bits: unique without keeping count, and positive as X.509 wants it.
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template.SerialNumber = serial
	template.NotBefore = now.Add(-backdated)
	template.NotAfter = now.Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign certificate for %q: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// PKCS#8, because every TLS library reads it; some read SEC1 ("EC PRIVATE KEY") only when told to.
func encodeECDSA(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
