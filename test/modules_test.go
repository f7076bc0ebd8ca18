package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFortranModules: names of modules mean what they mean in the procedure, PARAMETER constants too: its own, those of what is
// around it and of the modules that it uses. A name that two used modules have has no value.
func TestFortranModules(t *testing.T) {
	source, err := filepath.Abs("programs/modules.f90")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-O0 -gdwarf-5", "-O1 -gdwarf-4 -fno-inline", "-O2 -gdwarf-5 -fno-inline"} {
		dir := t.TempDir()
		prog := filepath.Join(dir, "modules")
		args := append([]string{"gfortran", "-J", dir, "-o", prog}, strings.Fields(flags)...)
		buildOther(t, dir, append(args, source, filepath.Join(filepath.Dir(source), "moduleuse.f90"))...)
		both := `"errors":\{"NAME":"several modules have it: write (consts::NAME or other|other::NAME or consts)::NAME"\}`
		for _, x := range []struct{ format, place, collect, want string }{
			{"text", "inner+0", "whole, same, pi, yes, word, list, z, hidden, changed, own", `whole=17 same=1 pi=3\.5 yes=true word="hello" list=\{4, 5, 6\} z=1\.5 \+ 2\.5i hidden=18 changed=3 own=99$`},
			{"text", "inner+0 if whole == 17 && list(2) == 5", "twice, other::same, other::changed", `twice=5 other::same=2 other::changed=4$`},
			{"text", "within.0+0", "same, around, twice, changed, whole", `same=2 around=41 twice=6 changed=4 whole=17$`},
			{"text", "outside+0", "whole, word, twice, consts::same, other::same", `whole=17 word="hello" twice=5 consts::same=1 other::same=2$`},
			{"json", "outside+0", "same", strings.ReplaceAll(both, "NAME", "same")},
			{"json", "outside+0", "changed", strings.ReplaceAll(both, "NAME", "changed")},
		} {
			matchesAll(t, jalon(t, "trace", "-q", "-f", x.format, x.place, "-c", x.collect, "--", prog), x.want)
		}
	}
}
