package sema

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// CondInput is a condition: the text it was parsed from, and its tree.
type CondInput struct {
	Text string
	X    lang.Expr
}

// Input is one site to compile for: what the user wrote, and what names mean there.
type Input struct {
	Scope       debuginfo.Scope
	Cond        *CondInput     // nil: every hit is recorded
	Collect     []lang.Collect // may be empty: the record is its header
	CollectText string         // the text Collect's spans point into
	// CondSource and CollectSource name the texts in diagnostics; "" means
	// "condition" and "collect".
	CondSource, CollectSource string

	// Bias is the load bias of the module: run-time address = vaddr + Bias.
	Bias uint64
	// TLSOffset gives the offset of the module's TLS block from the thread
	// pointer. Its error text is shown to the user. Nil: not known.
	TLSOffset func() (int64, error)
	// Readable says whether size bytes at a vaddr lie in the module's loaded
	// segments, so that static data there is read without a guard. Nil: what
	// the debug information says is believed.
	Readable func(vaddr, size uint64) bool
	// LineOf translates a vaddr for diagnostics; it may be nil.
	LineOf func(vaddr uint64) (file string, line int)
	// AtEntry says that the site is the first instruction of a function (or the
	// one after endbr64), so that the argument registers of the ABI hold arg0..arg5.
	AtEntry bool

	// Limits; zero means the default below.
	StringLimit    int // bytes of a string
	RepeatLimit    int // elements of p@n with n known at the hit only
	StackLimit     int // bytes of stack taken by $bt
	AggregateLimit int // bytes of a variable that $args and $locals take along

	// Pid is what $pid means in conditions; 0: not known.
	Pid int

	// For the schema.
	SiteID                uint32
	Place, Function, File string
	Line                  int
}

// Default limits of Input, and the largest record.
const (
	DefaultStringLimit    = 200 // as GDB's "print elements"
	DefaultRepeatLimit    = 200
	DefaultStackLimit     = 4096
	DefaultAggregateLimit = 4096
	MaxRecordSize         = 64 << 10
)

// Output is what Compile makes of an Input.
type Output struct {
	Program  *ir.Program // not optimised
	Schema   event.Schema
	Warnings []*lang.Diagnostic
}

// Compile checks and lowers the condition and the collect list of one site.
// Errors are of the user's kind: a lang.Diagnostics with everything found.
func Compile(in *Input) (*Output, error) {
	in = withDefaults(in)
	c := &checker{in: in}
	var cond expr
	if in.Cond != nil {
		c.source, c.text = in.CondSource, in.Cond.Text
		c.inCond = true
		c.guard(func() { cond = c.condition(in.Cond.X) })
		c.inCond = false
	}
	c.source, c.text = in.CollectSource, in.CollectText
	fields := c.collect(in.Collect)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	out := lower(in, cond, fields)
	if d := c.tooLarge(out, fields); d != nil {
		return nil, lang.Diagnostics{d}
	}
	out.Warnings = c.warnings
	return out, nil
}

func withDefaults(in *Input) *Input {
	cp := *in
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&cp.StringLimit, DefaultStringLimit)
	def(&cp.RepeatLimit, DefaultRepeatLimit)
	def(&cp.StackLimit, DefaultStackLimit)
	def(&cp.AggregateLimit, DefaultAggregateLimit)
	if cp.CondSource == "" {
		cp.CondSource = "condition"
	}
	if cp.CollectSource == "" {
		cp.CollectSource = "collect"
	}
	return &cp
}

// IsType returns the parser's question "is this name a type here?" for scope s.
// A variable hides a type of the same name, as in C.
func IsType(s debuginfo.Scope) func(string) bool {
	return func(name string) bool {
		if builtinType(name) != nil {
			return true
		}
		if namedType(s, name) == nil {
			return false
		}
		_, err := s.Lookup(name)
		return err != nil
	}
}
