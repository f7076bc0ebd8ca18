package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/bench/figure"
)

// The size of a measurement when hits are cheap: a batch fits in the rings, and the rings are emptied
// between batches.
const (
	nativeCalls   = 20000
	nativeBatches = 15
	nativeGap     = 60
)

// gdbRow is a tracer; its cells are its costs in each case.
type gdbRow struct {
	name  string
	build string // variant of the workload, whose bare loop is subtracted
	cells []*gdbCell
}

type gdbCell struct {
	c   gdbCase
	run func() ([]float64, error)
	// once: measured only in the first round.
	once bool
	// ns are the medians of the rounds minus the bare loop; NaN if a round has no figure.
	ns   []float64
	note string
}

// gdbTable is a table: rows with the same columns.
type gdbTable struct {
	title   string
	columns []string
	rows    []*gdbRow
}

// Names of rows that are compared.
const (
	rowTrace       = "jalon trace"
	rowJalon       = "jalon gdbserver"
	rowPlain       = "jalon gdbserver, IR passes off"
	rowInterpreter = "bytecode interpreter (Go)"
	rowFast        = "gdbserver ftrace"
	rowFastAdds    = "gdbserver ftrace, condition compiled"
	rowTrap        = "gdbserver trace (trap)"
)

// gdbTables measures the paper's tables with GDB as the front-end.
func (b *bench) gdbTables(rounds int, only, column string) error {
	if _, err := exec.LookPath("gdb"); err != nil {
		return fmt.Errorf("gdb is not installed")
	}
	tables := []*gdbTable{b.dynamicTable(), b.stackTable(), b.staticTable()}
	for r := range rounds {
		for _, t := range tables {
			if err := b.gdbRound(t, r, only, column); err != nil {
				return err
			}
		}
	}
	for _, t := range tables {
		t.print()
		t.printTargets()
	}
	return b.writeTables(tables)
}

// writeTables writes the figures to the file that was asked for.
func (b *bench) writeTables(tables []*gdbTable) error {
	if b.figures == "" {
		return nil
	}
	f := &figure.File{Machine: figure.Machine(), Unit: "ns"}
	for _, t := range tables {
		for _, r := range t.rows {
			for _, c := range r.cells {
				f.Figures = append(f.Figures, figure.Of(t.title, r.name, c.c.title, c.figures(), c.note))
			}
		}
	}
	return figure.Write(b.figures, f)
}

// gdbRound measures a table once, column by column, so that compared figures are measured one after the
// other.
func (b *bench) gdbRound(t *gdbTable, round int, only, columns string) error {
	for _, column := range t.columns {
		if !strings.Contains(column, columns) {
			continue
		}
		for _, row := range t.rows {
			cell := row.at(column)
			if cell == nil || cell.once && round > 0 || !strings.Contains(row.name, only) {
				continue
			}
			if err := b.gdbMeasure(row, cell); err != nil {
				return err
			}
		}
	}
	return nil
}

// gdbMeasure measures a cell once, with the bare loop before and after it.
func (b *bench) gdbMeasure(row *gdbRow, cell *gdbCell) error {
	prog, err := b.workload(row.build)
	if err != nil {
		return err
	}
	bare := func() (float64, error) {
		ns, err := times(exec.Command(prog, "bare", fmt.Sprint(5*nativeCalls), "9", "1"))
		if err != nil {
			return 0, err
		}
		return median(ns), nil
	}
	if row.name == rowInterpreter {
		bare = func() (float64, error) { return 0, nil } // the interpreter does not run the workload's loop
	}
	before, err := bare()
	if err != nil {
		return err
	}
	var ns []float64
	for range 3 { // on a busy machine hits may be lost
		if ns, err = cell.run(); !errors.Is(err, errLost) {
			break
		}
	}
	if err != nil {
		cell.note = err.Error()
		cell.ns = append(cell.ns, math.NaN())
		return nil
	}
	after, err := bare()
	if err != nil {
		return err
	}
	cell.ns = append(cell.ns, median(ns)-min(before, after))
	return nil
}

