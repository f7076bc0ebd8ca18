package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSymbolVersions: FUNC@VERSION is the function with that version of its symbol, FUNC all of them.
func TestSymbolVersions(t *testing.T) {
	need(t, "gcc")
	dir := t.TempDir()
	source, err := filepath.Abs("programs/versions.c")
	if err != nil {
		t.Fatal(err)
	}
	script, lib, prog := filepath.Join(dir, "map"), filepath.Join(dir, "libversions.so"), filepath.Join(dir, "prog")
	if err := os.WriteFile(script, []byte("V1 { global: f; local: *; };\nV2 { global: f; } V1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, stripped := range []bool{false, true} {
		debug := "-g"
		if stripped {
			debug = "-s"
		}
		for _, args := range [][]string{
			{"gcc", debug, "-O1", "-shared", "-fPIC", "-Wl,--version-script=" + script, "-o", lib, source},
			{"gcc", "-DPROGRAM", "-o", prog, source, lib, "-Wl,-rpath," + dir},
		} {
			if res := run(t, args...); res.status != 0 {
				t.Fatal(res.stderr)
			}
		}
		for _, c := range []struct{ place, want string }{
			{"uprobe:" + lib + ":f@V1", "arg0=7"},
			{"uprobe:" + lib + ":f@@V2", "arg0=5"},
			{"uprobe:" + lib + ":f@V2", "arg0=5"},
			{"uprobe:" + lib + ":f", "arg0=7 arg0=5"},
			{"uprobe:" + lib + ":f@@V1", "its versions here are f@V1, f@@V2"},
		} {
			res := jalon(t, "trace", c.place, "-c", "arg0", "--", prog)
			var got []string
			for _, word := range strings.Fields(res.stdout) {
				if strings.HasPrefix(word, "arg0=") {
					got = append(got, word)
				}
			}
			if s := strings.Join(got, " "); s != c.want && (len(got) > 0 || !strings.Contains(res.stderr, c.want)) {
				t.Errorf("%s: %q, want %q\n%s%s", c.place, s, c.want, res.stdout, res.stderr)
			}
		}
	}
}
