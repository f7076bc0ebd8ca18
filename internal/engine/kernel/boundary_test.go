package kernel

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/probe"
)

// disassembled are the starts of instructions by objdump, which sections hold code, and
// what objdump could not read.
func disassembled(t *testing.T, path string) (begins map[uint64]bool, lo, hi uint64) {
	t.Helper()
	cmd := exec.Command("objdump", "-d", "-w", "--no-show-raw-insn", "-j", ".text", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("objdump: %v", err)
	}
	begins = map[uint64]bool{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at, rest, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":\t")
		var a uint64
		if n, _ := fmt.Sscanf(at, "%x", &a); !ok || n != 1 || strings.Contains(rest, "(bad)") {
			continue
		}
		begins[a] = true
		if lo == 0 {
			lo = a
		}
		hi = a
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("objdump %s: %v", path, err)
	}
	return begins, lo, hi
}

func byteAt(m *dwarf.Module, a uint64) byte {
	b, err := m.Text(a, 1)
	if err != nil {
		return 0
	}
	return b[0]
}

// TestBoundaryObjdump checks every byte of programs and libraries: uprobes are never allowed where, according
// to objdump, no instruction begins, and nearly always where one does.
func TestBoundaryObjdump(t *testing.T) {
	files := []string{"/usr/bin/env", "/usr/bin/sort"}
	if os.Getenv("JALON_FULL") != "" {
		files = append(files, "/lib/x86_64-linux-gnu/libm.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3.11", "/usr/bin/perl")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if _, err := os.Stat(path); err != nil {
				t.Skipf("not installed: %v", err)
			}
			begins, lo, hi := disassembled(t, path)
			m, err := dwarf.Open(path, dwarf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			e := Inspect(Options{})
			p := &probe.Place{Text: path}
			var taken, wrong, left int
			for a := lo; a <= hi; a++ {
				err := e.programs.placeable(p, m, a)
				switch {
				case err == nil && begins[a]:
					taken++
				case err == nil && byteAt(m, a-1) == 0x9b: // objdump joins fwait with the next instruction
				case err == nil:
					if wrong++; wrong <= 5 {
						t.Errorf("%s: a uprobe is allowed where no instruction begins", named(m, a))
					}
				case begins[a]:
					left++
				}
			}
			t.Logf("%s: of %d instructions %d may be probed, %d are refused; of %d bytes inside of instructions %d",
				path, taken+left, taken, left, int(hi-lo)+1-taken-left, wrong)
			if taken == 0 {
				t.Error("no instruction may be probed")
			}
		})
	}
}
