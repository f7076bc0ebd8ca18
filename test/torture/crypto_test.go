package torture

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// private copies a library to a directory that only tests use, for LD_LIBRARY_PATH or
// LD_PRELOAD.
func private(t *testing.T, library string) string {
	t.Helper()
	if library == "" {
		return ""
	}
	b, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(tempDir, "private")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, filepath.Base(library))
	if err := os.WriteFile(name, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

const (
	secretKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	secretIV  = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
)

// opensslCommands are digests, a cipher, a signature and its verification.
var opensslCommands = [][]string{
	{"openssl", "dgst", "-sha256", "in"},
	{"openssl", "dgst", "-sha3-512", "in"},
	{"openssl", "enc", "-aes-256-cbc", "-K", secretKey, "-iv", secretIV, "-a", "-A", "-in", "in"},
	{"openssl", "dgst", "-sha256", "-sign", "key.pem", "-hex", "in"},
	{"openssl", "dgst", "-sha256", "-verify", "pub.pem", "-signature", "sig", "in"},
	{"openssl", "pkey", "-in", "key.pem", "-check", "-noout", "-text"},
}

func opensslFiles(t *testing.T, dir string) {
	sortable(t, dir)
	must(t, dir, "openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "key.pem")
	must(t, dir, "openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "pub.pem")
	must(t, dir, "openssl", "dgst", "-sha256", "-sign", "key.pem", "-out", "sig", "in")
}

// opensslKnown compares openssl's output with Go's results.
func opensslKnown(dir, out string) error {
	in, err := os.ReadFile(filepath.Join(dir, "in"))
	if err != nil {
		return err
	}
	want := []string{"Verified OK", "Key is valid"}
	sum, sum3 := sha256.Sum256(in), sha3.Sum512(in)
	want = append(want, hex.EncodeToString(sum[:]), hex.EncodeToString(sum3[:]), encrypted(in))
	b, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		return err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return errors.New("key.pem has no key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return err
	}
	sig, err := key.(*rsa.PrivateKey).Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return err
	}
	for _, w := range append(want, hex.EncodeToString(sig)) {
		if !strings.Contains(out, w) {
			return fmt.Errorf("openssl does not say %q", w)
		}
	}
	return nil
}

// encrypted is the text in AES-256-CBC with openssl's padding, in base64.
func encrypted(in []byte) string {
	key, _ := hex.DecodeString(secretKey)
	iv, _ := hex.DecodeString(secretIV)
	c, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	pad := aes.BlockSize - len(in)%aes.BlockSize
	for range pad {
		in = append(in, byte(pad))
	}
	cipher.NewCBCEncrypter(c, iv).CryptBlocks(in, in)
	return base64.StdEncoding.EncodeToString(in)
}

// pythonKnown: Python's own big numbers check libcrypto's, in the script.
func pythonKnown(_, out string) error {
	if n := strings.Count(out, "\nbn "); n != 5 || strings.Count(out, " True") < 10 {
		return fmt.Errorf("%d sets of large numbers, want 5; or what was encrypted does not come back", n)
	}
	return nil
}
