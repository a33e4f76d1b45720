package certs

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRSAAuthorityKeyIsPKCS1(t *testing.T) {
	authority, err := NewRSA("shoot client CA")
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(authority.Key)
	if block == nil || block.Type != "RSA PRIVATE KEY" || len(rest) != 0 {
		t.Fatalf("key is not one RSA PRIVATE KEY block: %v", block)
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		t.Fatalf("key is not PKCS#1: %v", err)
	}
	if cert := parse(t, authority.Cert); !cert.IsCA {
		t.Fatal("certificate is not a CA")
	}
}

func TestServingCertificateIsValidForLoopback(t *testing.T) {
	authority, err := New("serving CA")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Serving("gardener-apiserver", "gardener-apiserver.kube-system.svc")
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, pair.Cert)
	for _, name := range []string{"127.0.0.1", "localhost", "gardener-apiserver.kube-system.svc"} {
		if _, err := cert.Verify(x509.VerifyOptions{Roots: pool(authority), DNSName: name}); err != nil {
			t.Errorf("not valid for %s: %v", name, err)
		}
	}
	if err := cert.VerifyHostname("example.org"); err == nil {
		t.Error("valid for a name it was not made for")
	}
}

func TestClientCertificateNamesUserAndGroups(t *testing.T) {
	for name, make := range map[string]func(string) (*Authority, error){"ecdsa": New, "rsa": NewRSA} {
		authority, err := make("client CA")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := authority.Client("admin", "system:masters")
		if err != nil {
			t.Fatal(err)
		}
		cert := parse(t, pair.Cert)
		if cert.Subject.CommonName != "admin" || !slices.Equal(cert.Subject.Organization, []string{"system:masters"}) {
			t.Errorf("%s: wrong subject %v", name, cert.Subject)
		}
		options := x509.VerifyOptions{Roots: pool(authority), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := cert.Verify(options); err != nil {
			t.Errorf("%s: not signed by its CA for clients: %v", name, err)
		}
	}
}

func TestOtherAuthorityIsNotTrusted(t *testing.T) {
	one, err := New("CA")
	if err != nil {
		t.Fatal(err)
	}
	other, err := New("CA")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := one.Client("admin")
	if err != nil {
		t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: pool(other), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := parse(t, pair.Cert).Verify(options); err == nil {
		t.Fatal("a certificate of one CA passes for one of another CA with the same name")
	}
}

func TestSigningKeyHalvesBelongTogether(t *testing.T) {
	private, public, err := SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	privateBlock, _ := pem.Decode(private)
	key, err := x509.ParsePKCS8PrivateKey(privateBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	publicBlock, _ := pem.Decode(public)
	half, err := x509.ParsePKIXPublicKey(publicBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !key.(*ecdsa.PrivateKey).PublicKey.Equal(half) {
		t.Fatal("public key is not that of the private key")
	}
}

func TestWrittenFilesAreForTheOwnerOnly(t *testing.T) {
	authority, err := New("CA")
	if err != nil {
		t.Fatal(err)
	}
	certPath, keyPath := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "ca.key")
	if err := authority.Write(certPath, keyPath); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{certPath, keyPath} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(path), info.Mode().Perm())
		}
	}
}

func parse(t *testing.T, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	if block == nil {
		t.Fatal("not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func pool(authority *Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Cert)
	return pool
}
