package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmbedded: members of Go's embedded fields, and of the types that a type of Fortran extends, by their names alone.
func TestEmbedded(t *testing.T) {
	src, err := os.ReadFile("programs/embedded.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "embedded")
	if err := os.WriteFile(filepath.Join(dir, "embedded.go"), src, 0o600); err != nil {
		t.Fatal(err)
	}
	buildOther(t, dir, "go", "build", "-gcflags=-N -l", "-o", prog, "embedded.go")
	matchesAll(t, jalon(t, "trace", "-q", "main.embedded if e.v == 11 && p.w == 21", "-c", "e.v, e.w, p.over, e.far, p.far, e.base.over", "--", prog),
		`e\.v=11 e\.w=21 p\.over=31 e\.far=41 p\.far=41 e\.base\.over=2$`)
	for name, want := range map[string]string{"e.hidden": `has no member "hidden"`, "e.absent": `has no member "absent"`} {
		if r := jalon(t, "trace", "main.embedded", "-c", name, "--", prog); r.status == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, %s", name, r.status, r.stderr)
		}
	}
	source, err := filepath.Abs("programs/extends.f90")
	if err != nil {
		t.Fatal(err)
	}
	prog = filepath.Join(dir, "extends")
	buildOther(t, dir, "gfortran", "-g", "-J", dir, "-o", prog, source)
	matchesAll(t, jalon(t, "trace", "-q", "show if e.k == 5", "-c", "e.k, e.m, e.z, e.middle.k", "--", prog), `e\.k=5 e\.m=6 e\.z=7 e\.middle\.k=5$`)
}