// dynamicTable makes tables 1 and 2.
func (b *bench) dynamicTable() *gdbTable {
	t := newGDBTable("dynamic tracepoint at test_function", &caseFalse, &caseExpr, &caseBoth, &caseVar, &caseRegs)
	const place = "*test_function"
	t.add(rowTrace, "", func(c *gdbCase) ([]float64, error) { return b.gdbTrace(place, "", c) }, caseFalse, caseExpr, caseBoth)
	t.add(rowJalon, "", b.gdbJalon("trace "+place, ""), caseFalse, caseExpr, caseBoth, caseVar, caseRegs)
	t.add(rowPlain, "", b.gdbJalon("trace "+place, "", "--no-optimise"), caseFalse, caseExpr, caseBoth, caseVar, caseRegs)
	t.add(rowInterpreter, "", b.interpreter, caseFalse, caseExpr, caseBoth)
	t.add(rowFast, "-nopie", b.gdbFast(place, "-nopie"), caseFalse, caseExpr, caseBoth, caseVar, caseRegs)
	t.add(rowFastAdds, "-nopie", b.gdbFast(place, "-nopie"), caseFalseAdds, caseBothAdds)
	trap := t.add(rowTrap, "", func(c *gdbCase) ([]float64, error) {
		return b.gdb(&gdbServing{server: []string{"gdbserver", "-"}, command: "trace " + place, calls: 100, batches: 7}, c)
	}, caseFalse, caseExpr, caseBoth)
	for _, c := range trap.cells {
		c.once = true
	}
	return t
}

// stackTable makes the same tables for a program whose arguments are on the stack: GDB collects them as
// memory.
func (b *bench) stackTable() *gdbTable {
	t := newGDBTable("the same, program not optimised (-O0)", &caseFalse, &caseExpr, &caseBoth)
	place := bodyLine()
	t.add(rowTrace, "-O0", func(c *gdbCase) ([]float64, error) { return b.gdbTrace(place, "-O0", c) }, caseFalse, caseExpr, caseBoth)
	t.add(rowJalon, "-O0", b.gdbJalon("trace "+place, "-O0"), caseFalse, caseExpr, caseBoth)
	t.add(rowPlain, "-O0", b.gdbJalon("trace "+place, "-O0", "--no-optimise"), caseFalse, caseExpr, caseBoth)
	t.add(rowFast, "-nopie-O0", b.gdbFast(place, "-nopie-O0"), caseFalse, caseExpr, caseBoth)
	return t
}

func newGDBTable(title string, columns ...*gdbCase) *gdbTable {
	t := &gdbTable{title: title}
	for _, c := range columns {
		t.columns = append(t.columns, c.title)
	}
	return t
}

// add adds a row.
func (t *gdbTable) add(name, build string, run func(*gdbCase) ([]float64, error), cases ...gdbCase) *gdbRow {
	row := &gdbRow{name: name, build: build}
	for _, c := range cases {
		row.cells = append(row.cells, &gdbCell{c: c, run: func() ([]float64, error) { return run(&c) }})
	}
	t.rows = append(t.rows, row)
	return row
}

// gdbJalon runs jalon gdbserver with options.
func (b *bench) gdbJalon(command, build string, options ...string) func(*gdbCase) ([]float64, error) {
	return func(c *gdbCase) ([]float64, error) {
		s := &gdbServing{
			server: append(append([]string{b.jalon, "gdbserver"}, options...), "-"), command: command, build: build,
			calls: c.calls(), batches: nativeBatches, gap: nativeGap,
		}
		return b.gdb(s, c)
	}
}

// gdbFast runs gdbserver's fast tracepoint. Its agent has a buffer of 5 MiB, and the server stops the
// program to empty it. Batches are small, so most contain no such stop. The first batches are not counted,
// because their hits touch the pages of the buffer for the first time.
func (b *bench) gdbFast(place, build string) func(*gdbCase) ([]float64, error) {
	return func(c *gdbCase) ([]float64, error) {
		if _, err := os.Stat(inProcessAgent); err != nil {
			return nil, fmt.Errorf("gdbserver's in-process agent is not installed")
		}
		s := &gdbServing{
			server:  []string{"gdbserver", "--wrapper", "env", "LD_PRELOAD=" + inProcessAgent, "--", "-"},
			command: "ftrace " + place, build: build, calls: 200, batches: 81, skip: 40,
		}
		switch {
		case !c.frames:
			s.calls, s.batches, s.skip = 50000, 15, 0
		case c.title == caseVar.title:
			s.calls = 2000
		}
		return b.gdb(s, c)
	}
}

