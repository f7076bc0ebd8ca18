package agentexpr

import (
	"fmt"
	"math"
)

// Site is a tracepoint.
type Site struct {
	Name    string
	Cond    *Expr // validated for ForCondition; nil: every hit is collected
	Actions []Action
}

// ActionKind is the kind of an action of a QTDP packet.
type ActionKind uint8

// The kinds of actions.
const (
	CollectRegs   ActionKind = iota // R: the registers Regs, by GDB's number; see Layout.Missing
	CollectMemory                   // M: Len bytes at Base + Offset
	Evaluate                        // X: Expr, for what it collects on its way
	CollectStatic                   // L: the static tracepoint's own record ($_sdata)
)

// Action is one thing to do at a hit.
type Action struct {
	Kind ActionKind
	Regs []int
	// Base is the register that Offset counts from; -1: Offset is the address.
	Base   int
	Offset int64
	Len    int64
	Expr   *Expr
	// Value collects, too, what the expression leaves on top of the stack.
	Value bool
}

// Limits bound what one hit collects, in bytes; zero means the default.
type Limits struct {
	Block  int64 // of memory whose size is known at the hit only; more is cut off
	String int64 // of a string that printf is given; more is cut off
	Record int64 // of the whole record; more is refused
}

// The default limits.
const (
	DefaultBlock  = 4096
	DefaultString = 200 // as GDB's "print elements"
	DefaultRecord = 64 << 10
)

func (l Limits) withDefaults() Limits {
	def := func(p *int64, v int64) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.Block, DefaultBlock)
	def(&l.String, DefaultString)
	def(&l.Record, DefaultRecord)
	return l
}

// check finds what is wrong with an action itself.
func (a *Action) check() error {
	switch a.Kind {
	case CollectRegs:
		for _, n := range a.Regs {
			if n < 0 {
				return fmt.Errorf("there is no register %d", n)
			}
		}
	case CollectMemory:
		if a.Len < 0 || a.Len > math.MaxInt32 {
			return fmt.Errorf("%d bytes of memory", a.Len)
		}
		if a.Base != -1 && (a.Base < 0 || !scalar(uint64(a.Base))) {
			return fmt.Errorf("register %d is no base of an address", a.Base)
		}
	case Evaluate:
		if a.Expr == nil {
			return fmt.Errorf("an action without its expression")
		}
	case CollectStatic:
	default:
		return fmt.Errorf("unknown action %d", a.Kind)
	}
	return nil
}
