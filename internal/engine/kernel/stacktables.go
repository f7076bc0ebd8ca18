package kernel

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/ir"
)

// Stacks in keys of maps are numbers of places in tables of stacks. A stack has one place in a table, by its hash; if another
// stack is there, it goes to the next table, so that a stack is lost only if it meets another one in all of them.
const (
	stackTables = 4
	stackPlaces = 4096 // of a table
)

// stackTable is a table for the stacks of some programs.
type stackTable struct {
	code   ebpf.StackTable
	stacks *bpf.Stacks
}

// stackTablesOf returns the tables of the stacks that a program makes numbers of, and makes those that do not exist yet.
func (e *loader) stackTablesOf(p *ir.Program) (list []*stackTable, err error) {
	for in := range p.Instrs() {
		frames := in.Aux / 8
		if in.Op != ir.StackID && in.Op != ir.UserStack || slices.ContainsFunc(list, func(t *stackTable) bool { return t.code.Frames == frames }) {
			continue
		}
		of := e.stacksOf(frames)
		for len(of) < stackTables {
			t, err := e.newStackTable(frames)
			if err != nil {
				return nil, err
			}
			of = append(of, t)
		}
		list = append(list, of...)
	}
	return list, nil
}

func (e *loader) stacksOf(frames int64) (list []*stackTable) {
	for _, t := range e.stacks {
		if t.code.Frames == frames {
			list = append(list, t)
		}
	}
	return list
}

func (e *loader) newStackTable(frames int64) (*stackTable, error) {
	name := fmt.Sprintf("%s_stacks%d", bufferName, len(e.stacks))
	s, err := e.k.NewStacks(name, int(min(frames, int64(bpf.MaxStackFrames()))), stackPlaces)
	if err != nil {
		return nil, err
	}
	t := &stackTable{ebpf.StackTable{Name: name, Frames: frames, First: uint32(len(e.stacks)*stackPlaces) + ebpf.FirstStack}, s}
	e.stacks = append(e.stacks, t)
	return t, nil
}

// byNumber returns the return addresses of a stack that the kernel has followed (ir.StackID); nil if no stack has the number.
func (e *loader) byNumber(number uint64) ([]uint64, error) {
	for _, t := range e.stacks {
		if place := number - uint64(t.code.First); place < stackPlaces {
			return t.stacks.Frames(uint32(place))
		}
	}
	return nil, nil
}

// StackByNumber returns the frames of a stack that programs have given a number (ir.StackID, ir.UserStack); nil if no stack has the number.
func (e *Engine) StackByNumber(number uint64) ([]debuginfo.Frame, error) {
	if number>>32 != 0 {
		return userStack(e, number)
	}
	pcs, err := e.loader.byNumber(number)
	var out []debuginfo.Frame
	first := e.tracing(pcs)
	for i, pc := range pcs[first:] {
		caller := first+i > 0
		if !image.InKernel(pc) {
			break
		}
		if !caller {
			pc = e.probedAny(pc)
		}
		out = append(out, e.facts.kernel.Frames(pc, caller)...)
	}
	return out, err
}

// probedAny is probed for a stack whose site is not known.
func (e *Engine) probedAny(pc uint64) uint64 {
	for _, p := range e.programs {
		for ; p != nil; p = p.first {
			if at := p.at.v.at; at != 0 && pc-at <= longestProbe {
				return at
			}
		}
	}
	return pc
}
