package dwarf

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// TestGoTables: what a stripped program of Go has of its own is what Go's linker writes for debuggers.
func TestGoTables(t *testing.T) {
	if host.Processor != &amd64.Processor {
		t.Skip("call frame information is made for x86-64 only")
	}
	dir := t.TempDir()
	prog, stripped, linked := filepath.Join(dir, "prog"), filepath.Join(dir, "stripped"), filepath.Join(dir, "linked")
	const src = "../../unwind/testdata/goprog"
	for _, cmd := range [][]string{
		{"go", "build", "-o", prog, src}, {"strip", "-o", stripped, prog},
		{"env", "CGO_ENABLED=1", "go", "build", "-ldflags=-s -w -linkmode=external", "-o", linked, src},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	whole, own := open(t, prog), open(t, stripped)

	// C code comes before Go's.
	if f := open(t, linked).Functions("main.main"); len(f) != 1 || !strings.HasSuffix(f[0].File, "goprog/main.go") {
		t.Errorf("linked with C code: %+v", f)
	}

	t.Run("frames", func(t *testing.T) {
		rows, left := 0, 0
		whole.frames().Each(func(e *frame.Entry) {
			mine := own.frames().Find(e.Lo)
			if mine == nil {
				left++
				return
			}
			_ = e.Rows(func(r *frame.Row) {
				if r.Hi == e.Hi && r.Hi-r.Lo == 1 {
					return // the linker ends the last row a byte before its end
				}
				full, err := mine.Rule(r.Lo)
				want, _ := e.Rule(r.Lo)
				if err != nil || !slices.Equal(full.CFA, want.CFA) || full.Regs[full.RA].Kind != frame.AtCFA || full.Regs[full.RA].Offset != -8 {
					t.Fatalf("%#x: %+v, %v; want %+v", r.Lo, full, err, want)
				}
				rows++
			})
		})
		if rows < 5000 || left > 40 {
			t.Errorf("%d rows; %d functions have none", rows, left)
		}
	})

	// DWARF's lines have more: the calls' own of inlined functions without code, and what is no statement.
	t.Run("lines", func(t *testing.T) {
		for _, number := range whole.Lines("goprog/main.go") {
			want, err := whole.LineSites("main.go", number)
			if err != nil {
				t.Fatal(err)
			}
			got, err := own.LineSites("main.go", number)
			if err != nil || len(got) != len(want) || got[0].Line != number || got[0].Func != want[0].Func || got[0].File != want[0].File {
				t.Errorf("line %d: %+v, %v; want %+v", number, got, err, want)
			}
		}
		f, want := own.Functions("main.main"), whole.Functions("main.main")
		if len(f) != 1 || f[0].Line != want[0].Line || f[0].File != want[0].File {
			t.Errorf("%+v, want %+v", f, want)
		}
		if _, err := own.LineSites("nothing.go", 1); err == nil {
			t.Error("a file is found that is not there")
		}
	})
}
