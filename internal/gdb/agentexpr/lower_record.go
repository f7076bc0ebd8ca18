package agentexpr

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ir"
)

// recorder lays out the record, and puts registers into it.
type recorder struct {
	b    *ir.Builder
	opt  *Options
	lay  *Layout
	size int64 // of the record so far
	// words are the registers whose value is in the record on every way from
	// here on, by DWARF number.
	words map[int64]int
	// x87 is where the x87 state is in the record on every way from here on; 0: nowhere.
	x87  int
	rare rarePart
	half int // the free half of a word in the record; 0: none

	e  *Expr // the present expression, and the index of its present instruction
	at int
}

// slot takes room in the record.
func (rc *recorder) slot(size, align int64) int {
	rc.align(align)
	at := rc.size
	rc.size += size
	if rc.size > ir.MaxRecord {
		rc.refuse("the actions collect more than %d bytes", ir.MaxRecord)
	}
	return int(at)
}

func (rc *recorder) align(n int64) { rc.size = (rc.size + n - 1) / n * n }

func (rc *recorder) put(w uint8, at int, v ir.Value) {
	rc.b.Emit(ir.Instr{Op: ir.Put, W: w, A: v, Imm: int64(at)})
}

// finish fills in the size of the record where it was not known.
func (rc *recorder) finish(p *ir.Program) {
	rc.lay.RecordSize = int(rc.size)
	if rc.rare.end != 0 {
		rc.lay.RecordSize, rc.lay.ShortSize = int(rc.rare.end), int(rc.size)
	}
	for _, b := range p.Blocks {
		for i := range b.Instrs {
			if in := &b.Instrs[i]; in.Op == ir.Reserve && in.Imm == 0 {
				in.Imm = rc.size
			}
		}
	}
}

func (rc *recorder) count(counter int64) { rc.b.Emit(ir.Instr{Op: ir.Count, Imm: counter}) }

func (rc *recorder) refuse(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if rc.e != nil {
		err = errorAt(rc.e.Insns[rc.at].PC, format, args...)
	}
	panic(unsupported{err})
}
