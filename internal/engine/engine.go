// Package engine is the contract of the engines, which run hit programs. Package engine/inproc runs them as
// machine code inside a traced process, engine/kernel as eBPF in the kernel. Sessions, GDB's trace
// experiments and the gate before perf use this contract; only the code that constructs an engine names
// one.
//
// An engine does not depend on sessions, output or GDB. It has its own state and none of another engine.
// Errors are values, one for each program: a bad program never affects another.
//
// Import rule: engine imports only the packages that programs and their records are made of; see
// test/imports_test.go.
package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Engine runs hit programs at sites. The calls for a program are Load, Arm, any number of Enable, and
// Remove; Stop ends the hits of all programs. An Engine is used from one goroutine.
type Engine interface {
	// Resolve returns the present sites of a place. The error is a diagnostic.
	Resolve(*probe.Place) ([]Site, error)
	// Load prepares programs: each gets the number of its records (Schema.SiteID). There are no hits yet,
	// and the traced process or kernel is not changed. errs has an error for each program that cannot run
	// at its site; err is set if none can.
	Load([]*Program) (errs []error, err error)
	// Arm enables the hits of loaded programs. Everything that a hit needs is in place before the first
	// hit. errs has an error for each program that is not armed; the others are armed. After err some may
	// be armed: Stop ends them.
	Arm([]*Program) (errs []error, err error)
	// Enable disables or enables armed programs. The programs stay in place, and test a switch that is stored here. Hits
	// that have begun before are completed.
	Enable(list []*Program, on bool) error
	// Remove ends the hits of programs permanently. Hits in progress complete their records. Other programs
	// at the same addresses stay armed.
	Remove([]*Program) error
	// Counts returns the counters of a program so far. They remain available after Remove.
	Counts(*Program) Counts
	// Account adds to the summaries of its sites what only the engine knows: tactics, missed hits, cost.
	Account([]event.SiteSummary)
	// Sites returns how many sites have had programs.
	Sites() int
	// Rings returns the memory of records, counters and variables; nil before it exists.
	Rings() *ring.Shared
	// Maps calls each for the maps of the session that programs of this engine have changed (ir.Map.Shared). The readers are
	// valid during the call.
	Maps(each func(name string, r *maps.Reader)) error
	// Grace returns a function that reports whether all hits have ended that had begun when Grace was called. It is to be called again and again until
	// it does, or fails. See steps 11 and 16 of the protocol of package maps.
	Grace() (over func() (bool, error), err error)
	// Stop ends all hits and undoes all changes. Records and counters can still be read.
	Stop() error
	// Close frees the memory and the other resources of the engine.
	Close() error
}

// Site is where a hit program can run: an instruction of a process, or an event of the kernel. It belongs
// to the engine that resolved it.
type Site interface {
	fmt.Stringer // for messages
	// Addr returns the run-time address; 0 if the site has none.
	Addr() uint64
	// Parts returns the parts of which Compile makes the program of a tracepoint: one, or two of which the
	// first decides.
	Parts(*tracepoint.Tracepoint) ([]Part, error)
	// Warning returns a warning for the user before a program runs there, or "".
	Warning() string
}

// Program is a hit program: condition and actions of a tracepoint at one site, as IR. Its source is C
// expressions or GDB's bytecode.
type Program struct {
	// Key identifies programs that replace each other at one address of one file: a library was unloaded
	// and loaded again, or the information about the site has changed. They have one number, and their
	// counts continue. Programs of one tracepoint have equal keys.
	Key    any
	Number int    // number of the tracepoint; programs at one address run in this order
	Label  string // the place as the user wrote it, for messages
	Site   Site
	IR     *ir.Program // checked, and optimised if requested
	// Schema is the layout of its records; nil if the program only decides for another.
	Schema *event.Schema
	// Missing are the items of the collect list of which the debug information has no value at the site.
	Missing lang.Diagnostics
	// Absent are the numbers of those items that cannot be collected at the site at all: names that it does not have.
	Absent []int
	// First is the other program of a pair. It is called directly before this one and passes it a word
	// (ir.Give, ir.Take): the hit counts if the word is not zero. Both are loaded and armed together, and
	// have common counts.
	First *Program
	// Entry, if not nil, is the program for the entry of the function at whose return this one runs. It keeps what
	// this one needs, in their maps: programs with equal Keys have their maps in common, by number. Programs with
	// equal Keys at one function have equal ones, and the engine installs one of them before the first return is
	// traced. It makes no records.
	Entry *Program
}

// Counts has the counters of a program, except its records.
type Counts struct {
	False  uint64        // hits with a false condition
	Faults uint64        // hits whose condition could not be evaluated
	Lost   uint64        // records that did not fit in the ring
	Missed uint64        // hits at which the kernel did not run the program
	Cost   time.Duration // of a hit, if measured
}

// Facts has information about a site in a process for lowering bytecode.
type Facts struct {
	Function string
	GSBase   bool // the processor has rdgsbase
	AVX      bool // the processor has ymm registers
	XGETBV1  bool // the processor reports which parts of its state are in use
	// Readable reports whether size bytes at a run-time address are mapped for the lifetime of the site.
	Readable func(addr, size uint64) bool
	// InFrame reports the same for bytes at an offset from a DWARF register that belong to the function's
	// variables on the stack.
	InFrame func(reg, off, size int64) bool
}

// ErrReplaced: the process has called exec since its code was read. Changes planned for the old program
// must not be made to the new one.
var ErrReplaced = errors.New("the program has called exec")

// Finish checks a program that was made for a site, and optimises it if requested.
func Finish(p *ir.Program, label string, optimise bool) {
	check := ir.Check
	if optimise {
		check = ir.Optimize
	}
	if err := check(p); err != nil {
		panic(fmt.Sprintf("BUG: %s: its program is not valid: %v\n%s", label, err, p.String()))
	}
}

// ShortRecord returns the size of a program's records that do not have the usual size; 0 if all have it.
func ShortRecord(p *ir.Program, size int) int {
	for in := range p.Instrs() {
		if in.Op == ir.Reserve && int(in.Imm) != size {
			return int(in.Imm)
		}
	}
	return 0
}

// Plain returns the first line of an error, for output without source text.
func Plain(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}
