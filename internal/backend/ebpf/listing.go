package ebpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/asm"
)

// Listing returns the instructions as text: position in units of 8 bytes, instruction, target of a jump. Notes
// of blocks and operations of the program precede their instructions.
func Listing(insns asm.Instructions) string {
	var b strings.Builder
	for it := insns.Iterate(); it.Next(); {
		i := it.Ins
		if s, ok := i.Metadata.Get(noteKey{}).(string); ok {
			fmt.Fprintf(&b, "      ; %s\n", s)
		}
		fmt.Fprintf(&b, "%5d %v", it.Offset, i)
		if op := i.OpCode.JumpOp(); op != asm.InvalidJumpOp && op != asm.Call && op != asm.Exit {
			to := int64(i.Offset)
			if i.OpCode == asm.OpCode(asm.Jump32Class).SetJumpOp(asm.Ja) {
				to = i.Constant
			}
			fmt.Fprintf(&b, " -> %d", int64(it.Offset)+1+to)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
