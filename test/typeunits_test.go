package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTypeUnits: with type units, the names of types have the meaning in the unit that refers to them, not
// in the first unit of the file. The program prints their values.
func TestTypeUnits(t *testing.T) {
	need(t, "gcc", "g++", "clang", "clang++")
	for _, build := range []string{
		"gcc -O1 -gdwarf-4 -fdebug-types-section",
		"gcc -O2 -gdwarf-5 -fdebug-types-section",
		"g++ -xc++ -O1 -gdwarf-4 -fdebug-types-section",
		"g++ -xc++ -O0 -gdwarf-5 -fdebug-types-section",
		"clang -O0 -gdwarf-4 -fdebug-types-section",
		"clang++ -xc++ -DOWN -O0 -gdwarf-4 -fdebug-types-section",
		"g++ -xc++ -DOWN -O0 -gdwarf-4 -fdebug-types-section",
		"clang++ -xc++ -DOWN -O0 -gdwarf-5 -fdebug-types-section",
	} {
		t.Run(build, func(t *testing.T) {
			prog := filepath.Join(t.TempDir(), "typeunits")
			flags := strings.Fields(build)
			args := append(flags[:len(flags):len(flags)], "-w", "-o", prog)
			deep := "sizeof(struct deep)"
			if strings.Contains(build, "++") {
				deep = "sizeof(N::deep)"
			}
			for _, f := range []string{"a", "b"} {
				abs, err := filepath.Abs("programs/typeunits/" + f + ".c")
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, abs)
			}
			run(t, args...)
			for _, f := range []string{"fa", "fb"} {
				list := "sizeof(word), sizeof(struct word), sizeof(unnamed), sizeof(struct outer), sizeof(union both), RED + 0, ((word *)p)->first + 0, color_" + f[1:] + ", " + deep
				compareLTO(t, prog, f, f, list, []string{deep, "sizeof(DEEP)", "inner", "struct inner"})
			}
		})
	}
}
