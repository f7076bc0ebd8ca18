package kernel

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// Unwind gives the frames of a stack that was recorded: return addresses that the kernel
// has found, or a copy of a program's stack, which is unwound as the in-process engine's.
func (e *Engine) Unwind(ev *event.Event, v *event.Value) []format.Frame {
	if v.Field.Kind != event.Stack {
		return e.Frames(ev, v)
	}
	e.Hit(ev, binary.LittleEndian.Uint64(v.Data[8*slices.Index(host.Processor.Dump, host.Processor.PC):])) // see event.Regs
	return e.user.Unwind(ev.Pid, v.Data, v.Stack)
}
