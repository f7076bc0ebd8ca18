package loc

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// branch notes a jump; its target is resolved when the whole is translated.
func (x *xlate) branch(code debuginfo.OpCode, rel int64) {
	if code == debuginfo.OpBra {
		if !x.needInteger() {
			return
		}
		x.types = x.types[:len(x.types)-1]
	}
	target := int64(x.c.Off) + rel
	if rel < 0 || target > int64(len(x.c.B)) {
		x.fail("its location loops (a backward branch)")
		return
	}
	x.emit(code, 0)
	x.marks = append(x.marks, mark{len(x.ops) - 1, int(target), slices.Clone(x.types)})
	x.dead = code == debuginfo.OpSkip
}

// land adopts the stack of a branch that arrives here.
func (x *xlate) land() {
	for _, k := range x.marks {
		if k.target != x.c.Off {
			continue
		}
		if x.dead {
			x.types, x.dead = slices.Clone(k.types), false
		}
		if !slices.Equal(x.types, k.types) {
			x.fail("its location has branches of unequal effect")
		}
	}
}

func (x *xlate) resolve() {
	for _, k := range x.marks {
		i, ok := x.at[k.target]
		if !ok || len(x.pieces) > 0 {
			x.fail("its location branches into the middle of an operation")
			return
		}
		x.ops[k.op].Arg = int64(i)
	}
}