// staticTable makes table 5. LTTng-UST has its own tools and its own tracepoint at the same place.
func (b *bench) staticTable() *gdbTable {
	t := newGDBTable("static tracepoint (USDT; LTTng's own)", &sdataFalse, &sdata, &sdataBoth)
	t.add("jalon gdbserver, strace -m", "-usdt", b.gdbJalon("strace -m jalonbench:hit", "-usdt"), sdataFalse, sdata, sdataBoth)
	t.add("LTTng-UST, not through GDB", "", func(c *gdbCase) ([]float64, error) {
		return b.lttng(strings.ReplaceAll(c.cond, expression, "sum"))
	}, sdataFalse, sdata, sdataBoth)
	return t
}

func (t *gdbTable) row(name string) *gdbRow {
	for _, r := range t.rows {
		if r.name == name {
			return r
		}
	}
	return nil
}

// at returns the row's cell in a column, or nil.
func (r *gdbRow) at(column string) *gdbCell {
	if r == nil {
		return nil
	}
	for _, c := range r.cells {
		if c.c.title == column {
			return c
		}
	}
	return nil
}

// figures returns the figures of the rounds that have one.
func (c *gdbCell) figures() []float64 {
	return slices.DeleteFunc(slices.Clone(c.ns), math.IsNaN)
}

// times returns the cost of c divided by the cost of d: the median of the ratios of the rounds. A
// disturbance that slows a whole round slows both.
func (c *gdbCell) times(d *gdbCell) (float64, bool) {
	if c == nil || d == nil {
		return 0, false
	}
	var list []float64
	for r := range min(len(c.ns), len(d.ns)) {
		if x := c.ns[r] / d.ns[r]; x > 0 { // false for NaN
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return median(list), true
}

func (t *gdbTable) print() {
	fmt.Printf("%-42s", t.title)
	var notes []string
	for _, c := range t.columns {
		fmt.Printf(" %24s", c)
	}
	fmt.Println()
	for _, r := range t.rows {
		fmt.Printf("  %-40s", r.name)
		by := map[string]string{}
		for _, c := range r.cells {
			by[c.c.title] = "-"
			if ns := c.figures(); len(ns) > 0 {
				by[c.c.title] = fmt.Sprintf("%.1f (%.1f-%.1f)", median(ns), slices.Min(ns), slices.Max(ns))
			}
			if c.note != "" {
				first, _, _ := strings.Cut(c.note, "\n")
				notes = append(notes, r.name+", "+c.c.title+", a round without a figure: "+first)
			}
		}
		for _, c := range t.columns {
			fmt.Printf(" %24s", by[c])
		}
		fmt.Println()
	}
	for _, n := range notes {
		fmt.Println("  - " + n)
	}
}

// printTargets compares the figures with the targets.
func (t *gdbTable) printTargets() {
	for _, v := range []struct {
		a, b, column string
		times        float64 // a costs at most this many times b
	}{
		{rowJalon, rowTrace, caseFalse.title, 1.2},
		{rowJalon, rowTrace, caseExpr.title, 1.2},
		{rowJalon, rowTrace, caseBoth.title, 1.2},
		{rowJalon, rowFast, caseFalse.title, 1.0 / 15},
		{rowJalon, rowFastAdds, caseFalse.title, 1.0 / 15},
		{rowJalon, rowFast, caseExpr.title, 1.0 / 10},
		{rowJalon, rowFast, caseBoth.title, 1.0 / 10},
		{rowJalon, rowFast, caseVar.title, 1.0 / 10},
		{rowJalon, rowFast, caseRegs.title, 1.0 / 10},
	} {
		x, measured := t.row(v.a).at(v.column).times(t.row(v.b).at(v.column))
		if !measured {
			continue
		}
		ok := "reached"
		if x > v.times {
			ok = "NOT REACHED"
		}
		if v.times < 1 {
			fmt.Printf("  %-26s %6.1f x cheaper than %-38s (>= %.0f: %s)\n", v.column, 1/x, v.b, 1/v.times, ok)
		} else {
			fmt.Printf("  %-26s %6.2f x the cost of  %-38s (<= %.1f: %s)\n", v.column, x, v.b, v.times, ok)
		}
	}
	fmt.Println()
}
