package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGoCaptured: variables that a closure of Go captures have their names, and their values or none, at each instruction
// of the closure; at its beginning all have values. Constants of packages have their names too.
func TestGoCaptured(t *testing.T) {
	need(t, "objdump")
	src, err := os.ReadFile("programs/captured.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	accs := map[string]bool{"10": true, "11": true, "13": true}
	as := map[string]bool{"3": true, "5": true, "7": true, "9": true}
	for _, flags := range []string{"", "-N -l"} {
		dir := t.TempDir()
		prog := filepath.Join(dir, "captured")
		if err := os.WriteFile(filepath.Join(dir, "captured.go"), src, 0o600); err != nil {
			t.Fatal(err)
		}
		buildOther(t, dir, "go", "build", "-gcflags="+flags, "-o", prog, "captured.go")
		args := []string{"trace", "-q", "-c", "acc, both.a, both.b, text"}
		for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t`).FindAllStringSubmatch(run(t, "objdump", "-d", "--no-show-raw-insn", "--disassemble=main.main.func1", prog).stdout, -1) {
			args = append(args, "*0x"+m[1])
		}
		r := jalon(t, append(args, "--", prog)...)
		events, known := 0, map[string]int{}
		for _, m := range regexp.MustCompile(`acc=(\S+|<.*?>) both\.a=(\S+|<.*?>) both\.b=(\S+|<.*?>) text=(".*"|<.*?>)\n`).FindAllStringSubmatch(r.stdout, -1) {
			events++
			for i, right := range []func(string) bool{
				func(v string) bool { return accs[v] }, func(v string) bool { return as[v] },
				func(v string) bool { return v == "4" }, func(v string) bool { return v == `"text"` },
			} {
				switch v := m[i+1]; {
				case right(v):
					known[strings.Fields("acc both.a both.b text")[i]]++
				case v != "<optimised out>":
					t.Errorf("%q: %s", flags, m[0])
				}
			}
		}
		if events < 20 || len(known) != 4 {
			t.Errorf("%q: %d events, values %v\n%s", flags, events, known, r.stderr)
		}
		for _, engine := range []string{"process", "kernel"} {
			r := jalon(t, "trace", "-q", "--engine", engine, "-c", "acc, both, text, $locals, acc + k, Limit, os.O_CREATE", "main.main.func1", "--", prog)
			for _, want := range []string{
				`acc=10 both={a = 3, b = 4} text="text" acc=10 both={a = 3, b = 4} text="text" acc + k=10 Limit=42 os.O_CREATE=64`,
				`acc=10 both={a = 5, b = 4} text="text" acc=10 both={a = 5, b = 4} text="text" acc + k=11 Limit=42 os.O_CREATE=64`,
				`acc=11 both={a = 7, b = 4} text="text" acc=11 both={a = 7, b = 4} text="text" acc + k=13 Limit=42 os.O_CREATE=64`,
			} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("%q, %s: want %s in\n%s%s", flags, engine, want, r.stdout, r.stderr)
				}
			}
		}
	}
}
