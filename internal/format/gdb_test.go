package format

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// build compiles testdata/values.c, without relocation at load time, so that
// the file has the bytes of every global.
func build(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "values")
	args := append([]string{"-g", "-O0", "-no-pie", "-w", "-o", out}, flags...)
	cmd := exec.Command(compiler, append(args, "testdata/values.c")...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, msg)
	}
	return out
}

// gdbSays runs print/FMT for all variables and formats; errors leave no answer.
func gdbSays(t testing.TB, path, locale string, vars []variable, fmts string) map[string]string {
	t.Helper()
	var in strings.Builder
	in.WriteString("set prompt\nset width 0\nset confirm off\n")
	for _, v := range vars {
		for _, f := range " " + fmts {
			slash := strings.TrimSpace("/" + string(f))
			if slash == "/" {
				slash = ""
			}
			in.WriteString("echo \\n@@" + v.name + slash + "\\n\nprint" + slash + " " + v.name + "\n")
		}
	}
	cmd := exec.Command("gdb", "-nx", "-q", path)
	cmd.Env = append(os.Environ(), "LC_ALL="+locale, "TERM=dumb", "DEBUGINFOD_URLS=")
	cmd.Stdin = strings.NewReader(in.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, stderr.Bytes())
	}
	says := map[string]string{}
	key := ""
	for line := range strings.SplitSeq(string(out), "\n") {
		if rest, ok := strings.CutPrefix(line, "@@"); ok {
			key = rest
		} else if i := strings.Index(line, " = "); strings.HasPrefix(line, "$") && i > 0 {
			says[key] = line[i+3:]
		}
	}
	return says
}

// gdbErrs holds where GDB 13 itself is wrong and we are not it.
var gdbErrs = map[string]string{
	"str_cut":   "drops the character before an incomplete sequence",
	"str_cut/s": "drops the character before an incomplete sequence",
	"u128p":     "garbles clang's name \"unsigned __int128\"",
	"u128p/s":   "garbles clang's name \"unsigned __int128\"",
	"fcp":       "garbles clang's name \"complex float\"",
	"fcp/s":     "garbles clang's name \"complex float\"",
}

// checkJSON: the JSON of every variable is JSON, and what GDB shows as a number
// is that number.
func checkJSON(t *testing.T, prog *program, says map[string]string) {
	t.Helper()
	numbers := 0
	for _, v := range prog.vars {
		got := appendJSON(nil, v.typ, item{data: prog.memory(v.addr, int(v.typ.Strip().Size))}, false, nil)
		if !json.Valid(got) {
			t.Errorf("%s: not JSON: %s", v.name, got)
		}
		want := says[v.name]
		if n, ok := new(big.Int).SetString(want, 10); ok && v.typ.IsInteger() {
			numbers++
			if n.String() != string(got) {
				t.Errorf("%s: JSON %s, GDB %s", v.name, got, want)
			}
		}
		if f, err := strconv.ParseFloat(want, 64); err == nil && v.typ.Strip().Kind == ctype.Float && f-f == 0 {
			numbers++
			g, err := strconv.ParseFloat(string(got), 64)
			if v.typ.Strip().Size == 4 { // each has the digits that a float needs
				f, g = float64(float32(f)), float64(float32(g))
			}
			if err != nil || g != f {
				t.Errorf("%s: JSON %s, GDB %s", v.name, got, want)
			}
		}
	}
	if numbers < 60 {
		t.Errorf("only %d numbers", numbers)
	}
}

// TestGDB: every global variable of every kind in every format is printed as
// GDB prints it, byte for byte.
func TestGDB(t *testing.T) {
	const fmts = "xduotcafsz"
	for _, c := range []struct {
		name, compiler, locale string
		flags                  []string
	}{
		{"gcc", "gcc", "C.UTF-8", nil},
		{"gcc-dwarf4", "gcc", "C", []string{"-gdwarf-4"}},
		{"clang", "clang", "C.UTF-8", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := build(t, c.compiler, c.flags...)
			prog := loadProgram(t, path)
			says := gdbSays(t, path, c.locale, prog.vars, fmts)
			if len(prog.vars) < 250 || len(says) < 2500 {
				t.Fatalf("%d variables and %d answers: the oracle is not at work", len(prog.vars), len(says))
			}
			checkJSON(t, prog, says)
			p := &Printer{Symbol: prog.name, Memory: prog.memory, ASCII: c.locale == "C"}
			bad := 0
			for _, v := range prog.vars {
				data := prog.memory(v.addr, int(v.typ.Strip().Size))
				for _, f := range " " + fmts {
					key := v.name
					if f == ' ' {
						f = 0
					} else {
						key += "/" + string(f)
					}
					want, ok := says[key]
					if _, wrong := gdbErrs[key]; !ok || wrong || want == "" {
						continue
					}
					if got := string(p.AppendAt(nil, v.typ, data, Fmt(f), v.addr)); got != want {
						if bad++; bad < 20 {
							t.Errorf("%s:\n got %.300s\nwant %.300s", key, got, want)
						}
					}
				}
			}
			if bad > 0 {
				t.Errorf("%d of %d differ", bad, len(says))
			}
		})
	}
}
