package dwarf

import (
	"os"
	"testing"
)

// benchModule opens the program that JALON_BENCH_ELF names, or a small one.
func benchModule(b *testing.B) *Module {
	b.Helper()
	prog := os.Getenv("JALON_BENCH_ELF")
	if prog == "" {
		prog = build(b, variants[1], "prog.c", "other.c")
	}
	m, err := Open(prog, Options{NoCache: true})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkIndex times the scan of all names, the slowest step of resolving a
// function.
func BenchmarkIndex(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := benchModule(b)
		m.names()
		m.Close()
	}
}

// BenchmarkLines times the line tables of all units.
func BenchmarkLines(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := benchModule(b)
		m.eachUnit(func(u *unit) { u.lineTab() })
		m.Close()
	}
}

// BenchmarkFunctions lists all functions and, of every 50th, the rules of its call
// frame and the variables in scope at its first address.
func BenchmarkFunctions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := benchModule(b)
		list := m.Functions("*")
		for i := 0; i < len(list); i += 50 {
			if len(list[i].Ranges) == 0 {
				continue
			}
			pc := list[i].Ranges[0].Lo
			_, _ = m.Unwind(pc)
			if s, err := m.ScopeAt(pc); err == nil {
				s.Locals()
			}
		}
		m.Close()
	}
}
