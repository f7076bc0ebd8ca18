package ir_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

var update = flag.Bool("ir.update", false, "write the results of the passes into testdata")

// testdata/PASS.txt holds cases: "### title", a program, "=>", and the program
// after the pass and dce. A program that does not begin with b0 is placed in
//
//	b0:
//	  v0 = reg rdi
//	  v1 = reg rsi
//	  v2:f64 = freg xmm0
//	  v3:f32 = freg xmm1
//	  reserve 64
//	  ...
//	  commit
//	  exit
const (
	frameHead = "b0:\n  v0 = reg rdi\n  v1 = reg rsi\n  v2:f64 = freg xmm0\n  v3:f32 = freg xmm1\n  reserve 64\n"
	frameTail = "  commit\n  exit\n"
)

type passCase struct{ title, before, after string }

func readCases(t *testing.T, file string) []passCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []passCase
	for _, part := range strings.Split(string(text), "### ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		before, after, _ := strings.Cut(rest, "=>\n")
		cases = append(cases, passCase{title, before, strings.TrimSpace(after)})
	}
	return cases
}

func passNamed(t *testing.T, name string) ir.Pass {
	n := slices.IndexFunc(ir.Passes, func(p ir.Pass) bool { return p.Name == name })
	if n < 0 {
		t.Fatalf("no pass %s", name)
	}
	return ir.Passes[n]
}

// unframe takes away what frame added.
func unframe(p *ir.Program) string {
	var keep []string
	for _, line := range strings.Split(p.String(), "\n") {
		if line == "" || strings.Contains(frameHead+frameTail, line+"\n") {
			continue
		}
		keep = append(keep, strings.TrimSpace(line))
	}
	return strings.Join(keep, "\n")
}

// TestPasses compares what each pass makes of the cases in its file. Every
// pass has one.
func TestPasses(t *testing.T) {
	for _, pass := range ir.Passes {
		t.Run(pass.Name, func(t *testing.T) {
			file := filepath.Join("testdata", pass.Name+".txt")
			cases := readCases(t, file)
			if len(cases) == 0 {
				t.Fatal("no cases")
			}
			var out bytes.Buffer
			for _, c := range cases {
				got := runCase(t, pass, c)
				fmt.Fprintf(&out, "### %s\n%s=>\n%s\n\n", c.title, c.before, got)
				if got != c.after && !*update {
					t.Errorf("%s\n%s\ngot\n%s\n\nwant\n%s", c.title, c.before, got, c.after)
				}
			}
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func runCase(t *testing.T, pass ir.Pass, c passCase) string {
	t.Helper()
	framed := !strings.HasPrefix(c.before, "b0:")
	text := c.before
	if framed {
		text = frameHead + c.before + frameTail
	}
	before, p := parse(t, text), parse(t, text)
	if err := ir.Check(p); err != nil {
		t.Fatalf("%s: %v", c.title, err)
	}
	changed := pass.Run(p)
	if text := p.String(); changed == (text == before.String()) {
		t.Errorf("%s: says changed = %v of\n%s", c.title, changed, text)
	}
	if err := ir.Check(p); err != nil {
		t.Fatalf("%s: afterwards %v\n%s", c.title, err, p)
	}
	passNamed(t, "dce").Run(p)
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for range 20 {
		sameMeaning(t, before, p, irgen.RandomState(r, irgen.Options{}))
	}
	if framed {
		return unframe(p)
	}
	return strings.TrimSpace(p.String())
}
