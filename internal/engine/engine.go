// Package engine is the contract of the engines: where hit programs run. Package
// engine/inproc runs them as machine code inside a traced process, engine/kernel as
// eBPF in the kernel. Sessions, GDB's trace experiments and the gate before perf stand
// on this contract; only the code that constructs an engine names one.
//
// An engine knows nothing of sessions, of output or of GDB. It has its own state and
// that of no other engine. Errors are values, one a program: one bad program never
// disturbs another.
//
// Import rule: engine imports nothing but what programs and their records are made of;
// see test/imports_test.go.
package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Engine runs hit programs at sites. The life of a program is Load, Arm, any number of
// Enable, Remove; Stop ends the hits of all. An Engine is used from one goroutine.
type Engine interface {
	// Resolve gives the sites that a place means now. The error is a diagnostic.
	Resolve(*probe.Place) ([]Site, error)
	// Load prepares programs: each gets the number of its records (Schema.SiteID). No
	// hit comes yet, and what is traced is not changed. errs has an error for each
	// program that cannot run at its site; err is why none can.
	Load([]*Program) (errs []error, err error)
	// Arm lets hits of loaded programs come. Before the first hit of a program
	// everything that the hit needs is in place. errs has an error for each program
	// that is not armed; the others are. After err some may be armed: Stop ends them.
	Arm([]*Program) (errs []error, err error)
	// Enable ends the hits of armed programs, or lets them come again. Programs stay
	// where they are: it is as fast as the engine can make it.
	Enable(list []*Program, on bool) error
	// Remove ends the hits of programs for good. Hits that are under way complete their
	// records. Other programs at the same addresses stay armed.
	Remove([]*Program) error
	// Counts are the counters of a program so far. They go on after Remove.
	Counts(*Program) Counts
	// Account adds to summaries of its sites what only the engine knows: how they are
	// reached, hits that were missed, cost.
	Account([]event.SiteSummary)
	// Sites is how many sites have had programs.
	Sites() int
	// Rings is the memory of records, counters and variables; nil before there is any.
	Rings() *ring.Shared
	// Stop ends all hits and gives back what was changed. Records and counters can still
	// be read.
	Stop() error
	// Close frees the memory and what else the engine holds.
	Close() error
}

// Site is where a hit program can run: an instruction of a process, an event of the
// kernel. It belongs to the engine that resolved it.
type Site interface {
	fmt.Stringer // for messages
	// Addr is the run-time address; 0 for what has none.
	Addr() uint64
	// Parts are what Compile makes the program of a tracepoint of: one, or two of which
	// the first decides.
	Parts(*tracepoint.Tracepoint) ([]Part, error)
	// Warning says what the user should know before a program runs there; "" nothing.
	Warning() string
}

// Program is a hit program: condition and actions of a tracepoint at one site, as IR.
// It comes from C expressions or from GDB's bytecode.
type Program struct {
	// Key is the same for programs that take each other's place, at one address of one
	// file: a library was unloaded and came again, or what is known of the site has
	// changed. They have one number and their counts go on. Programs of one tracepoint
	// have equal keys.
	Key    any
	Number int    // of the tracepoint; programs at one address run in the order of these
	Label  string // the place in the user's words, for messages
	Site   Site
	IR     *ir.Program // checked, and optimised if that is wanted
	// Schema is the layout of its records; nil for one that only decides for another.
	Schema *event.Schema
	// First is the program of a pair that is called right before this one and gives it a
	// word (ir.Give, ir.Take): the hit counts where that is not zero. It is loaded and
	// armed with this one, and they count together.
	First *Program
}

// Counts are what happened at a program's site beside its records.
type Counts struct {
	False  uint64        // hits with a false condition
	Faults uint64        // hits whose condition could not be evaluated
	Lost   uint64        // records for which the ring had no room
	Missed uint64        // hits that the kernel kept from the program
	Cost   time.Duration // of a hit, where it is measured
}

// Facts are what is known of a site in a process when bytecode is lowered for it.
type Facts struct {
	Function string
	GSBase   bool // the processor has rdgsbase
	AVX      bool // there are ymm registers
	XGETBV1  bool // the processor says which parts of its state are in use
	// Readable reports whether size bytes at a run-time address are there as long as
	// the site is.
	Readable func(addr, size uint64) bool
	// InFrame reports the same of bytes at an offset from a DWARF register, for those
	// among the function's variables on the stack.
	InFrame func(reg, off, size int64) bool
}

// ErrReplaced: the process called exec since its code was looked at. What was planned
// for the old program must not be done to the new one.
var ErrReplaced = errors.New("the program has called exec")

// Finish checks a program that was made for a site, and optimises it if that is wanted.
func Finish(p *ir.Program, label string, optimise bool) {
	check := ir.Check
	if optimise {
		check = ir.Optimize
	}
	if err := check(p); err != nil {
		panic(fmt.Sprintf("BUG: %s: the program made for it is not valid: %v\n%s", label, err, p.String()))
	}
}

// ShortRecord is the size of a program's records that have not the usual size; 0: all
// have.
func ShortRecord(p *ir.Program, size int) int {
	for in := range p.Instrs() {
		if in.Op == ir.Reserve && int(in.Imm) != size {
			return int(in.Imm)
		}
	}
	return 0
}

// Plain is the first line of an error, for where there is no source text to show.
func Plain(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}
