package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// User is who a server over TLS lets in. The password has all that a URL has to escape.
const (
	User     = "limiter"
	Password = "pw:@/?#%20&"
)

// TLS starts servers that speak nothing else and let only [User] in, also for their replication
// and their Cluster bus. They show a certificate that nobody trusts who was not told of it.
type TLS struct {
	t                 testing.TB
	certFile, keyFile string
	roots             *x509.CertPool
}

// NewTLS makes a certificate, which signs itself.
func NewTLS(t testing.TB) *TLS {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		// The nodes of a Cluster show it to each other from both ends.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}

	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}

	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	c := &TLS{t: t, roots: x509.NewCertPool()}
	c.certFile, c.keyFile = c.write("CERTIFICATE", cert), c.write("PRIVATE KEY", secret)

	pem, _ := os.ReadFile(c.certFile)
	if !c.roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate in " + c.certFile)
	}

	return c
}

func (c *TLS) write(kind string, der []byte) (file string) {
	file = filepath.Join(c.t.TempDir(), "pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		c.t.Fatal(err)
	}

	return file
}

// CAFile is for clients that are programs: SSL_CERT_FILE names it to those in Go.
func (c *TLS) CAFile() string { return c.certFile }

// Config is that of a client that trusts the certificate.
func (c *TLS) Config() *tls.Config {
	return &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
}

// Start is as the function [Start].
func (c *TLS) Start(args ...string) *Server {
	c.t.Helper()

	return start(c.t, func() *Server { return reserve(c.t, c, args...) })
}

// args come after the plain ones, so that the port becomes that of TLS. There are none for nil.
func (c *TLS) args(port int) []string {
	if c == nil {
		return nil
	}

	return []string{
		"--port", "0",
		"--tls-port", fmt.Sprint(port),
		"--tls-cert-file", c.certFile,
		"--tls-key-file", c.keyFile,
		"--tls-ca-cert-file", c.certFile,
		"--tls-auth-clients", "no",
		"--tls-replication", "yes",
		"--masteruser", User,
		"--masterauth", Password,
		"--user", "default", "off",
		"--user", User, "on", ">" + Password, "~*", "&*", "+@all",
	}
}

func (c *TLS) url(addr string) string {
	u := url.URL{Scheme: "rediss", User: url.UserPassword(User, Password), Host: addr, Path: "/0"}

	return u.String()
}

// sentinel are the lines with which sentinels let themselves in, at the servers and at each other.
func (c *TLS) sentinel() string {
	return fmt.Sprintf(`sentinel auth-user %[1]s %[2]s
sentinel auth-pass %[1]s %[3]q
sentinel sentinel-user %[2]s
sentinel sentinel-pass %[3]q
`, masterName, User, Password)
}
