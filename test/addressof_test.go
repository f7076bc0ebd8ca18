package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAddressOfSome: the address of a variable that is in a register at one of two places is missing there only.
func TestAddressOfSome(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "addressof.c", "-O1", "-g")
	reg, mem := lineWith(t, "programs/addressof.c", "// in a register"), lineWith(t, "programs/addressof.c", "// in memory")
	for _, engine := range []string{"process", "kernel"} {
		file := filepath.Join(t.TempDir(), "events")
		r := jalon(t, "trace", "-f", "json", "-o", file, "--engine", engine, "-c", "v, &v, v@1", reg, mem, "--", prog)
		hits := map[string]int64{}
		for _, e := range readEvents(t, file) {
			n := hits[e.Place]
			hits[e.Place]++
			factor := map[string]int64{reg: 3, mem: 5}[e.Place]
			if got := e.Num(t, "v"); got != n*factor {
				t.Errorf("%s, %s, hit %d: v is %d", engine, e.Place, n, got)
			}
			for _, x := range []string{"&v", "v@1"} {
				_, has := e.Values[x]
				if has = has && e.Values[x] != nil; has != (e.Place == mem) || !has && !strings.Contains(e.Errors[x], "not in memory") {
					t.Errorf("%s, %s: %s is %v (%s)", engine, e.Place, x, e.Values[x], e.Errors[x])
				}
			}
		}
		if hits[reg] != 4 || hits[mem] != 4 {
			t.Errorf("%s: %v: %s", engine, hits, r.stderr)
		}
	}
}
