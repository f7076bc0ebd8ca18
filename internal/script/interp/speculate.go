package interp

import (
	"bytes"
	"fmt"
	"io"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// Speculation: what a probe prints after speculate(id) is kept, and written by commit(id) or dropped by discard(id)
// when it is known whether it was of interest.
//
// A probe can also be disabled by its label, and enabled again: its hits then do nothing.

// Limits of speculation.
const (
	maxSpeculations   = 4096
	maxSpeculatedText = 16 << 20 // bytes of all together
)

var tooMuchSpeculation = &trouble{text: "there is no room for more output that is neither committed nor discarded; it is lost"}

// speculator is the part of a machine that speculates.
type speculator struct{ *Machine }

// speculating is a function of the language that a speculator executes.
func speculating(f func(*speculator, script.Expr, []script.Expr) val) func(*library, script.Expr, []script.Expr) val {
	return func(m *library, at script.Expr, args []script.Expr) val { return f(&m.speculator, at, args) }
}

// speculation keeps output by id.
type speculation struct {
	kept  map[uint64]*bytes.Buffer
	bytes int
	out   io.Writer             // where output goes otherwise; nil: the probe that runs does not speculate
	off   map[*check.Probe]bool // disabled probes
}

// held writes to a buffer as long as there is room.
type held struct {
	m  *Machine
	b  *bytes.Buffer
	at script.Node
}

func (h *held) Write(p []byte) (int, error) {
	s := &h.m.spec
	if s.bytes+len(p) > maxSpeculatedText {
		h.m.warn(h.at, tooMuchSpeculation)
		return len(p), nil
	}
	s.bytes += len(p)
	return h.b.Write(p)
}

// settle ends the speculation of a probe that has run.
func (m *speculator) settle() {
	if m.spec.out != nil {
		m.opts.Out, m.spec.out = m.spec.out, nil
	}
}

func (m *speculator) speculate(at script.Expr, args []script.Expr) val {
	id := m.expr(args[0]).n
	if m.spec.kept == nil {
		m.spec.kept = map[uint64]*bytes.Buffer{}
	}
	b := m.spec.kept[id]
	if b == nil {
		b = &bytes.Buffer{}
		if len(m.spec.kept) >= maxSpeculations {
			m.warn(at, tooMuchSpeculation)
		} else {
			m.spec.kept[id] = b
		}
	}
	if m.spec.out == nil {
		m.spec.out = m.opts.Out
	}
	m.opts.Out = &held{m.Machine, b, at}
	return val{}
}

// commit writes what was kept. The probe's further output is no speculation.
func (m *speculator) commit(_ script.Expr, args []script.Expr) val {
	id := m.expr(args[0]).n
	m.settle()
	if b := m.spec.kept[id]; b != nil {
		_, _ = m.opts.Out.Write(b.Bytes()) // as for all output, the writer keeps its error
		m.drop(id)
	}
	return val{}
}

func (m *speculator) discard(_ script.Expr, args []script.Expr) val {
	id := m.expr(args[0]).n
	m.settle()
	m.drop(id)
	return val{}
}

func (m *speculator) drop(id uint64) {
	if b := m.spec.kept[id]; b != nil {
		m.spec.bytes -= b.Len()
		delete(m.spec.kept, id)
	}
}

// Uncommitted describes output that was kept to the end; "" if there is none.
func (m *speculator) Uncommitted() string {
	if n := len(m.spec.kept); n > 0 {
		return fmt.Sprintf("the output of %d speculations was neither committed nor discarded (%d bytes)", n, m.spec.bytes)
	}
	return ""
}

// switchProbes enables or disables the probes with a label.
func switchProbes(off bool) func(*library, script.Expr, []script.Expr) val {
	return func(m *library, _ script.Expr, args []script.Expr) val {
		if m.spec.off == nil {
			m.spec.off = map[*check.Probe]bool{}
		}
		label := m.p.Consts[args[0]].Str
		for _, pr := range m.p.Probes {
			for _, pl := range pr.Places {
				if pl.Label == label {
					m.spec.off[pr] = off
				}
			}
		}
		return val{}
	}
}
