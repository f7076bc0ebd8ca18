package dwarf

import (
	"os"
	"testing"
)

// BenchmarkIndex times the scan of all names, the slowest step of resolving a
// function; JALON_BENCH_ELF names the program.
func BenchmarkIndex(b *testing.B) {
	prog := os.Getenv("JALON_BENCH_ELF")
	if prog == "" {
		prog = build(b, variants[1], "prog.c", "other.c")
	}
	for b.Loop() {
		m, err := Open(prog, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.FuncSites("main"); err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}
