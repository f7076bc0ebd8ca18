// Command papers writes docs/paper-tables.md: every table that the papers published, beside what the benchmarks
// measured here. It reads the files of figures that they wrote.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jalon-trace/jalon/bench/figure"
)

func main() {
	dir := flag.String("figures", "bin/figures", "folder of the files of figures")
	out := flag.String("o", "docs/paper-tables.md", "the document")
	flag.Parse()
	if err := run(*dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench/papers:", err)
		os.Exit(1)
	}
}

func run(dir, out string) error {
	all, err := load(dir)
	if err != nil {
		return err
	}
	var s strings.Builder
	s.WriteString(preface(all))
	for _, t := range tables {
		t.write(&s, all)
	}
	return os.WriteFile(out, []byte(s.String()), 0o644)
}

// figures are the files by the benchmark that wrote them.
type figures map[source]*figure.File

// source is a benchmark.
type source string

const (
	hits   source = "hits"       // bench
	papers source = "papers"     // bench -papers
	gdb    source = "gdb"        // bench -gdb
	kernel source = "kernel"     // bench/kernel
	old    source = "guest-6.1"  // bench/kernel in a guest that counts instructions
	recent source = "guest-6.12" // likewise
)

// load reads the files that exist. What has no figure is a dash in the tables.
func load(dir string) (figures, error) {
	all := figures{}
	for _, s := range []source{hits, papers, gdb, kernel, old, recent} {
		f, err := figure.Read(filepath.Join(dir, string(s)+".json"))
		switch {
		case os.IsNotExist(err):
			fmt.Fprintf(os.Stderr, "bench/papers: %s was not run\n", s)
		case err != nil:
			return nil, err
		default:
			all[s] = f
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no figures in %s", dir)
	}
	return all, nil
}

func preface(all figures) string {
	var s strings.Builder
	s.WriteString(`# The papers' tables, repeated

Every table that the papers on KGTP, uprobes, LTTng and BPF published, beside what was measured here.
` + "`make bench-papers`" + ` measures all of it and writes this page. Do not edit it.

Figures of this page are nanoseconds per hit with the bare loop subtracted, the median (lowest-highest) of
the rounds; where a guest is named, instructions per hit, counted by the emulator. Published figures have the unit
of their paper. Both are of different machines: compare the ratios within a table, not the numbers. A dash was not measured
in this run.

`)
	for _, src := range []source{hits, papers, gdb, kernel, old, recent} {
		if f := all[src]; f != nil {
			fmt.Fprintf(&s, "- %s: %s\n", src, f.Machine)
		}
	}
	s.WriteString("\n")
	return s.String()
}
