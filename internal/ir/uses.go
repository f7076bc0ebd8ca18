package ir

import (
	"iter"
	"slices"
)

// Uses calls f for each value that i reads; f may replace it.
func (i *Instr) Uses(f func(v *Value)) {
	info := i.Op.Info()
	if info.A != NoOperand {
		f(&i.A)
	}
	if info.B != NoOperand {
		f(&i.B)
	}
}

// Operands are the values that i reads.
func (i *Instr) Operands() []Value {
	switch info := i.Op.Info(); {
	case info.A == NoOperand:
		return nil
	case info.B == NoOperand:
		return []Value{i.A}
	}
	return []Value{i.A, i.B}
}

// Removable reports whether i may be dropped if nothing reads its result. A read with a
// fault edge may not: its fault has an effect.
func (i *Instr) Removable() bool { return !i.Op.HasEffect() && i.Fault == NoBlock }

// Uses calls f for each value that the terminator reads; f may replace it.
func (t *Term) Uses(f func(v *Value)) {
	if t.Kind == Branch {
		f(&t.Cond)
	}
	t.edges(func(e *Edge) {
		for k := range e.Args {
			f(&e.Args[k])
		}
	})
}

// Instrs are the instructions of all blocks, which may be changed.
func (p *Program) Instrs() iter.Seq[*Instr] {
	return func(yield func(*Instr) bool) {
		for _, b := range p.Blocks {
			for i := range b.Instrs {
				if !yield(&b.Instrs[i]) {
					return
				}
			}
		}
	}
}

// Uses calls f for each use of a value in b; f may replace it.
func (b *Block) Uses(f func(v *Value)) {
	for n := range b.Instrs {
		b.Instrs[n].Uses(f)
	}
	b.Term.Uses(f)
}

// Clone copies b, so that its instructions and what they read can be replaced.
func (b *Block) Clone() *Block {
	c := *b
	c.Instrs = slices.Clone(b.Instrs)
	c.Term.Then.Args, c.Term.Else.Args = slices.Clone(b.Term.Then.Args), slices.Clone(b.Term.Else.Args)
	return &c
}

// countUses counts the operands and arguments that name each value.
func countUses(p *Program) []int {
	n := make([]int, len(p.Classes))
	for _, b := range p.Blocks {
		b.Uses(func(v *Value) { n[*v]++ })
	}
	return n
}

// applySubst replaces each v by subst[v].
func applySubst(p *Program, subst []Value) {
	for _, b := range p.Blocks {
		b.Uses(func(v *Value) { *v = subst[*v] })
	}
}

// jumpsTo counts the edges to each block: those of terminators, and fault edges.
func jumpsTo(p *Program) (edges, faults []int) {
	edges, faults = make([]int, len(p.Blocks)), make([]int, len(p.Blocks))
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if f := b.Instrs[i].Fault; f != NoBlock {
				faults[f]++
			}
		}
		b.Term.edges(func(e *Edge) { edges[e.To]++ })
	}
	return edges, faults
}

// removeBlocks drops the blocks that are dead and renumbers the others in
// order. Nothing may lead to a dead block.
func removeBlocks(p *Program, dead func(id BlockID) bool) bool {
	renumber := make([]BlockID, len(p.Blocks))
	kept := make([]*Block, 0, len(p.Blocks))
	for id, b := range p.Blocks {
		renumber[id] = NoBlock
		if !dead(BlockID(id)) {
			renumber[id] = BlockID(len(kept))
			kept = append(kept, b)
		}
	}
	if len(kept) == len(p.Blocks) {
		return false
	}
	for _, b := range kept {
		for i := range b.Instrs {
			if f := &b.Instrs[i].Fault; *f != NoBlock {
				*f = renumber[*f]
			}
		}
		b.Term.edges(func(e *Edge) { e.To = renumber[e.To] })
	}
	p.Blocks = kept
	return true
}
