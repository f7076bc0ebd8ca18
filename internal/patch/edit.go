package patch

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Edit is a change of the program's bytes. Writing Old undoes it.
type Edit struct {
	Addr     uint64
	Old, New []byte
}

// FarError says that two addresses are more than 2 GB apart. The remedy is to
// allocate the trampoline nearer to Target.
type FarError struct {
	From, Target uint64
}

func (e *FarError) Error() string {
	return fmt.Sprintf("%#x is out of the reach of the code at %#x: more than 2 GB", e.Target, e.From)
}

const int3 = 0xcc

// Edits lists the bytes to change so that the place jumps to the trampoline. The
// rest of a longer instruction becomes int3: nothing may execute it. The error is
// a *FarError, or says that a punned jump cannot reach the trampoline.
func (p *Plan) Edits(trampoline uint64) ([]Edit, error) {
	var old []byte
	for i := range p.Insts {
		old = append(old, p.Insts[i].Bytes()...)
	}
	switch p.Tactic {
	case Trapping:
		return []Edit{{p.Addr, old[:1], []byte{int3}}}, nil
	case Pun:
		return p.punEdits(old, trampoline)
	}
	rel, ok := rel32(p.Addr+jumpLen, trampoline)
	if !ok {
		return nil, &FarError{p.Addr, trampoline}
	}
	code := binary.LittleEndian.AppendUint32([]byte{0xe9}, rel)
	for len(code) < len(old) {
		code = append(code, int3)
	}
	return []Edit{{p.Addr, old, code}}, nil
}

// rel32 is the displacement from an instruction that ends at next to target.
func rel32(next, target uint64) (uint32, bool) {
	d := int64(target - next)
	return uint32(d), d >= math.MinInt32 && d <= math.MaxInt32
}
